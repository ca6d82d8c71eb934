/** The chart with a real helm: a control plane on real containers is installed, used, upgraded under load and removed. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { parseAllDocuments, stringify } from 'yaml';
import { deployments } from '#api/apps/v1/resources.gen.js';
import { configmaps, nodes, persistentvolumeclaims, pods, secrets, services } from '#api/core/v1/resources.gen.js';
import { bootstrapTokenSecret, bootstrapTokenUsages, joiningGroup } from '#api/core/v1/secret/bootstrap-token.js';
import type { PodSpec } from '#api/core/v1/types.gen.js';
import { ingressclasses } from '#api/networking/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { value as quantityValue } from '#apimachinery/quantity.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import { filesOf } from '#cluster/hosted/certificates.js';
import { publicKeyPin } from '#pki/keys.js';
import { noPrometheus } from '#test/e2e/alerts/prometheus.js';
import { filesOfPrograms, makeBackup, membersOf, namesOf, usesFiles } from '#test/e2e/chart/hosted.js';
import { chart, helm, noHelm, version } from '#test/e2e/chart/rendered.js';
import {
  eventually,
  ownRanges,
  rangeArguments,
  root,
  run,
  startTestCluster,
  whyNoServices,
} from '#test/e2e/harness.js';
import { adminClient } from '#test/e2e/observe.js';
import { monitored } from '#test/e2e/observing/monitored.js';
import { apply, operatorDefinitions } from '#test/e2e/observing/operator.js';
import { podFaults } from '#test/e2e/pod-faults.js';
import { prometheusProgram } from '#test/prometheus.js';

t.setTimeout(600_000);

const promtool = prometheusProgram('promtool');

interface Monitored {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Record<string, string> };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly data?: Readonly<Record<string, string>>;
}

/** All objects for Prometheus and Grafana, and the rights to read metrics: as in docs/observe.md. */
const page = readFileSync(join(root, 'docs', 'observe.md'), 'utf8');
const metrics = [...page.matchAll(/^ {2}--set (\S+)/gm)].map(([, values = '']) => values.replaceAll('\\\\', '\\'));

t.test('the chart is in order', { skip: noHelm ?? false }, async (t) => {
  for (const values of [
    [],
    ['etcd.replicas=3'],
    ['hostDialect=orch', 'dialect=kubernetes'],
    ['networkPolicy.enabled=false'],
    ['ingress.enabled=true', 'serviceProxy.enabled=true', 'nodes.serviceProxy=none'],
    [...metrics, 'etcd.replicas=3'],
    ['tracing.endpoint=collector.tracing:4317', 'dialect=kubernetes', 'nodeAgent.enabled=true'],
    ['nodeAgent.enabled=true', 'nodeAgent.extraArgs.max-pods=20', 'networkPolicy.nodePortsFrom[0].podSelector.a=b'],
    ['etcd.endpoints={https://192.0.2.1:2379}', 'etcd.clientSecret=a', 'tracing.endpoint=collector.tracing:4317'],
  ]) {
    const set = values.flatMap((value) => ['--set', value]);
    const linted = await run(helm ?? '', ['lint', '--strict', chart, ...version, ...set]);
    t.equal(linted.code, 0, `lint ${values}`, { output: linted.stdout + linted.stderr });
    const rendered = await run(helm ?? '', ['template', 'x', chart, ...version, ...set]);
    t.same(podFaults(parseAllDocuments(rendered.stdout).map((each) => each.toJS())), [], `pods of ${values}`);
  }
  for (const [wrong, says] of [
    ['etcd.replicas=2', /etcd.replicas/],
    ['apiServer.replicas=0', /apiServer.replicas/],
    ['nonsense=1', /nonsense/],
    ['nodes.server=http://example.com', /nodes.server/],
    ['tracing.endpoint=https://collector', /tracing.endpoint/],
    ['nodeAgent.updateStrategy=Recreate', /nodeAgent.updateStrategy/],
    ['nodeAgent.nameSuffix=_', /nodeAgent.nameSuffix/],
    ['nodeAgent.dataDir=here', /nodeAgent.dataDir/],
  ] as const) {
    const refused = await run(helm ?? '', ['template', 'x', chart, ...version, '--set', wrong]);
    t.not(refused.code, 0);
    t.match(refused.stderr, says, wrong);
  }
});

t.test('objects for Prometheus and Grafana', { skip: noHelm ?? false }, async (t) => {
  const work = mkdtempSync(join(tmpdir(), 'helm-'));
  t.teardown(() => rmSync(work, { recursive: true }));
  for (const dialect of ['orch', 'kubernetes']) {
    const more = ['metrics.rules.labels.release=a', 'ingress.enabled=true', 'nodeAgent.enabled=true'];
    const set = [...metrics, `dialect=${dialect}`, ...more].flatMap((value) => ['--set', value]);
    const { code, stdout, stderr } = await run(helm ?? '', ['template', 'team', chart, ...version, ...set]);
    t.equal(code, 0, stderr);
    const objects = parseAllDocuments(stdout).map((document) => document.toJS() as Monitored);
    const ofKind = (kind: string) => objects.filter((object) => object?.kind === kind);
    const selected = ofKind('ServiceMonitor').map(({ spec }) => JSON.stringify(spec['selector']));
    t.equal(selected.length, 6);
    for (const { metadata, spec } of ofKind('ServiceMonitor')) {
      const part = metadata.labels['app.kubernetes.io/component'];
      const owners = ofKind('Service').filter((each) => each.metadata.labels['app.kubernetes.io/component'] === part);
      const names = owners.flatMap((each) => (each.spec['ports'] as { name: string }[]).map(({ name }) => name));
      for (const { port } of spec['endpoints'] as { port: string }[])
        t.equal(names.filter((name) => name === port).length, 1, `${metadata.name}: one Service has the port ${port}`);
    }
    const [rules] = ofKind('PrometheusRule');
    t.match(rules?.metadata.labels, { release: 'a' });
    t.notMatch(JSON.stringify(rules), /@\w+@/, 'nothing is left to be put in');
    t.match(JSON.stringify(rules), 'cluster=\\"team-orch\\"');
    if (promtool !== undefined) {
      const path = join(work, `${dialect}.yaml`);
      writeFileSync(path, stringify(rules?.spec));
      const checked = await run(promtool, ['check', 'rules', path]);
      t.equal(checked.code, 0, checked.stdout + checked.stderr);
    }
    const dashboards = ofKind('ConfigMap').filter(({ metadata }) => metadata.name.includes('-dashboard-'));
    const texts = dashboards.flatMap(({ data = {} }) => Object.values(data));
    const titles = texts.map((text) => (JSON.parse(text) as { title: string }).title);
    t.same(titles.sort(), ['API server', 'Cluster', 'Controllers', 'Nodes', 'Scheduler', 'Workloads', 'etcd']);
  }
});

t.test('a control plane in a cluster', { skip: noHelm ?? whyNoServices() ?? false }, async (t) => {
  const work = mkdtempSync(join(tmpdir(), 'helm-'));
  t.teardown(() => rmSync(work, { recursive: true, force: true }));
  const args = rangeArguments(await ownRanges());
  const cluster = await startTestCluster({ dialect: 'kubernetes', runtime: 'containerd', store: 'memory', args });
  t.teardown(() => cluster.destroy());
  const archive = join(work, 'images.tar');
  const built = await run(process.execPath, [join(root, 'dist/hack/images/main.js'), archive, '--plain']);
  t.equal(built.code, 0, built.stderr);
  const loaded = await cluster.ctl('image', 'load', archive, `--data-dir=${cluster.dataDir}`);
  t.equal(loaded.code, 0, loaded.stderr);
  rmSync(archive);
  const env = { HELM_CACHE_HOME: work, HELM_CONFIG_HOME: work, HELM_DATA_HOME: work };
  const does = async (...given: string[]) => {
    const result = await cluster.client(helm ?? '', given, { env, timeoutMs: 300_000 });
    if (result.code !== 0) {
      const seen = await cluster.ctl('get', 'pods', '-A', '-o', 'wide');
      throw new Error(`helm ${given.join(' ')}: ${result.stderr}\n${seen.stdout}`);
    }
    return result.stdout;
  };
  const wait = ['--wait', '--timeout', '4m'];
  const host = await adminClient(cluster, 'kubernetes');
  t.teardown(() => host.close());
  const [node] = (await host.resource(nodes).list()).items;
  const ip = node?.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? '';
  const nodePort = 30_000 + Math.floor(Math.random() * 2768);
  const nodesServer = `https://${ip}:${nodePort}`;
  const [serviceRange, podRange] = await ownRanges();
  const hostedDir = join(work, 'hosted');
  const three = [
    'apiServer.replicas=3,controllerManager.replicas=1,scheduler.replicas=1',
    `apiServer.service.type=NodePort,apiServer.service.nodePort=${nodePort},apiServer.ips={${ip}}`,
    `nodes.server=${nodesServer},network.serviceCIDR=${serviceRange}0.0/16,network.podCIDR=${podRange}0.0/16`,
    'ingress.enabled=true,ingress.replicas=1,ingress.service.type=ClusterIP',
    `nodeAgent.enabled=true,nodeAgent.nameSuffix=-hosted,nodeAgent.dataDir=${hostedDir},nodeAgent.resources.limits.memory=2Gi`,
    ...metrics,
    'metrics.serviceMonitor.interval=1s,backup.enabled=true,backup.volume.size=1Gi',
  ].flatMap((values) => ['--set', values]);
  three.push('--values', await filesOfPrograms(cluster, work));
  await apply(cluster, operatorDefinitions().text);
  await does('install', 'orch', chart, ...three, ...wait);
  t.match(await does('test', 'orch', '--timeout', '2m'), 'Phase:          Succeeded');

  const namespace = 'default';
  const { spec } = await host.resource(services).get('orch-apiserver', { namespace });
  const admin = await host.resource(secrets).get('orch-admin', { namespace });
  const config = join(work, 'hosted.config');
  writeFileSync(config, Buffer.from(admin.data?.['kubeconfig'] ?? '', 'base64'));
  const server = `https://${spec?.clusterIP}:6443`;
  const name = 'orch-apiserver.default.svc';
  const hosted = await loadKubeconfig(config, { clock: realClock, server, clusterFields: { 'tls-server-name': name } });
  const dialect = dialectByName('orch');
  const client = new RestClient({
    transport: new HttpTransport({ ...hosted, clock: realClock }),
    ...{ dialect, clock: realClock, userAgent: 'helm-test' },
  });
  t.teardown(() => client.close());
  const reached = join(work, 'reached.config');
  const text = readFileSync(config, 'utf8');
  writeFileSync(reached, text.replace(/^( *)server: .*$/m, `$1server: ${server}\n$1tls-server-name: ${name}`));
  const orchctl = (...given: string[]) =>
    run(join(root, 'bin', 'orchctl'), given, { env: { ORCHCONFIG: reached }, timeoutMs: 60_000 });
  const runs = async (name: string, replicas: number, more: Partial<PodSpec> = {}) => {
    const labels = { app: name };
    const spec = { ...more, containers: [{ name: 'main', image: 'orch/web:1.0' }] };
    await client.resource(deployments).create({
      metadata: { name, namespace },
      spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    });
    await eventually(`${name} runs`, async () => {
      const { status } = await client.resource(deployments).get(name, { namespace });
      return status?.availableReplicas === replicas;
    });
    const { items } = await client.resource(pods).list({ namespace, labelSelector: `app=${name}` });
    return new Set(items.map((pod) => pod.spec?.nodeName));
  };

  await t.test('a node of the host is a node of the hosted cluster', async (t) => {
    const name = `${node?.metadata.name}-hosted`;
    t.same(await runs('web', 2), new Set([name]));
    const { status } = await client.resource(nodes).get(name);
    const allocatable = quantityValue(status?.allocatable?.['memory'] ?? '0');
    t.ok(allocatable < 2 * 1024 ** 3, 'it gives out what its pod may use');
    const ports = [{ port: 80, targetPort: 8080 }];
    await client
      .resource(services)
      .create({ metadata: { name: 'web', namespace }, spec: { selector: { app: 'web' }, ports } });
    const fetchPage = () => orchctl('exec', 'deployment/web', '--', 'timeout', '3', 'wget', '-qO-', 'http://web');
    await eventually('pods are reached by the name of their Service', async () =>
      /^Hello from web-/.test((await fetchPage()).stdout),
    );
    const [first] = (await client.resource(pods).list({ namespace })).items;
    t.match((await orchctl('logs', first?.metadata.name ?? '')).stdout, 'serving on port 8080');
  });

  await t.test('the programs use the files of the examples', (t) => usesFiles(t, cluster, client));

  await t.test('Prometheus scrapes all daemons', { skip: noPrometheus }, async (t) => {
    const targets = {
      ...{ apiserver: 3, etcd: 1, 'orch-controller-manager': 1, 'orch-scheduler': 1, 'orch-ingress': 1 },
      // Each has five pages.
      nodeagent: 5,
    };
    await monitored(t, { cluster, host, hosted: client, name: 'orch', targets, work });
  });

  const joined = join(work, 'node');
  const orch = (...given: string[]) =>
    run(join(root, 'bin', 'orch'), [...given, '--data-dir', joined], { timeoutMs: 120_000 });
  t.teardown(() => existsSync(joined) && orch('down', '--delete'));
  await t.test('a machine joins, and runs its pods', async (t) => {
    const token = { id: 'abcdef', secret: '0123456789abcdef' };
    const groups = [joiningGroup(dialect)];
    const options = { token, description: '', expiresAt: undefined, groups, usages: bootstrapTokenUsages };
    await client.resource(secrets).create(bootstrapTokenSecret(dialect, options));
    const pin = publicKeyPin(
      filesOf(await host.resource(secrets).get('orch-apiserver', { namespace }))['ca.crt'] ?? '',
    );
    const line = ['join', nodesServer, '--token', `${token.id}.${token.secret}`, '--ca-hash', pin];
    const joining = await orch(...line, '--node-name', 'joined', '--node-ip', ip, '--detach');
    t.equal(joining.code, 0, joining.stdout + joining.stderr);
    const nodeSelector = { [dialect.labels.hostname]: 'joined' };
    t.same(await runs('machine', 1, { nodeSelector }), new Set(['joined']));
    t.ok((await client.resource(ingressclasses).list()).items.some(({ metadata }) => metadata.name === 'built-in'));
  });

  await t.test('no write fails while the control plane is upgraded', async (t) => {
    const stop = new AbortController();
    const failures: string[] = [];
    const sizes: number[] = [];
    let written = 0;
    const writing = (async () => {
      while (!stop.signal.aborted) {
        try {
          await client.resource(configmaps).create({ metadata: { name: `c${written}`, namespace }, data: {} });
          written += 1;
        } catch (error) {
          failures.push(messageOf(error));
        }
        await realClock.sleep(20);
      }
    })();
    const more = 'apiServer.extraArgs.v=1,scheduler.extraArgs.v=1,etcd.replicas=3';
    await does('upgrade', 'orch', chart, ...three, '--set', more, ...wait);
    sizes.push(await membersOf(cluster));
    await does('rollback', 'orch', '1', ...wait);
    sizes.push(await membersOf(cluster));
    stop.abort();
    await writing;
    t.same(failures, [], `of ${written}`);
    t.same(sizes, [3, 1], 'members of etcd entered and left meanwhile');
    const { items } = await client.resource(configmaps).list({ namespace });
    t.equal(
      items.filter(({ metadata }) => /^c\d+$/.test(metadata.name ?? '')).length,
      written,
      'all that was answered is there',
    );
  });

  const gone = await orch('leave');
  t.equal(gone.code, 0, gone.stdout + gone.stderr);
  await t.test('a backup is restored once', async (t) => {
    const backup = await makeBackup(cluster, host);
    t.match(backup, /^orch-\d{8}T\d{6}Z$/);
    await client.resource(configmaps).create({ metadata: { name: 'later', namespace }, data: {} });
    const restoring = ['upgrade', 'orch', chart, ...three, '--set', `restore.backup=${backup}`, ...wait];
    await does(...restoring);
    const after = await namesOf(client);
    t.notOk(after.has('later'), 'what came after the backup is gone');
    t.ok(after.has('c0'), 'what was before is there');
    await client.resource(configmaps).create({ metadata: { name: 'newer', namespace }, data: {} });
    await does(...restoring);
    t.ok((await namesOf(client)).has('newer'), 'the same value again restores nothing');
  });

  await does('uninstall', 'orch', ...wait);
  await eventually(
    'nothing of it runs',
    async () => (await host.resource(pods).list({ namespace })).items.length === 0,
  );
  t.notMatch(readFileSync('/proc/mounts', 'utf8'), hostedDir, 'no mount of a hosted container stays');
  t.ok(
    existsSync(join(hostedDir, 'default-orch', node?.metadata.name ?? '', 'cluster.json')),
    'what a node has on its disk stays',
  );
  const left = await host.resource(secrets).list({ namespace });
  t.ok(
    left.items.some(({ metadata }) => metadata.name === 'orch-pki'),
    'its keys stay',
  );
  const claims = (await host.resource(persistentvolumeclaims).list({ namespace })).items.map(
    (each) => each.metadata.name,
  );
  for (const name of ['data-orch-etcd-0', 'orch-backup']) t.ok(claims.includes(name), `and its data: ${name}`);
});
