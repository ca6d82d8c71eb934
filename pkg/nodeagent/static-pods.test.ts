import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import { emptyInformers } from '#client/informer/empty-informers.js';
import { silentLogger } from '#daemon/log/logger.js';
import type { ServedPods } from '#nodeagent/server/agent-server.js';
import { ManifestFiles } from '#nodeagent/sources/manifest-files.js';
import { ManifestURL, parseHeaders } from '#nodeagent/sources/manifest-url.js';
import { mirrorStep } from '#nodeagent/sources/mirror-pods.js';
import { ManifestReader, maxManifestBytes } from '#nodeagent/sources/static-pod.js';
import { StaticPods } from '#nodeagent/sources/static-pods.js';
import { eventually, newSimulatedRuntime, nodeName, startAgent, testPod } from '#nodeagent/testing/agent-fixture.js';
import { virtualAgent } from '#nodeagent/testing/virtual-agent.js';

const { annotations } = orchDialect;
const reader = new ManifestReader({
  dialect: orchDialect,
  clock: realClock,
  nodeName,
  gate: () => true,
});
const manifest = (name: string, image = 'docker.io/test/app:1.0', more: object = {}) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'main', image }], terminationGracePeriodSeconds: 5, ...more },
  });
const parse = (text: string, path = '/m/web.yaml') => reader.file(Buffer.from(text), path);

async function manifestDir(t: { teardown(fn: () => unknown): void }): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'static-'));
  t.teardown(() => rm(dir, { recursive: true }));
  return dir;
}

t.test('a manifest becomes a pod of this node', async (t) => {
  const pod = parse('apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: b}]}\n');
  t.match(pod.metadata, { name: 'web-node-1', namespace: 'default', uid: /^[0-9a-f]{32}$/ });
  t.equal(pod.metadata.annotations?.[annotations.configHash], pod.metadata.uid);
  t.match(pod.spec, {
    nodeName,
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
    containers: [{ imagePullPolicy: 'Always', terminationMessagePath: '/dev/termination-log' }],
  });
  t.same(pod.status, { phase: 'Pending' });
  t.equal(parse(manifest('a')).metadata.uid, parse(manifest('a')).metadata.uid);
  t.not(parse(manifest('a')).metadata.uid, parse(manifest('a', 'docker.io/test/app:2.0')).metadata.uid);
  t.not(parse(manifest('a')).metadata.uid, parse(manifest('a'), '/m/other').metadata.uid);
  t.throws(() => parse('{'), /^\/m\/web.yaml: couldn't parse as pod\(/);
  t.throws(() => parse('{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}'), /invalid pod: it is a Node/);
  t.throws(() => parse(manifest('')), /name is needed/);
  for (const uid of ['..', '../../etc', 'a/b', '%2e%2e']) {
    const named = { ...(JSON.parse(manifest('a')) as { metadata: object }) };
    const text = JSON.stringify({ ...named, metadata: { ...named.metadata, uid } });
    t.throws(() => parse(text), /invalid pod: metadata.uid: may not/, `${uid} is no name of a directory`);
  }
  t.throws(() => parse(manifest('UPPER_')), /^invalid pod: \[metadata.name: Invalid value/);
  const list = `{"apiVersion":"v1","kind":"PodList","items":[${manifest('a')},${manifest('b')}]}`;
  const listed = reader.podsOf(Buffer.from(list), 'http://x/');
  t.same(
    listed.map(({ metadata }) => metadata.name),
    ['a-node-1', 'b-node-1'],
  );
  t.equal(listed[0]?.spec.tolerations, undefined);
});

t.test('files are added, changed and removed', async (t) => {
  const dir = await manifestDir(t);
  const path = join(dir, 'manifests');
  const outside = join(dir, 'outside.json');
  const stop = new AbortController();
  let now: string[] | undefined;
  const files = new ManifestFiles({
    ...{ path: `${path}/`, periodMs: 300, reader, clock: realClock, log: silentLogger },
    onPods: (list) => {
      now = list.map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]?.image?.at(-1)}`);
    },
  });
  const running = files.run(stop.signal);
  const are = (...expected: string[]) => eventually(() => now?.join() === expected.join(), expected.join());
  await are();
  await mkdir(path);
  await writeFile(join(path, 'b.json'), manifest('b', 'x:1'));
  await are('b-node-1 1');
  await writeFile(outside, manifest('a', 'x:1'));
  await symlink(outside, join(path, 'a.yaml'));
  await writeFile(join(path, '.hidden'), manifest('hidden', 'x:1'));
  await mkdir(join(path, 'directory'));
  await are('a-node-1 1', 'b-node-1 1');
  await writeFile(outside, manifest('a', 'x:2'));
  await are('a-node-1 2', 'b-node-1 1');
  await writeFile(join(path, 'huge'), Buffer.alloc(maxManifestBytes + 1));
  await writeFile(join(dir, 'new'), manifest('b', 'x:3'));
  await rename(join(dir, 'new'), join(path, 'b.json'));
  await are('a-node-1 2', 'b-node-1 3');
  await writeFile(join(path, 'b.json'), '{"apiVersion": "v1",');
  await are('a-node-1 2');
  await rm(path, { recursive: true });
  await are();
  stop.abort();
  await running;
});

t.test('requests to a web server have the headers, and its invalid responses change nothing', async (t) => {
  const headers: (string | string[] | undefined)[] = [];
  let response = { code: 200, text: manifest('web') };
  const server = createServer((request, reply) => {
    headers.push(request.headers['x-key']);
    reply.writeHead(response.code).end(response.text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const stop = new AbortController();
  const got: string[] = [];
  const source = new ManifestURL({
    ...{ url, periodMs: 20, reader, clock: realClock, log: silentLogger },
    headers: parseHeaders(['X-Key:a', 'X-Key: b']),
    onPods: (list) => got.push(list.map(({ metadata }) => metadata.name).join()),
  });
  const running = source.run(stop.signal);
  await eventually(() => headers.length > 2);
  t.same(got, ['web-node-1']);
  t.equal(headers[0], 'a, b');
  response = { code: 500, text: '' };
  const before = headers.length;
  await eventually(() => headers.length > before + 2);
  t.same(got, ['web-node-1']);
  response = { code: 200, text: 'x'.repeat(maxManifestBytes + 1) };
  await eventually(() => headers.length > before + 5);
  t.same(got, ['web-node-1']);
  response = { code: 200, text: '' };
  await eventually(() => got.at(-1) === '');
  stop.abort();
  await running;
  server.closeAllConnections();
  t.throws(() => parseHeaders(['nothing']), RangeError);
});

t.test('of two pods with one name the first is used', async (t) => {
  const lines: string[] = [];
  const statics = new StaticPods({
    ...{ dialect: orchDialect, clock: realClock, log: silentLogger, sources: ['file'] },
    events: { pod: (_, type, reason, message) => lines.push(`${type} ${reason} ${message}`) },
  });
  const changes: string[] = [];
  statics.addHandler({
    onUpdate: ({ metadata }) => changes.push(`+${metadata.uid}`),
    onDelete: ({ metadata }) => changes.push(`-${metadata.uid}`),
  });
  t.notOk(statics.hasSynced);
  const one = parse(manifest('web'), '/m/1');
  const two = parse(manifest('web'), '/m/2');
  statics.set('file', [one, two]);
  t.ok(statics.hasSynced);
  t.match(lines, [
    /^Warning FailedValidation Error validating pod web-node-1_default\(.*\) from file due to duplicate/,
  ]);
  t.match(statics.list(), [{ metadata: { annotations: { [annotations.configSource]: 'file' } } }]);
  statics.set('file', [parse(manifest('web'), '/m/1')]);
  statics.set('file', []);
  t.same(changes, [`+${one.metadata.uid}`, `-${one.metadata.uid}`]);
});

t.test('a mirror pod is created, replaced, kept or deleted', async (t) => {
  const pod = parse(manifest('web'));
  const image = (hash: string, deleted = false): Pod => ({
    ...pod,
    metadata: {
      ...pod.metadata,
      annotations: { [annotations.configMirror]: hash },
      ...(deleted ? { deletionTimestamp: '2022-05-03T00:00:00Z' } : {}),
    },
  });
  const hash = pod.metadata.uid ?? '';
  const step = (desired: Pod | undefined, mirror: Pod | undefined, isRunning = false) =>
    mirrorStep(desired, mirror, { dialect: orchDialect, isRunning });
  t.equal(step(pod, undefined), 'create');
  t.equal(step(pod, image(hash)), 'none');
  t.equal(step(pod, image('other')), 'replace');
  t.equal(step(pod, image(hash, true)), 'replace');
  t.equal(step(undefined, image(hash), true), 'none');
  t.equal(step(undefined, image(hash)), 'delete');
  t.equal(step(undefined, undefined), 'none');
});

t.test('a static pod has a mirror pod that follows it', async (t) => {
  const dir = await manifestDir(t);
  const file = join(dir, 'web.json');
  await writeFile(file, manifest('web'));
  const args = [`--pod-manifest-path=${dir}`, '--file-check-frequency=1s'];
  const { api, runtime, fixture, clock, isTrue, status, until } = await virtualAgent(t, { args });
  const name = `web-${nodeName}`;
  const image = () => api.get(pods, `default/${name}`);
  const sandboxes = async () => (await runtime.listPodSandbox({ state: 'SANDBOX_READY' })).map(({ id }) => id);
  await until(() => isTrue(name, 'Ready'));
  const first = image();
  t.match(first?.metadata.ownerReferences, [
    { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: api.get(nodes, nodeName)?.metadata.uid, controller: true },
  ]);
  const hash = first?.metadata.annotations?.[annotations.configMirror];
  t.match(first?.metadata.annotations, { [annotations.configSource]: 'file', [annotations.configHash]: hash });
  t.not(first?.metadata.uid, hash);
  const before = await sandboxes();
  t.equal(before.length, 1);

  await api.client.resource(pods).delete(name, { namespace: 'default', gracePeriodSeconds: 30 });
  await until(() => image()?.metadata.uid !== first?.metadata.uid && isTrue(name, 'Ready'));
  api.remove(pods, `default/${name}`);
  await until(() => image() !== undefined && isTrue(name, 'Ready'));
  t.same(await sandboxes(), before, 'deleting the image ends nothing');

  await writeFile(file, manifest('web', 'docker.io/test/app:2.0'));
  await until(() => isTrue(name, 'Ready') && image()?.spec.containers[0]?.image === 'docker.io/test/app:2.0');
  t.not(image()?.metadata.annotations?.[annotations.configMirror], hash);
  t.equal((await sandboxes()).length, 1, 'the old one has ended');

  // The file changes while no agent runs.
  await fixture.stop();
  await writeFile(file, manifest('web', 'docker.io/test/app:3.0'));
  const again = startAgent({ clock, api, runtime, args });
  t.teardown(() => again.stop());
  await until(() => isTrue(name, 'Ready') && image()?.spec.containers[0]?.image === 'docker.io/test/app:3.0');
  t.equal((await sandboxes()).length, 1);
  t.equal(status(name)?.containerStatuses?.[0]?.restartCount, 0);

  await rm(file);
  await until(() => image() === undefined);
  t.same(await sandboxes(), []);
});

t.test('static pods run without the API, and are reported once it is available', async (t) => {
  const dir = await manifestDir(t);
  await writeFile(join(dir, 'web.json'), manifest('web'));
  const clock = realClock;
  const runtime = newSimulatedRuntime(clock);
  const args = [`--pod-manifest-path=${dir}`];
  const alone = startAgent({
    ...{ clock, runtime, args },
    dependencies: {
      informers: emptyInformers(orchDialect),
      isStandalone: true,
      recorder: { record: () => undefined },
    },
  });
  const running = async () => (await runtime.listContainers()).filter(({ state }) => state === 'CONTAINER_RUNNING');
  await eventually(async () => (await running()).length === 1);
  await alone.agent.ready();
  t.match(alone.agent.nodeName, nodeName);
  await alone.stop();
  const ids = (await running()).map(({ id }) => id);

  let isAway = true;
  const { api, ...newAgent } = startAgent({ clock, runtime, args });
  t.teardown(() => newAgent.stop());
  api.intercept(() => (isAway ? serviceUnavailable('not now') : undefined));
  await writeFile(join(dir, 'other.json'), manifest('other'));
  await eventually(async () => (await running()).length === 2);
  t.ok((await running()).some(({ id }) => id === ids[0]));
  isAway = false;
  await eventually(
    () => ['web', 'other'].every((name) => api.get(pods, `default/${name}-${nodeName}`)?.status?.phase === 'Running'),
    'the images',
  );
});

t.test('a one-off run ends when the pods run, and leaves them running', async (t) => {
  const dir = await manifestDir(t);
  await writeFile(join(dir, 'web.json'), manifest('web'));
  const runtime = newSimulatedRuntime();
  const alone = { informers: emptyInformers(orchDialect), isStandalone: true, recorder: { record: () => undefined } };
  const args = [`--pod-manifest-path=${dir}`, '--runonce'];
  const once = startAgent({ runtime, args, dependencies: alone });
  await once.started;
  t.match(await runtime.listContainers(), [{ state: 'CONTAINER_RUNNING' }]);
  await writeFile(join(dir, 'big.json'), manifest('big', 'docker.io/test/app:1.0', { os: { name: 'windows' } }));
  const failing = startAgent({ runtime, args, dependencies: alone });
  await t.rejects(failing.started, { message: `error running pods: [default/big-${nodeName}]` });
});

t.test("a static pod is accessible by its name, its UID and its mirror's UID", async (t) => {
  const dir = await manifestDir(t);
  await writeFile(join(dir, 'web.json'), manifest('web'));
  const name = `web-${nodeName}`;
  let served: ServedPods | undefined;
  const { isTrue, until, api } = await virtualAgent(t, {
    args: [`--pod-manifest-path=${dir}`],
    dependencies: {
      server: async (input) => {
        served = input.pods;
        return { port: 0, close: async () => undefined };
      },
    },
  });
  const plain = testPod('plain');
  api.seed(pods, plain);
  await until(() => isTrue(name, 'Ready') && isTrue('plain', 'Ready'));
  const image = api.get(pods, `default/${name}`);
  const uid = image?.metadata.annotations?.[annotations.configHash];
  for (const by of [undefined, uid, image?.metadata.uid])
    t.equal(served?.find('default', name, by)?.metadata.uid, uid, by ?? 'its name');
  t.equal(served?.find('default', name, plain.metadata.uid ?? ''), undefined);
  t.equal(served?.find('default', 'plain', plain.metadata.uid ?? '')?.metadata.uid, plain.metadata.uid);
  t.equal(served?.find('default', 'plain', uid ?? ''), undefined);
});
