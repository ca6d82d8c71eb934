/** What `orch observe` writes, by a real Prometheus: it scrapes every daemon, every panel has data, alerts fire and end. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kill } from 'node:process';
import t, { type Test } from 'tap';
import { deployments } from '#api/apps/v1/resources.gen.js';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Container } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import type { Client } from '#client/client.js';
import { layoutOf } from '#cmd/orch/context/layout.js';
import { readIdentity } from '#cmd/orch/process/identity.js';
import { eventually, Running, root, run, startTestCluster, type TestCluster } from '#test/e2e/harness.js';
import { adminClient } from '#test/e2e/observe.js';
import { freePort } from '#test/free-port.js';
import { prometheusProgram } from '#test/prometheus.js';

t.setTimeout(300_000);

const prometheus = prometheusProgram('prometheus');
const promtool = prometheusProgram('promtool');
const missing = prometheus === undefined || promtool === undefined ? 'prometheus is not installed' : false;
const namespace = 'default';

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

/** What a Prometheus answers. */
class Answers {
  readonly #server: string;

  constructor(port: number) {
    this.#server = `http://127.0.0.1:${port}/api/v1`;
  }

  async query(query: string): Promise<readonly Series[]> {
    return (await this.#get<{ result: readonly Series[] }>(`query?query=${encodeURIComponent(query)}`)).result;
  }

  async targets(): Promise<readonly { labels: Record<string, string>; health: string; lastError: string }[]> {
    return (await this.#get<{ activeTargets: [] }>('targets?state=active')).activeTargets;
  }

  /** Names of those that fire; throws for one whose texts could not be made. */
  async firing(): Promise<ReadonlySet<string>> {
    const { alerts } = await this.#get<{
      alerts: { state: string; labels: Record<string, string>; annotations: Record<string, string> }[];
    }>('alerts');
    const wrong = alerts.filter(({ annotations }) => /<no value>|error expanding/.test(JSON.stringify(annotations)));
    if (wrong.length > 0) throw new Error(`texts of alerts: ${JSON.stringify(wrong)}`);
    return new Set(alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels['alertname'] ?? ''));
  }

  async #get<T>(path: string): Promise<T> {
    const answer = await fetch(`${this.#server}/${path}`);
    const { status, data, error } = (await answer.json()) as { status: string; data: T; error?: string };
    if (status !== 'success') throw new Error(`${path}: ${error}`);
    return data;
  }
}

/** The rules as they are, but for their patience. */
function hurry(folder: string): void {
  const path = join(folder, 'rules.yml');
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, text.replaceAll(/^( +for): .*$/gm, '$1: 1s').replaceAll(/\[\d+[mh]\]/g, '[10s]'));
}

/** The commands of the page that begin with that word, for the cluster's directory. */
function commandsOf(page: string, word: string, { dataDir }: TestCluster): string[][] {
  const lines = readFileSync(join(root, 'docs', page), 'utf8').split('\n');
  return lines
    .filter((line) => line.startsWith(`${word} `))
    .map((line) =>
      line
        .replace(/ +#.*$/, '')
        .replaceAll('/var/lib/orch', dataDir)
        .split(' ')
        .slice(1),
    );
}

/** As the page for users says, but for the intervals. Runs until the test ends. */
async function startPrometheus(t: Test, cluster: TestCluster): Promise<Answers> {
  const [observe = []] = commandsOf('observe.md', 'orch', cluster);
  const quickly = [`--data-dir=${cluster.dataDir}`, '--cluster=test', '--scrape-interval=1s'];
  const written = await run(join(root, 'bin', 'orch'), [...observe, ...quickly]);
  t.equal(written.code, 0, written.stderr);
  hurry(join(cluster.dataDir, 'observe'));
  const [check = []] = commandsOf('observe.md', 'promtool', cluster);
  const checked = await run(promtool ?? '', check);
  t.equal(checked.code, 0, checked.stdout + checked.stderr);
  const port = await freePort();
  const [serve = []] = commandsOf('observe.md', 'prometheus', cluster);
  const server = new Running(
    prometheus ?? '',
    [...serve, `--storage.tsdb.path=${join(cluster.dataDir, 'prometheus')}`, `--web.listen-address=127.0.0.1:${port}`],
    {},
  );
  t.teardown(() => server.stop());
  const answers = new Answers(port);
  await eventually('Prometheus answers', async () => (await answers.targets()).length > 0);
  return answers;
}

function pod(name: string, container: Partial<Container>) {
  return {
    metadata: { name, namespace },
    spec: { containers: [{ name: 'main', image: 'docker.io/test/app:1', ...container }] },
  };
}

/** Something for every panel to show. */
async function keepBusy(client: Client): Promise<void> {
  const labels = { app: 'web' };
  const probe = { exec: { command: ['true'] }, periodSeconds: 1 };
  const container = { name: 'main', image: 'docker.io/test/app:1', readinessProbe: probe };
  await client.resource(deployments).create({
    metadata: { name: 'web', namespace },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  });
  await client.resource(pods).create(pod('too-large', { resources: { requests: { cpu: '1000' } } }));
  await client.resource(pods).create(pod('crashing', { command: ['sh', '-c', 'exit 1'] }));
}

interface Panels {
  readonly uid: string;
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

/** Queries of all dashboards, with values for their variables, by where they are. */
function dashboardQueries(folder: string): Map<string, string> {
  const queries = new Map<string, string>();
  for (const file of readdirSync(folder)) {
    const { uid, panels } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Panels;
    for (const { title, targets = [] } of panels) {
      for (const { expr } of targets) {
        const query = expr
          .replaceAll('$__rate_interval', '2m')
          .replaceAll('$cluster', 'test')
          .replaceAll(/\$\w+/g, '.*');
        queries.set(`${uid}: ${title}: ${query}`, query);
      }
    }
  }
  return queries;
}

t.test('a cluster is observed', { skip: missing }, async (t) => {
  const cluster = await startTestCluster({ separate: true });
  t.teardown(() => cluster.destroy());
  const client = await adminClient(cluster);
  t.teardown(() => client.close());
  const answers = await startPrometheus(t, cluster);
  const fires = (...names: string[]) =>
    eventually(`${names.join(', ')} fire`, async () => {
      const firing = await answers.firing();
      return names.every((name) => firing.has(name));
    });
  const ends = (...names: string[]) =>
    eventually(`${names.join(', ')} end`, async () => {
      const firing = await answers.firing();
      return names.every((name) => !firing.has(name));
    });

  await t.test('every daemon is scraped', async (t) => {
    const jobs = ['apiserver', 'etcd', 'nodeagent', 'orch-controller-manager', 'orch-scheduler'];
    await eventually('all targets answer', async () => {
      const targets = await answers.targets();
      const wrong = targets.filter(({ health }) => health !== 'up');
      if (wrong.length > 0) throw new Error(JSON.stringify(wrong));
      return jobs.every((job) => targets.some(({ labels }) => labels['job'] === job));
    });
    t.equal((await answers.targets()).length, jobs.length + 4, 'of agents five pages');
  });

  await keepBusy(client);

  await t.test('every panel has data', async (t) => {
    const missing = dashboardQueries(join(cluster.dataDir, 'observe', 'dashboards'));
    t.ok(missing.size > 80);
    let passes = 0;
    await eventually('all queries answer', async () => {
      // A rate needs what happens after a series was seen for the first time.
      await client.resource(pods).create(pod(`more-${passes++}`, {}));
      await realClock.sleep(1000);
      for (const [place, query] of missing) {
        const series = await answers.query(query);
        if (series.some(({ value: [, value] }) => value !== 'NaN')) missing.delete(place);
      }
      if (missing.size > 0) throw new Error([...missing.keys()].join('\n'));
      return true;
    });
  });

  await t.test('alerts fire and end', async () => {
    await fires('OrchPodCrashLooping', 'OrchPodsUnschedulable');
    await Promise.all(['crashing', 'too-large'].map((name) => client.resource(pods).delete(name, { namespace })));
    const scheduler = readIdentity(join(layoutOf(cluster.dataDir).run, 'orch-scheduler.pid'))?.pid ?? 0;
    kill(scheduler, 'SIGSTOP');
    try {
      await fires('TargetDown', 'OrchSchedulerDown');
    } finally {
      kill(scheduler, 'SIGCONT');
    }
    await ends('OrchPodCrashLooping', 'OrchPodsUnschedulable', 'TargetDown', 'OrchSchedulerDown');
  });
});
