/** A real Prometheus with the files of `orch observe`: it scrapes every daemon, every panel has data, alerts fire and end. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import t, { type Test } from 'tap';
import { deployments } from '#api/apps/v1/resources.gen.js';
import { pods } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { smallDisk } from '#nodeagent/testing/small-disk.js';
import { namesOf } from '#observe/names.js';
import { alertGroups } from '#observe/rules/rules.js';
import type { Answers } from '#test/e2e/alerts/answers.js';
import * as api from '#test/e2e/alerts/api-causes.js';
import { type Cause, isFelt, type Observed } from '#test/e2e/alerts/cause.js';
import * as daemons from '#test/e2e/alerts/daemon-causes.js';
import { DrivenMetrics } from '#test/e2e/alerts/driven-metrics.js';
import * as network from '#test/e2e/alerts/network-causes.js';
import { noPrometheus, observedCluster, startPrometheus } from '#test/e2e/alerts/prometheus.js';
import * as stores from '#test/e2e/alerts/store-causes.js';
import { Etcd } from '#test/e2e/alerts/stores.js';
import { whyNoTracer } from '#test/e2e/alerts/tracer.js';
import * as workloads from '#test/e2e/alerts/workload-causes.js';
import {
  eventually,
  ownRanges,
  rangeArguments,
  root,
  startTestCluster,
  type TestCluster,
  whyNoServices,
} from '#test/e2e/harness.js';
import { adminClient } from '#test/e2e/observe.js';
import { dashboardQueries } from '#test/e2e/observing/dashboards.js';
import { isReady, namespace, shell } from '#test/e2e/pods.js';
import { freePort } from '#test/free-port.js';

t.setTimeout(420_000);

const withoutContainers = whyNoServices();
/** Quota of the store that is filled. */
const quotaBytes = 8 * 1024 * 1024;

/** Work that gives every panel data. */
async function keepBusy(client: Client): Promise<void> {
  const labels = { app: 'web' };
  const container = shell('mkdir /www; touch /www/index.html; exec httpd -f -p 8080 -h /www', {
    readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 2 },
  });
  await client.resource(deployments).create({
    metadata: { name: 'web', namespace },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  });
  await eventually('pods run', async () => {
    const { items } = await client.resource(pods).list({ namespace });
    return items.length === 2 && items.every(isReady);
  });
}

/** The cluster of all tests, and the other targets that Prometheus watches. */
async function setUp(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'alerts-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const askable = await api.Askable.open(t, folder);
  const nft = new network.FailingNft(folder);
  const ingressPort = await freePort();
  const ingress = ['--ingress=built-in', `--ingress-http-port=${ingressPort}`, '--ingress-https-port=0'];
  const resolvConf = join(folder, 'resolv.conf');
  writeFileSync(resolvConf, 'nameserver 127.0.0.2\n');
  const { PATH: path } = env;
  env['PATH'] = nft.path;
  let cluster: TestCluster;
  try {
    cluster = await startTestCluster({
      separate: true,
      runtime: withoutContainers === undefined ? 'containerd' : 'simulated',
      args: [
        ...askable.args,
        ...ingress,
        ...rangeArguments(await ownRanges()),
        `--nodeagent-arg=resolv-conf=${resolvConf}`,
        '--nodeagent-arg=volume-stats-agg-period=1s',
        '--controller-manager-arg=node-monitor-grace-period=4s',
      ],
    });
  } finally {
    env['PATH'] = path;
  }
  t.teardown(() => cluster.destroy());
  const client = await adminClient(cluster);
  t.teardown(() => client.close());
  // The API server tells an address of the pods' network, which is there with the first of them.
  await keepBusy(client);
  const members = await Etcd.start(t, 3);
  const [store] = await Etcd.start(t, 1, ['--quota-backend-bytes', String(quotaBytes)]);
  if (store === undefined) throw new Error('no store');
  const driven = await DrivenMetrics.open(t);
  const answers = await startPrometheus(t, cluster, [
    { cluster: 'members', job: 'etcd', targets: members.map(({ target }) => target) },
    { cluster: 'store', job: 'etcd', targets: [store.target] },
    { cluster: observedCluster, job: 'driven', targets: [driven.target] },
  ]);
  return { cluster, client, answers, askable, nft, ingressPort, members, store, driven };
}

/** Alerts that nothing here causes: their cases are in test/integration/metrics/alert-cases.ts. */
const notCaused = ['etcdDatabaseHighFragmentationRatio', 'etcdMemberCommunicationSlow'];

t.test('a cluster is observed', { skip: noPrometheus }, async (t) => {
  const { cluster, client, answers, askable, nft, ingressPort, members, store, driven } = await setUp(t);
  const observed: Observed = { cluster, client };

  await t.test('every daemon is scraped', async (t) => {
    const jobs = ['apiserver', 'etcd', 'nodeagent', 'orch-controller-manager', 'orch-scheduler', 'orch-ingress'];
    const own = async () => (await answers.targets()).filter(({ labels: { job } }) => jobs.includes(job ?? ''));
    await eventually('all targets answer', async () => {
      const targets = await own();
      const wrong = targets.filter(({ health }) => health !== 'up');
      if (wrong.length > 0) throw new Error(JSON.stringify(wrong));
      return jobs.every((job) => targets.some(({ labels }) => labels['job'] === job));
    });
    const ofCluster = (await own()).filter(({ labels }) => labels['cluster'] === observedCluster);
    t.equal(ofCluster.length, jobs.length + 4, 'of agents five pages');
  });

  const disk = withoutContainers === undefined ? await smallDisk(t, { bytes: 10 * 1024 * 1024, files: 100 }) : '';
  const inContainers: Cause[] = [
    workloads.imageIsNotThere(observed),
    workloads.runtimeFails(observed),
    workloads.usesTooMuch(observed),
    workloads.writesTooMuch(observed),
    workloads.volumeFills(observed, disk, answers),
    network.rulesAreRefused(observed, nft),
    network.resolversAreAway(observed),
  ];
  /** Causes of one row run one after the other, rows in parallel. */
  const beside: Cause[][] = [
    [workloads.crashes(observed), api.writesTakeAllPlaces(observed, t)],
    [workloads.jobFails(observed)],
    [workloads.fitsNowhere(observed)],
    [api.extensionIsAway(observed)],
    [api.auditIsLost(observed, askable)],
    [api.webhookIsAway(observed), daemons.serverHangs(observed)],
    [api.webhookHoldsUp(observed, t), api.extenderFails(observed), daemons.hardlyAnyTime(observed)],
    [daemons.certificateThatEnds(observed)],
    [network.ingressLeadsNowhere(observed, ingressPort), daemons.dyingAgainAndAgain(observed)],
    [network.ingressNamesNobody(observed)],
    [stores.leadersChange(members), stores.diskIsSlow(members, await whyNoTracer()), stores.majorityIsLost(members)],
    [stores.storeFills(store, quotaBytes)],
    [driven.slowDaemonOfOtherRelease()],
    [driven.busyMachine()],
    [driven.answersWithoutMemory()],
  ];
  /** The last one: what others cause is told by the agent. */
  const alone = daemons.nodeAndSchedulerHang(observed);

  await t.test('each alert is caused, or it is said why not', async (t) => {
    const caused = [...inContainers, ...beside.flat(), alone].flatMap(({ alerts }) => alerts);
    const names = new Set([...caused, ...notCaused].map((alert) => alert.replace(/\/.*/, '')));
    const all = alertGroups(namesOf(dialectByName('orch'))).flatMap(({ alerts }) => alerts.map(({ name }) => name));
    t.same([...names].sort(), [...new Set(all)].sort());
    const page = readFileSync(join(root, 'docs', 'observe.md'), 'utf8');
    const table = page.slice(page.indexOf('## How alerts are tested'));
    t.same(
      all.filter((name) => !table.includes(`\`${name}\``)),
      [],
      'all are in the table',
    );
  });

  await t.test('every panel has data, and alerts fire and end', async (t) => {
    const feel = async (cause: Cause) => {
      const before = realClock.monotonic();
      const what = cause.alerts.join(', ');
      if (cause.skip !== undefined) {
        t.pass(what, { skip: cause.skip });
        return;
      }
      try {
        await isFelt(answers, cause);
        t.pass(`${what}: ${Math.round((realClock.monotonic() - before) / 1000)} s`);
      } catch (error) {
        t.fail(what, { cause: error });
      }
    };
    const rows = [...beside, ...(withoutContainers === undefined ? inContainers.map((cause) => [cause]) : [])];
    await Promise.all([
      untilPanelsHaveData(answers, cluster),
      ...rows.map(async (row) => {
        for (const cause of row) await feel(cause);
      }),
    ]);
    await feel(alone);
  });
});

/** Throws with the queries that have none. */
async function untilPanelsHaveData(answers: Answers, { dataDir }: TestCluster): Promise<void> {
  const folder = join(dataDir, 'observe', 'dashboards');
  const texts = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
  const missing = dashboardQueries(texts, observedCluster);
  if (missing.size < 80) throw new Error(`only ${missing.size} queries`);
  await eventually('all queries answer', async () => {
    for (const [place, query] of missing) {
      const series = await answers.query(query);
      if (series.some(({ value: [, value] }) => value !== 'NaN')) missing.delete(place);
    }
    if (missing.size === 0) return true;
    await realClock.sleep(2000);
    throw new Error([...missing.keys()].join('\n'));
  });
}
