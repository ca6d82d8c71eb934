/** Typical work with every kubectl on the PATH, in one dialect or both, on real containers if the machine has them. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { DialectName } from '#apimachinery/dialect.js';
import { whyNoContainers } from '#cluster/machine/preflight.js';
import {
  eventually,
  extremesOf,
  httpBody,
  kubectls,
  kubectlsFor,
  minorVersion,
  ownRanges,
  Running,
  rangeArguments,
  root,
  startTestCluster,
  type TestCluster,
} from '#test/e2e/harness.js';
import { batchAndBudgets } from '#test/e2e/kubectl/batch-and-budgets.js';
import { quotas } from '#test/e2e/kubectl/quotas.js';
import { explained } from '#test/e2e/situation.js';

const noContainers = whyNoContainers({ path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0 });
const runtime = noContainers === undefined ? 'containerd' : 'simulated';

/** One cluster for all programs: each starts with an empty cluster, and leaves it empty. */
export async function sessions(t: Test, dialect: DialectName): Promise<void> {
  const programs = kubectlsFor(dialect, await kubectls());
  if (programs.length === 0) t.pass('no kubectl on the PATH', { skip: true });
  if (programs.length === 0) return;
  t.comment(runtime);
  const cluster = await startTestCluster({ dialect, runtime, args: rangeArguments(await ownRanges()) });
  t.teardown(() => cluster.destroy());
  for (const kubectl of programs) {
    const minor = await minorVersion(kubectl);
    await t.test(`kubectl 1.${minor}`, { timeout: 300_000 }, (t) => session(t, cluster, kubectl));
    // These steps test the server and the controllers, so the oldest and the newest client are enough.
    if (!extremesOf(programs).has(kubectl)) continue;
    const client = (...args: string[]) => cluster.client(kubectl, args);
    await t.test(`batch and budgets, kubectl 1.${minor}`, (t) => batchAndBudgets(t, minor, client));
    await t.test(`quotas, kubectl 1.${minor}`, (t) => quotas(t, client));
  }
}

async function session(t: Test, cluster: TestCluster, kubectl: string): Promise<void> {
  const env = { KUBECONFIG: cluster.config };
  const ok = async (...args: string[]): Promise<string> => {
    const result = await cluster.client(kubectl, args);
    t.equal(result.code, 0, `kubectl ${args.join(' ')}`, { stderr: result.stderr });
    return result.stdout;
  };

  t.match(await ok('get', 'nodes'), /\bReady\b/, 'the node is Ready');
  t.match(await ok('apply', '-f', join(root, 'examples')), /deployment\.apps\/web created/);
  await ok('rollout', 'status', 'deployment/web', '--timeout=120s');
  t.match(await ok('get', 'pods', '-A', '-o', 'wide'), /web-.* 1\/1 +Running/);
  t.match(
    await ok('apply', '-f', join(root, 'examples')),
    /deployment\.apps\/web unchanged/,
    'applying again changes nothing',
  );

  const watching = new Running(kubectl, ['get', 'deployment', 'web', '-w'], env);
  await eventually('the watch shows the deployment', async () => watching.stdout.includes('web'));
  t.match(await ok('scale', 'deployment/web', '--replicas=4'), /scaled/);
  await ok('rollout', 'status', 'deployment/web', '--timeout=120s');
  await eventually('the watch shows four replicas', async () => /4\/4/.test(watching.stdout));
  await watching.stop();
  t.pass('get -w shows the change');

  t.match(await ok('set', 'image', 'deployment/web', 'web=orch/web:2.0'), /image updated/);
  await ok('rollout', 'status', 'deployment/web', '--timeout=180s');
  const described = await ok('describe', 'deployment', 'web');
  t.match(described, /ScalingReplicaSet/, 'describe shows events');
  t.match(await ok('describe', 'pods', '-l', 'app=web'), /Successfully assigned/);
  t.match(await ok('describe', 'nodes'), /Allocatable/);

  const following = new Running(kubectl, ['logs', '-f', 'deployment/web'], env);
  await eventually('the log is followed', async () => following.stdout.length > 0);
  await following.stop();
  t.pass('logs -f');

  t.match(await ok('exec', 'deployment/web', '--', 'echo', 'from', 'inside'), /from inside/);
  if (runtime === 'containerd') {
    await interactive(t, kubectl, env);
    const failed = await cluster.client(kubectl, ['exec', 'deployment/web', '--', 'sh', '-c', 'exit 7']);
    t.equal(failed.code, 7, 'the exit code of exec is that of the program');
    await forward(t, kubectl, env);
  }

  t.match(await ok('delete', '-f', join(root, 'examples')), /deleted/);
  const gone = async () => (await ok('get', 'pods', '-o', 'name')).trim() === '';
  await explained(cluster, () => eventually('all pods are gone', gone));
}

/** A terminal is needed for -t: script(1) makes one. */
async function interactive(t: Test, kubectl: string, env: Record<string, string>): Promise<void> {
  const typescript = join(root, 'dist', `.typescript-${process.pid}`);
  writeFileSync(typescript, '');
  t.teardown(() => rmSync(typescript, { force: true }));
  const shell = new Running('script', ['-qec', `${kubectl} exec -it deployment/web -- sh`, typescript], env);
  shell.write('echo terminal-$((40 + 2)); tty; exit 3\n');
  const code = await shell.exited;
  t.match(shell.stdout, /terminal-42/, 'exec -it runs what is typed');
  t.equal(code, 3, 'and ends with its exit code');
}

async function forward(t: Test, kubectl: string, env: Record<string, string>): Promise<void> {
  const forwarding = new Running(kubectl, ['port-forward', 'deployment/web', ':8080'], env);
  const port = await eventually('the forward listens', async () => /127\.0\.0\.1:(\d+)/.exec(forwarding.stdout)?.[1]);
  for (let i = 0; i < 3; i++) t.match(await httpBody(`http://127.0.0.1:${port}/`), /Hello from/, 'port-forward');
  await forwarding.stop();
}
