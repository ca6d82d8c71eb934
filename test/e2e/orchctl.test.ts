/** The command-line client against a whole cluster: each command, its output and its exit code. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { StatefulSet } from '#api/apps/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { discoverCluster } from '#cluster/join/discover.js';
import { whyNoContainers } from '#cluster/machine/preflight.js';
import {
  eventually,
  httpBody,
  ownRanges,
  Running,
  rangeArguments,
  root,
  startTestCluster,
  type TestCluster,
} from '#test/e2e/harness.js';

t.setTimeout(300_000);
const noContainers = whyNoContainers({ path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0 });
const runtime = noContainers === undefined ? 'containerd' : 'simulated';
const orchctl = join(root, 'bin', 'orchctl');

const args = rangeArguments(await ownRanges());
const cluster: TestCluster = await startTestCluster({ runtime, args });
t.teardown(() => cluster.destroy());

/** Output of a command that must succeed. */
async function ok(...args: string[]): Promise<string> {
  const result = await cluster.ctl(...args);
  t.equal(result.code, 0, `orchctl ${args.join(' ')}`, { stderr: result.stderr });
  return result.stdout;
}

t.test('apply, get, watch', async (t) => {
  t.match(await ok('apply', '-f', join(root, 'examples')), /deployment\.apps\/web created/);
  t.match(await ok('rollout', 'status', 'deployment/web', '--timeout', '120s'), /successfully rolled out/);
  t.match(await ok('apply', '-f', join(root, 'examples')), /deployment\.apps\/web unchanged/);
  t.match(await ok('get', '--raw', '/readyz?verbose'), /\[\+\]etcd ok[\s\S]*readyz check passed/);
  t.match(await ok('get', 'nodes'), /^NAME +STATUS +ROLES +AGE +VERSION\n\S+ +Ready/);
  t.match(await ok('get', 'pods', '-A', '-o', 'wide'), /^NAMESPACE +NAME .*\ndefault +web-/);
  t.match(await ok('get', 'po', '-l', 'app=web', '-o', 'name'), /^pod\/web-\S+\npod\/web-\S+\npod\/web-\S+\n$/);
  t.match(await ok('get', 'all'), /service\/web[\s\S]*deployment\.apps\/web[\s\S]*replicaset\.apps\/web-/);
  const deployment = JSON.parse(await ok('get', 'deploy/web', '-o', 'json')) as { spec: { replicas: number } };
  t.equal(deployment.spec.replicas, 3);
  t.match(await ok('get', 'deploy', 'web', '-o', 'yaml'), /^apiVersion: apps\/v1\nkind: Deployment|kind: Deployment/m);
  const list = JSON.parse(await ok('get', 'pods', '--field-selector', 'status.phase=Running', '-o', 'json')) as {
    kind: string;
    items: unknown[];
  };
  t.equal(list.kind, 'List');
  t.equal(list.items.length, 3);
  const watching = new Running(orchctl, ['get', 'deployment', 'web', '-w'], { ORCHCONFIG: cluster.config });
  await eventually('the watch shows the deployment', async () => watching.stdout.includes('3/3'));
  await ok('scale', 'deployment/web', '--replicas', '4');
  await eventually('the watch shows four', async () => watching.stdout.includes('4/4'));
  await watching.stop();
});

t.test('describe', async (t) => {
  const text = await ok('describe', 'pods', '-l', 'app=web');
  t.match(text, /^Name: +web-/);
  t.match(text, /Conditions:\n +Type +Status/);
  t.match(text, /Normal +Scheduled .*Successfully assigned default\/web-/);
  t.match(await ok('describe', 'node'), /Allocatable:/);
});

t.test('rollouts', async (t) => {
  t.match(await ok('rollout', 'restart', 'deployment/web'), /restarted/);
  await ok('rollout', 'status', 'deployment/web', '--timeout', '120s');
  t.match(await ok('rollout', 'history', 'deployment/web'), /REVISION +CHANGE-CAUSE\n1 .*\n2 /);
  t.match(await ok('rollout', 'undo', 'deployment/web'), /rolled back/);
  await ok('rollout', 'status', 'deployment/web', '--timeout', '120s');
  const failed = await cluster.ctl('rollout', 'undo', 'deployment/web', '--to-revision', '99');
  t.equal(failed.code, 1);
  t.match(failed.stderr, /unable to find specified revision 99/);
  const large = await cluster.ctl('rollout', 'undo', 'deployment/web', '--to-revision', '9007199254740993');
  t.match(large.stderr, /unable to find specified revision 9007199254740993/);
  t.match(await ok('rollout', 'history', 'deployment/web', '--revision', '2'), /revision #2\nPod Template:\n +Labels:/);
  t.match(await ok('rollout', 'pause', 'deployment/web'), /paused/);
  for (const [action, message] of [
    ['pause', /already paused/],
    ['restart', /can't restart paused deployment/],
    ['undo', /cannot rollback a paused deployment/],
  ] as const) {
    t.match((await cluster.ctl('rollout', action, 'deployment/web')).stderr, message);
  }
  t.match(await ok('rollout', 'resume', 'deployment/web'), /resumed/);
  t.match((await cluster.ctl('rollout', 'resume', 'deployment/web')).stderr, /not paused/);
});

t.test('rollouts of sets', async (t) => {
  const file = join(cluster.dataDir, 'sets.json');
  const sets = ['statefulset.apps/db', 'daemonset.apps/agent'] as const;
  const apply = async (word: string) => {
    const items = sets.map((set) => {
      const [type = '', name = ''] = set.split('/');
      const labels = { app: name };
      const containers = [{ name: 'main', image: 'orch/web:1.0', env: [{ name: 'WORD', value: word }] }];
      const template = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers } };
      const kind = type.startsWith('s') ? 'StatefulSet' : 'DaemonSet';
      const more = kind === 'StatefulSet' ? { serviceName: name } : {};
      return {
        apiVersion: 'apps/v1',
        kind,
        metadata: { name },
        spec: { selector: { matchLabels: labels }, template, ...more },
      };
    });
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    await ok('apply', '-f', file);
  };
  const ends = {
    [sets[0]]: /statefulset rolling update complete 1 pods at revision db-\w+\.\.\.\n$/,
    [sets[1]]: /daemon set "agent" successfully rolled out\n$/,
  };
  const rolledOut = async (set: (typeof sets)[number]) =>
    t.match(await ok('rollout', 'status', set, '--timeout', '120s'), ends[set]);
  const word = async (set: string) => {
    const { spec } = JSON.parse(await ok('get', set, '-o', 'json')) as StatefulSet;
    return spec.template.spec?.containers[0]?.env?.[0]?.value;
  };
  await apply('first');
  for (const set of sets) await rolledOut(set);
  await apply('second');
  for (const set of sets) {
    await rolledOut(set);
    t.match(await ok('rollout', 'history', set), /REVISION +CHANGE-CAUSE\n1 .*\n2 /);
    const first = await ok('rollout', 'history', set, '--revision', '1');
    t.match(first, new RegExp(`^${set} with revision #1\nPod Template:\n[\\s\\S]*first`));
    t.match(await ok('rollout', 'undo', set), `${set} rolled back\n`);
    await rolledOut(set);
    t.equal(await word(set), 'first');
    t.match(await ok('rollout', 'undo', set, '--to-revision', '3'), /skipped rollback \(current template already/);
    t.match(await ok('rollout', 'undo', set, '--to-revision', '2'), /rolled back/);
    t.match(await ok('rollout', 'restart', set), `${set} restarted\n`);
    await rolledOut(set);
    t.equal(await word(set), 'second');
    const paused = await cluster.ctl('rollout', 'pause', set);
    t.equal(paused.code, 1);
    t.match(paused.stderr, /pausing is not supported/);
  }
  await ok('delete', ...sets, '--timeout', '60s');
});

t.test('logs and exec', async (t) => {
  await eventually('there is a log', async () => (await ok('logs', 'deployment/web', '--tail', '1')).length > 0);
  const following = new Running(orchctl, ['logs', '-f', 'deployment/web'], { ORCHCONFIG: cluster.config });
  await eventually('the log is followed', async () => following.stdout.length > 0);
  await following.stop();
  t.match(await ok('exec', 'deployment/web', '--', 'echo', 'from', 'inside'), /from inside/);
  if (runtime !== 'containerd') return t.comment('no containers here: no exit codes, no ports');
  const failed = await cluster.ctl('exec', 'deployment/web', '--', 'sh', '-c', 'exit 7');
  t.equal(failed.code, 7, 'the exit code of exec is that of the program');
  const piped = await cluster.client(orchctl, ['exec', '-i', 'deployment/web', '--', 'wc', '-c'], { input: '12345' });
  t.equal(piped.stdout.trim(), '5', 'standard input arrives and ends');
  const forwarding = new Running(orchctl, ['port-forward', 'service/web', ':http'], { ORCHCONFIG: cluster.config });
  const port = await eventually('the forward listens', async () => /127\.0\.0\.1:(\d+)/.exec(forwarding.stdout)?.[1]);
  t.match(await httpBody(`http://127.0.0.1:${port}/`), /Hello from/);
  await forwarding.stop();
});

t.test('create and delete', async (t) => {
  t.match(await ok('create', 'namespace', 'shop'), /namespace\/shop created/);
  t.match(await ok('create', 'configmap', 'colors', '--from-literal', 'sky=blue', '-n', 'shop'), /created/);
  t.match(await ok('get', 'cm', 'colors', '-n', 'shop', '-o', 'yaml'), /sky: blue/);
  const again = await cluster.ctl('create', 'namespace', 'shop');
  t.equal(again.code, 1);
  t.match(again.stderr, /Error from server \(AlreadyExists\): namespaces "shop" already exists/);
  t.match(await ok('delete', 'namespace', 'shop', '--timeout', '60s'), /namespace "shop" deleted/);
  t.match((await cluster.ctl('get', 'namespace', 'shop')).stderr, /namespaces "shop" not found/);
  await ok('delete', '-f', join(root, 'examples'), '--timeout', '60s');
  await eventually('its pods are gone', async () => (await ok('get', 'pods', '-o', 'name')) === '');
});

t.test('tokens with which nodes join', async (t) => {
  const line = await ok('token', 'create', '--print-join-command', '--description', 'the rack by the door');
  const joining = /^orch join (https:\S+) --token ([a-z0-9]{6})\.([a-z0-9]{16}) --ca-hash (sha256:[0-9a-f]{64})\n$/;
  const [, server = '', id = '', secret = '', pin = ''] = joining.exec(line) ?? [];
  t.match(line, joining);
  t.match(await ok('token', 'list'), new RegExp(`${id}\\.${secret} +23h +\\S+ +signing,authentication +the rack`));
  // A client that knows only this line of the cluster.
  const { text } = await discoverCluster({ server, token: { id, secret }, pin, clock: realClock, waitMs: 30_000 });
  t.match(text, `server: ${server}`);
  const other = { id, secret: secret.replace(/./g, 'x') };
  await t.rejects(discoverCluster({ server, token: other, pin, clock: realClock, waitMs: 0 }), /signature/);
  const wrong = `sha256:${'0'.repeat(64)}`;
  await t.rejects(
    discoverCluster({ server, token: { id, secret }, pin: wrong, clock: realClock, waitMs: 0 }),
    /--ca-hash/,
  );
  t.equal(await ok('token', 'delete', id), `token ${id} deleted\n`);
  t.notMatch(await ok('token', 'list'), id);
});

t.test('nodes are emptied', async (t) => {
  const node = (await ok('get', 'nodes', '-o', 'name')).trim().split('\n')[0] ?? '';
  t.equal(await ok('cordon', node), `${node} cordoned\n`);
  t.equal(await ok('cordon', node), `${node} already cordoned\n`);
  t.match(await ok('get', node), /SchedulingDisabled/);
  const drained = await ok(
    'drain',
    node,
    '--ignore-daemonsets',
    '--delete-emptydir-data',
    '--force',
    '--grace-period',
    '1',
  );
  t.match(drained, new RegExp(`${node} already cordoned\\n[^]*${node} drained\\n$`));
  t.equal(await ok('uncordon', node), `${node} uncordoned\n`);
});

t.test('mistakes have exit code 1 and say what to do', async (t) => {
  for (const [args, message] of [
    [['gett'], /unknown command "gett" for "orchctl"\n\nDid you mean this\?\n\tget\n/],
    [['get'], /You must specify the type of resource to get/],
    [['get', 'cows'], /the server doesn't have a resource type "cows"/],
    [['get', 'pods', '-o', 'xml'], /unable to match a printer suitable for the output format "xml"/],
    [['get', 'pods', '--nope'], /unknown flag: --nope/],
    [['delete', 'pods'], /no name was specified/],
    [['scale', 'deployment/x'], /"replicas" not set/],
    [['exec', 'x'], /you must specify at least one command for the container/],
  ] as const) {
    const result = await cluster.ctl(...args);
    t.equal(result.code, 1, args.join(' '));
    t.match(result.stderr, message);
  }
  const file = join(cluster.dataDir, 'bad.yaml');
  writeFileSync(file, 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndate: {}\n');
  const strict = await cluster.ctl('apply', '-f', file);
  t.equal(strict.code, 1);
  t.match(strict.stderr, /unknown field|field not declared/);
  const nowhere = await cluster.ctl('get', 'pods', '--server', 'https://127.0.0.1:1');
  t.equal(nowhere.code, 1);
  t.match(nowhere.stderr, /ECONNREFUSED|refused/);
});

t.test('help everywhere', async (t) => {
  t.match(await ok('--help'), /Show and ask:\n +get /);
  for (const command of ['get', 'describe', 'apply', 'create', 'delete', 'scale', 'rollout', 'logs', 'exec', 'image']) {
    t.match(
      await ok(command, '--help'),
      new RegExp(`Examples:\\n *orchctl ${command} [\\s\\S]*Usage:\\n +orchctl ${command} `),
      command,
    );
  }
  t.match(await ok('version'), /Client Version: v1\.24\.0\nServer Version: v1\.24\.0/);
  t.match(
    await ok('api-resources'),
    /^NAME +SHORTNAMES +APIVERSION[\s\S]*deployments +deploy +apps\/v1 +true +Deployment/m,
  );
});
