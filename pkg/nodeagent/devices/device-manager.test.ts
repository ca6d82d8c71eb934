/** Real sockets, real gRPC. */
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import type { ServerHttp2Stream } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { silentLogger } from '#daemon/log/logger.js';
import { decodeCheckpoint } from '#nodeagent/devices/checkpoint.js';
import { idsOf } from '#nodeagent/devices/device.js';
import { DeviceManager } from '#nodeagent/devices/device-manager.js';
import { checkpointName, DevicePlugins } from '#nodeagent/devices/device-plugins.js';
import { TestDevicePlugin, type TestPluginOptions } from '#nodeagent/devices/testing/device-plugin.js';
import { startFaultyRuntime } from '#nodeagent/testing/faulty-runtime.js';

const gpu = 'example.com/gpu';

async function until(what: string, isTrue: () => boolean): Promise<void> {
  for (let i = 0; i < 1500; i++) {
    if (isTrue()) return;
    await realClock.sleep(10);
  }
  throw new Error(`timed out: ${what}`);
}

function podOf(
  uid: string,
  containers: Readonly<Record<string, number>>,
  initContainers: Readonly<Record<string, number>> = {},
): Pod {
  const of = ([name, count]: [string, number]): Container => ({
    name,
    image: 'app',
    resources: { limits: { [gpu]: String(count) } },
  });
  return {
    metadata: { uid, name: uid, namespace: 'default' },
    spec: { containers: Object.entries(containers).map(of), initContainers: Object.entries(initContainers).map(of) },
  };
}

class Agent {
  readonly registrations: string[] = [];
  readonly allocations: string[] = [];
  readonly devices: DeviceManager;
  readonly plugins: DevicePlugins;
  elapsedMs = 0;

  constructor(directory: string, dialect = orchDialect) {
    const clock = { ...realClock, monotonic: () => realClock.monotonic() + this.elapsedMs };
    this.devices = new DeviceManager({
      ...{ clock, log: silentLogger, nodes: [0, 1], isActive: () => true },
      checkpoint: join(directory, checkpointName),
      onAllocated: (resource) => this.allocations.push(resource),
    });
    this.plugins = new DevicePlugins({
      ...{ dialect, clock, log: silentLogger, directory, devices: this.devices },
      onRegistration: (resource) => this.registrations.push(resource),
    });
  }

  /** Allocates for all containers, as an admission does. */
  async admit(pod: Pod): Promise<void> {
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers])
      await this.devices.allocate(pod, container, { preferred: false });
  }

  ids(uid: string, container = 'main'): string {
    return [...(this.devices.assignments.devices(uid, container, gpu) ?? [])].sort().join();
  }

  amount(): string {
    const { capacity, allocatable } = this.devices.amounts();
    return `${allocatable[gpu]} of ${capacity[gpu]}`;
  }
}

async function setUp(t: Test) {
  const directory = await mkdtemp(join(tmpdir(), 'dp-'));
  const started: { stop(): Promise<void> }[] = [];
  t.teardown(async () => {
    for (const each of started.reverse()) await each.stop();
    await rm(directory, { recursive: true });
  });
  const agent = async (dialect = orchDialect) => {
    const created = new Agent(directory, dialect);
    await created.plugins.start();
    started.push(created.plugins);
    return created;
  };
  const plugin = async (options: Partial<TestPluginOptions> = {}) => {
    const created = new TestDevicePlugin({ socket: join(directory, 'gpu.sock'), resource: gpu, ...options });
    await created.start();
    started.push(created);
    return created;
  };
  const path = (name: string) => join(directory, name);
  return {
    directory,
    path,
    agent,
    plugin,
    checkpoint: async () => decodeCheckpoint(await readFile(path(checkpointName), 'utf8')),
  };
}

const four = ['a', 'b', 'c', 'd'].map((id) => ({ id }));

t.test('a plugin registers, its devices are counted, given and freed', async (t) => {
  const { agent: newAgent, plugin: newPlugin, checkpoint } = await setUp(t);
  const agent = await newAgent();
  const plugin = await newPlugin({
    devices: [...four, { id: 'ill', isHealthy: false }],
    allocate: (ids) => ({
      envs: { GPUS: ids.join() },
      devices: ids.map((id) => ({ containerPath: `/dev/${id}`, hostPath: '/dev/null', permissions: 'rw' })),
      mounts: [{ containerPath: '/lib/gpu', hostPath: '/opt/gpu', readOnly: true }],
      annotations: { 'example.com/gpus': String(ids.length) },
    }),
  });
  await plugin.register();
  await until('reported', () => agent.amount() === '4 of 5');
  t.same(agent.registrations, [gpu], 'registrations are counted');
  const pod = podOf('one', { main: 2 });
  await agent.admit(pod);
  t.equal(agent.ids('one'), 'a,b', 'devices of the container');
  t.same(plugin.calls, ['Allocate a b'], 'calls');
  t.same(agent.allocations, [gpu], 'allocations are timed');
  const { environment, ...settings } = await agent.devices.configure(pod, pod.spec.containers[0] as Container);
  t.same([...(environment ?? [])], [['GPUS', 'a,b']], 'environment');
  t.same(
    settings,
    {
      devices: ['a', 'b'].map((id) => ({ containerPath: `/dev/${id}`, hostPath: '/dev/null', permissions: 'rw' })),
      mounts: [{ containerPath: '/lib/gpu', hostPath: '/opt/gpu', readonly: true, propagation: 'PROPAGATION_PRIVATE' }],
      annotations: { 'example.com/gpus': '2' },
    },
    'settings',
  );
  await agent.admit(pod);
  t.equal(plugin.calls.length, 1, 'a container that has its devices keeps them');
  const message = `requested number of devices unavailable for ${gpu}. Requested: 3, Available: 2`;
  await t.rejects(agent.admit(podOf('many', { main: 3 })), { message }, 'too many');
  t.same([...agent.devices.inUse('one')], [[gpu, 2]], 'in use');
  t.same([...agent.devices.inUse('other')], [], 'a pod without devices needs none');
  await agent.admit(podOf('two', { main: 2 }));
  t.equal(agent.ids('two'), 'c,d', 'another pod gets others');
  agent.devices.retain((uid) => uid === 'two');
  await agent.admit(podOf('three', { main: 2 }));
  t.equal(agent.ids('three'), 'a,b', 'devices of ended pods are free');
  t.same(
    (await checkpoint()).assignments.map(({ podUID }) => podUID),
    ['two', 'three'],
    'the checkpoint',
  );
  t.same([...(await checkpoint()).devices], [[gpu, ['a', 'b', 'c', 'd']]], 'and its devices');
});

t.test('health changes, the plugin ends and comes back', async (t) => {
  const { agent: newAgent, plugin: newPlugin } = await setUp(t);
  const agent = await newAgent();
  const plugin = await newPlugin({ devices: four });
  await plugin.register();
  await until('reported', () => agent.amount() === '4 of 4');
  plugin.report([{ id: 'a', isHealthy: false }, { id: 'b' }]);
  await until('reported again', () => agent.amount() === '1 of 2');
  await agent.admit(podOf('one', { main: 1 }));
  t.equal(agent.ids('one'), 'b', 'only healthy devices are given');
  await plugin.stop();
  await until('gone', () => agent.amount() === '0 of 2');
  const unavailable = { message: `requested number of devices unavailable for ${gpu}. Requested: 1, Available: 0` };
  await t.rejects(agent.admit(podOf('two', { main: 1 })), unavailable, 'nothing to give');
  const pod = podOf('one', { main: 1 });
  t.equal(
    (await agent.devices.configure(pod, pod.spec.containers[0] as Container)).environment?.get('DEVICES'),
    'b',
    'its container may restart',
  );
  const again = await newPlugin({ devices: four });
  await again.register();
  await until('back', () => agent.amount() === '4 of 4');
  t.equal(agent.ids('one'), 'b', 'pods keep their devices');
  await again.stop();
  await until('gone again', () => agent.amount() === '0 of 4');
  agent.elapsedMs = 299_000;
  t.equal(agent.amount(), '0 of 4', 'for five minutes');
  agent.elapsedMs = 302_000;
  t.equal(agent.amount(), '0 of 0', 'then there is none');
  t.equal(agent.amount(), 'undefined of undefined', 'and the node forgets the resource');
  const problem = { message: `endpoint not found in cache for a registered resource: ${gpu}` };
  await t.rejects(
    agent.devices.configure(pod, pod.spec.containers[0] as Container),
    problem,
    'and starts no container with it',
  );
});

t.test('the agent restarts', async (t) => {
  const { agent: newAgent, plugin: newPlugin, path } = await setUp(t);
  const agent = await newAgent();
  const plugin = await newPlugin({ devices: four });
  await plugin.register();
  await until('reported', () => agent.amount() === '4 of 4');
  const pod = podOf('one', { main: 2 });
  await agent.admit(pod);
  await agent.plugins.stop();
  await writeFile(path('stale.sock'), '');
  const restarted = await newAgent();
  await t.rejects(stat(path('stale.sock')), { code: 'ENOENT' }, 'stale sockets are removed: plugins register again');
  await t.rejects(stat(path('gpu.sock')), { code: 'ENOENT' }, 'that of the plugin, too');
  t.equal(restarted.amount(), '0 of 0', 'no capacity before the plugin is back');
  await restarted.admit(pod);
  t.equal(restarted.ids('one'), 'a,b', 'the pod keeps its devices');
  t.same([...restarted.devices.inUse('one')], [[gpu, 2]], 'and counts as fitting');
  await t.rejects(restarted.admit(podOf('two', { main: 1 })), /Requested: 1, Available: 0/, 'others must wait');
  await plugin.stop();
  const again = await newPlugin({ devices: four });
  await again.register();
  await until('reported', () => restarted.amount() === '4 of 4');
  await restarted.admit(podOf('two', { main: 2 }));
  t.equal(restarted.ids('two'), 'c,d', 'nothing is given twice');
  const changed = podOf('one', { main: 3 });
  const message = `pod "one" container "main" changed request for resource "${gpu}" from 2 to 3`;
  await t.rejects(restarted.admit(changed), { message }, 'a changed request');
  await restarted.plugins.stop();
  await writeFile(path(checkpointName), 'nonsense');
  const third = await newAgent();
  t.equal(third.ids('one'), '', 'an unreadable checkpoint is as good as none');
});

t.test('init containers give their devices to the others', async (t) => {
  const { agent: newAgent, plugin: newPlugin } = await setUp(t);
  const agent = await newAgent();
  const plugin = await newPlugin({ devices: four });
  await plugin.register();
  await until('reported', () => agent.amount() === '4 of 4');
  await agent.admit(podOf('one', { main: 1, side: 2 }, { first: 2, second: 1 }));
  t.equal(agent.ids('one', 'first'), 'a,b', 'the first');
  t.equal(agent.ids('one', 'second'), 'a', 'the second uses them again');
  t.equal(agent.ids('one', 'main'), 'a', 'and so do the others');
  t.equal(agent.ids('one', 'side'), 'b,c', 'each by one of them only');
  await agent.admit(podOf('two', { main: 1 }));
  t.equal(agent.ids('two'), 'd', 'other pods get others');
});

t.test('options of plugins: preferences and the hook before each start', async (t) => {
  const { agent: newAgent, plugin: newPlugin } = await setUp(t);
  const agent = await newAgent();
  const plugin = await newPlugin({
    devices: four,
    preStart: true,
    prefer: ({ size }) => ['d', 'c', 'b'].slice(0, size),
  });
  await plugin.register();
  await until('reported', () => agent.amount() === '4 of 4');
  const pod = podOf('one', { main: 2 });
  const container = pod.spec.containers[0] as Container;
  await agent.admit(pod);
  t.equal(agent.ids('one'), 'c,d', 'the preferred ones');
  await agent.devices.configure(pod, container);
  await agent.devices.configure(pod, container);
  t.same(
    plugin.calls.map((call) => call.split(' ')[0]),
    ['GetPreferredAllocation', 'Allocate', 'PreStartContainer', 'PreStartContainer'],
    'calls',
  );
  plugin.refuse = (method) => (method === 'PreStartContainer' ? 'too hot' : undefined);
  const hot = 'device plugin PreStartContainer rpc failed with err: rpc error: code = Unknown desc = too hot';
  await t.rejects(agent.devices.configure(pod, container), { message: hot }, 'the hook fails');
  plugin.refuse = (method) => (method === 'GetPreferredAllocation' ? 'no idea' : undefined);
  const idea = 'device plugin GetPreferredAllocation rpc failed with err: rpc error: code = Unknown desc = no idea';
  await t.rejects(agent.admit(podOf('two', { main: 1 })), { message: idea }, 'the preference fails');
  plugin.refuse = (method) => (method === 'Allocate' ? 'broken' : undefined);
  const broken = 'rpc error: code = Unknown desc = broken';
  await t.rejects(agent.admit(podOf('two', { main: 1 })), { message: broken }, 'the allocation fails');
  plugin.refuse = () => undefined;
  await agent.admit(podOf('two', { main: 2 }));
  t.equal(agent.ids('two'), 'a,b', 'and nothing was lost');
});

t.test('hints follow the devices and what init containers had', async (t) => {
  const { agent: newAgent, plugin: newPlugin } = await setUp(t);
  const agent = await newAgent();
  const plugin = await newPlugin({
    devices: [
      { id: 'a', nodes: [0] },
      { id: 'b', nodes: [1] },
      { id: 'c', nodes: [1] },
    ],
  });
  await plugin.register();
  await until('reported', () => agent.amount() === '3 of 3');
  const pod = podOf('one', { main: 2 });
  const shown = (hints: ReturnType<DeviceManager['podHints']>) =>
    (hints.get(gpu) ?? []).map(({ nodes, preferred }) => `${nodes}${preferred ? '!' : ''}`);
  t.same(shown(agent.devices.podHints(pod)), ['2!', '3'], 'of the pod');
  t.same(shown(agent.devices.hints(pod, pod.spec.containers[0] as Container)), ['2!', '3'], 'of the container');
  await agent.devices.allocate(pod, pod.spec.containers[0] as Container, { nodes: 2n, preferred: true });
  t.equal(agent.ids('one'), 'b,c', 'aligned');
  t.same(shown(agent.devices.podHints(pod)), ['2!', '3'], 'the same hints after a restart');
  t.same(agent.devices.podHints(podOf('two', { main: 2 })).get(gpu), [], 'fits nowhere');
  t.equal(agent.devices.podHints(podOf('two', {})).get(gpu), undefined, 'requests none');
});

t.test('wrong registrations, with the words of 1.24', async (t) => {
  for (const [dialect, name] of [
    [orchDialect, 'nodeagent'],
    [kubernetesDialect, 'kubelet'],
  ] as const) {
    const { agent: newAgent, plugin: newPlugin } = await setUp(t);
    const agent = await newAgent(dialect);
    const plugin = await newPlugin();
    const rows: [changes: Record<string, unknown>, details: string][] = [
      [
        { version: 'v1alpha' },
        `requested API version "v1alpha" is not supported by ${name}. Supported version is ["v1beta1"]`,
      ],
      [{ resourceName: 'cpu' }, 'the ResourceName "cpu" is invalid'],
      [{ resourceName: 'example.com/' }, 'the ResourceName "example.com/" is invalid'],
      [{ resourceName: 'requests.example.com/x' }, 'the ResourceName "requests.example.com/x" is invalid'],
    ];
    for (const [changes, details] of rows)
      await t.rejects(plugin.register(changes), { message: `rpc error: code = Unknown desc = ${details}` }, details);
    t.same(agent.registrations, [], 'nothing is counted');
    const { plugins } = agent;
    const registered = { name: gpu, endpoint: '/x', versions: ['v1beta1'] };
    t.doesNotThrow(() => plugins.validate(registered), 'a good one');
    const versions = 'manager version, v1beta1, is not among plugin supported versions [v1 v2]';
    t.throws(() => plugins.validate({ ...registered, versions: ['v1', 'v2'] }), { message: versions }, 'versions');
    const invalid = 'invalid name of device plugin socket: the ResourceName "gpu" is invalid';
    t.throws(() => plugins.validate({ ...registered, name: 'gpu' }), { message: invalid }, 'name');
  }
});

t.test('a plugin of the plugin watcher is asked for its options', async (t) => {
  const { agent: newAgent, plugin: newPlugin, path } = await setUp(t);
  const agent = await newAgent();
  const plugin = await newPlugin({ devices: four, preStart: true });
  const registered = { name: gpu, endpoint: path('gpu.sock'), versions: ['v1beta1'] };
  await agent.plugins.register(registered);
  await until('reported', () => agent.amount() === '4 of 4');
  t.same(plugin.calls, ['GetDevicePluginOptions'], 'calls');
  t.equal(agent.devices.inventory.endpoint(gpu)?.options.preStart, true, 'options');
  agent.plugins.deregister(gpu);
  await until('gone', () => agent.amount() === '0 of 4');
  plugin.refuse = () => 'no';
  const message = 'failed to get device plugin options: rpc error: code = Unknown desc = no';
  await t.rejects(agent.plugins.register(registered), { message }, 'options are refused');
});

t.test('a plugin that repeats itself without end does not fill the memory', async (t) => {
  const { agent: newAgent, plugin: newPlugin } = await setUp(t);
  const agent = await newAgent();
  const plugin = await newPlugin({ devices: four });
  await plugin.register();
  let reports = 0;
  const { inventory } = agent.devices;
  const { report } = inventory;
  inventory.report = (...args) => {
    reports += 1;
    report.apply(inventory, args);
  };
  const big = Array.from({ length: 2000 }, (_, i) => ({ id: `device-${i}` }));
  for (let i = 0; i < 500; i++) plugin.report(big);
  await until('reported', () => agent.amount() === '2000 of 2000');
  t.ok(reports < 100, `${reports} reports were read`);
});

t.test('a hostile plugin harms no other', async (t) => {
  const { agent: newAgent, plugin: newPlugin, path } = await setUp(t);
  const agent = await newAgent();
  const frame = (bytes: Buffer, length = bytes.length) => {
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(length, 1);
    return Buffer.concat([prefix, bytes]);
  };
  const device = (id: Buffer) => {
    const inner = Buffer.concat([Buffer.from([0x0a, id.length]), id, Buffer.from('\x12\x07Healthy', 'latin1')]);
    return Buffer.concat([Buffer.from([0x0a, inner.length]), inner]);
  };
  const answers: Record<string, Buffer | undefined> = {
    mute: undefined,
    nonsense: frame(Buffer.from('\xff\xff\xff nonsense', 'latin1')),
    huge: frame(Buffer.alloc(1000), 2 ** 31),
    text: frame(device(Buffer.from([0xff, 0xfe]))),
  };
  for (const [name, answer] of Object.entries(answers)) {
    const faulty = await startFaultyRuntime(t, { target: '/nonexistent/x.sock', socket: path(`${name}.sock`) });
    const speak = (stream: ServerHttp2Stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
      if (answer !== undefined) stream.write(answer);
    };
    faulty.fail(() => ({ type: 'raw', speak }));
  }
  const plugin = await newPlugin({ devices: four });
  for (const name of Object.keys(answers))
    await plugin.register({ endpoint: `${name}.sock`, resourceName: `example.com/${name}` });
  await plugin.register({ endpoint: '../../nonexistent.sock', resourceName: 'example.com/outside' });
  await plugin.register();
  await until('reported', () => agent.amount() === '4 of 4');
  const isGone = (name: string) => agent.devices.amounts().capacity[`example.com/${name}`] === '0';
  await until('the others end', () => ['nonsense', 'huge', 'text'].every(isGone));
  await agent.admit(podOf('one', { main: 1 }));
  t.equal(agent.ids('one'), 'a', 'the good plugin works');
  for (let i = 0; i < 256; i++) agent.devices.inventory.expect(`example.com/r${i}`, 0);
  const message = 'rpc error: code = Unknown desc = there are device plugins of 256 resources already';
  await t.rejects(
    plugin.register({ resourceName: 'example.com/more' }),
    { message },
    'the number of resources is bounded',
  );
});

t.test('random operations: nothing is given twice, ended pods free, the checkpoint is true', async (t) => {
  const { agent: newAgent, plugin: newPlugin, checkpoint } = await setUp(t);
  const seed = 20_263;
  const random = seededRandom(seed);
  const pick = (n: number) => Math.floor(random() * n);
  let agent = await newAgent();
  let plugin = await newPlugin();
  /** The slow reference: which devices there are, and which pod has which. */
  let healthy = new Set<string>();
  const pods = new Map<string, { pod: Pod; ids: Set<string> }>();
  const report = async () => {
    const devices = Array.from({ length: 3 + pick(6) }, (_, i) => ({ id: `d${i}`, isHealthy: random() < 0.8 }));
    healthy = new Set(devices.filter(({ isHealthy }) => isHealthy).map(({ id }) => id));
    plugin.report(devices);
    await until(
      'reported',
      () =>
        agent.amount() === `${healthy.size} of ${devices.length}` &&
        [...healthy].every((id) => agent.devices.inventory.healthy(gpu).has(id)),
    );
  };
  await plugin.register();
  await report();
  for (let step = 0; step < 80; step++) {
    const what = `seed ${seed}, step ${step}`;
    const action = pick(20);
    if (action < 11) {
      const uid = `pod-${step}`;
      const init = random() < 0.3 ? { init: 1 + pick(2) } : {};
      const pod = podOf(uid, { main: 1 + pick(2), ...(random() < 0.3 ? { side: 1 } : {}) }, init);
      if (random() < 0.1) plugin.refuse = (method) => (method === 'Allocate' ? 'broken' : undefined);
      const [used, refuses] = [
        [...pods.values()].flatMap(({ ids }) => [...ids]),
        plugin.refuse('Allocate') !== undefined,
      ];
      const free = [...healthy].filter((id) => !used.includes(id)).length;
      const sum = pod.spec.containers.reduce((n, { resources }) => n + Number(resources?.limits?.[gpu]), 0);
      const needed = Math.max(sum, init.init ?? 0);
      const error: unknown = await agent.admit(pod).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      plugin.refuse = () => undefined;
      t.equal(error === undefined, !refuses && needed <= free, `${what}: ${needed} of ${free}: ${String(error)}`);
      if (error === undefined)
        pods.set(uid, {
          pod,
          ids: new Set(
            ['init', 'main', 'side'].flatMap((name) => [...(agent.devices.assignments.devices(uid, name, gpu) ?? [])]),
          ),
        });
      const mine = pods.get(uid)?.ids ?? new Set<string>();
      t.ok(
        [...mine].every((id) => healthy.has(id) && !used.includes(id)),
        `${what}: free and healthy ones`,
      );
      if (error === undefined) t.equal(mine.size, needed, `${what}: as many as needed`);
    } else if (action < 16) for (const uid of [...pods.keys()].filter(() => random() < 0.4)) pods.delete(uid);
    else if (action < 18) await report();
    else if (action < 19) {
      await agent.plugins.stop();
      agent = await newAgent();
      for (const { pod } of pods.values()) await agent.admit(pod);
      await plugin.stop();
      plugin = await newPlugin();
      await plugin.register();
      await report();
    } else {
      await plugin.stop();
      await until('gone', () => agent.amount().startsWith('0 of'));
      plugin = await newPlugin();
      await plugin.register();
      await report();
    }
    agent.devices.retain((uid) => pods.has(uid));
    await agent.devices.save();
    const given = new Map<string, Set<string>>();
    for (const { podUID, devices } of (await checkpoint()).assignments)
      given.set(podUID, new Set([...(given.get(podUID) ?? []), ...idsOf(devices)]));
    const expected = [...pods].map(([uid, { ids }]) => `${uid} ${[...ids].sort().join()}`).sort();
    t.same(
      [...given].map(([uid, ids]) => `${uid} ${[...ids].sort().join()}`).sort(),
      expected,
      `${what}: the checkpoint`,
    );
  }
});
