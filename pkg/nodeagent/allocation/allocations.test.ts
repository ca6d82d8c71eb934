import t from 'tap';
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { Allocations } from '#nodeagent/allocation/allocations.js';
import { AllocationError, type AllocationProvider } from '#nodeagent/allocation/provider.js';
import type { TopologyPolicy } from '#nodeagent/allocation/topology/alignment.js';
import type { TopologyHint } from '#nodeagent/allocation/topology/hint.js';
import { maskOf, nodesOf } from '#nodeagent/allocation/topology/numa-mask.js';
import { TopologyManager, type TopologyScope } from '#nodeagent/allocation/topology-manager.js';

function pod(uid: string, containers: readonly string[] = ['main'], initContainers: readonly string[] = []): Pod {
  const named = (name: string): Container => ({ name, image: 'app' });
  return {
    metadata: { uid, name: uid, namespace: 'default' },
    spec: { containers: containers.map(named), initContainers: initContainers.map(named) },
  };
}

/** Holds one thing per container, and tells what happens. */
class RecordingProvider implements AllocationProvider {
  readonly calls: string[] = [];
  readonly held = new Set<string>();
  hint: TopologyHint | undefined;
  failure: Error | undefined;

  hints(pod: Pod, container: Container) {
    this.calls.push(`hints ${pod.metadata.uid} ${container.name}`);
    return new Map([['thing', this.hint === undefined ? [] : [this.hint]]]);
  }

  podHints(pod: Pod) {
    this.calls.push(`hints ${pod.metadata.uid}`);
    return new Map([['thing', this.hint === undefined ? [] : [this.hint]]]);
  }

  async allocate(pod: Pod, container: Container, { nodes }: TopologyHint) {
    const at = nodes === undefined ? '' : ` on ${nodesOf(nodes).join()}`;
    this.calls.push(`allocate ${pod.metadata.uid} ${container.name}${at}`);
    await new Promise((resolve) => setImmediate(resolve));
    if (this.failure !== undefined) throw this.failure;
    this.held.add(`${pod.metadata.uid} ${container.name}`);
  }

  retain(isActive: (uid: string, container: string) => boolean) {
    for (const key of this.held) {
      const [uid = '', name = ''] = key.split(' ');
      if (!isActive(uid, name)) this.held.delete(key);
    }
  }

  configure() {
    return {};
  }
}

interface Setup {
  readonly policy?: TopologyPolicy;
  readonly scope?: TopologyScope;
  readonly providers?: readonly AllocationProvider[];
  readonly active?: () => readonly Pod[];
  readonly running?: () => readonly string[];
  readonly sourcesReady?: () => boolean;
}

function newAllocations({
  policy = 'none',
  scope = 'container',
  providers = [],
  active = () => [],
  running = () => [],
  sourcesReady = () => true,
}: Setup): Allocations {
  const topology = new TopologyManager({ policy, scope, nodes: [0, 1] });
  return new Allocations({ topology, providers, activePods: active, runningPods: running, sourcesReady });
}

t.test('providers allocate for all containers, init containers first, one pod after the other', async (t) => {
  const [first, second] = [new RecordingProvider(), new RecordingProvider()];
  second.calls.push = (...calls) => first.calls.push(...calls.map((call) => `second: ${call}`));
  const active = [pod('a', ['main'], ['init']), pod('b')];
  const allocations = newAllocations({ providers: [first, second], active: () => active });
  const results = await Promise.all(active.map((each) => allocations.admit(each)));
  t.same(results, [undefined, undefined], 'both are admitted');
  t.same(first.calls, [
    ...['allocate a init', 'second: allocate a init', 'allocate a main', 'second: allocate a main'],
    ...['allocate b main', 'second: allocate b main'],
  ]);
  await allocations.admit(active[0] as Pod);
  t.equal(first.calls.length, 6, 'a pod is allocated for only once');
});

t.test('hints are merged for each container, or once for the pod', async (t) => {
  for (const [scope, calls] of [
    ['container', ['hints a x', 'allocate a x on 1', 'hints a y', 'allocate a y on 1']],
    ['pod', ['hints a', 'allocate a x on 1', 'allocate a y on 1']],
  ] as const) {
    const provider = new RecordingProvider();
    provider.hint = { nodes: maskOf([1]), preferred: true };
    const allocations = newAllocations({ policy: 'restricted', scope, providers: [provider] });
    t.equal(await allocations.admit(pod('a', ['x', 'y'])), undefined, scope);
    t.same(provider.calls, calls, scope);
  }
});

t.test("refusals have 1.24's reasons and messages, and hold nothing", async (t) => {
  const rows: [string, Setup, Error | undefined, object][] = [
    [
      'no alignment',
      { policy: 'restricted' },
      undefined,
      { reason: 'TopologyAffinityError', message: 'Resources cannot be allocated with Topology locality' },
    ],
    [
      'an error with a reason',
      {},
      new AllocationError('SMTAlignmentError', 'SMT Alignment Error: …'),
      { reason: 'SMTAlignmentError', message: 'SMT Alignment Error: …' },
    ],
    [
      'another error',
      {},
      new Error('not enough cpus available to satisfy request'),
      {
        reason: 'UnexpectedAdmissionError',
        message: 'Allocate failed due to not enough cpus available to satisfy request, which is unexpected',
      },
    ],
  ];
  for (const [name, setup, failure, refusal] of rows) {
    const [first, second] = [new RecordingProvider(), new RecordingProvider()];
    if (failure !== undefined) second.failure = failure;
    const refused = pod('refused');
    const allocations = newAllocations({ ...setup, providers: [first, second], active: () => [refused] });
    t.same(await allocations.admit(refused), refusal, name);
    allocations.retainActive();
    t.same([...first.held], [], `${name}: freed although the pod is not reported as failed yet`);
  }
});

t.test('what ended pods held is free once all sources are complete', async (t) => {
  const provider = new RecordingProvider();
  let active = [pod('a'), pod('b'), pod('c')];
  let isReady = false;
  let running: string[] = [];
  const allocations = newAllocations({
    providers: [provider],
    active: () => active,
    running: () => running,
    sourcesReady: () => isReady,
  });
  for (const each of active) await allocations.admit(each);
  allocations.withdraw('b');
  active = active.slice(1);
  running = ['a'];
  allocations.retainActive();
  t.same([...provider.held], ['a main', 'b main', 'c main'], 'not before');
  isReady = true;
  allocations.retainActive();
  t.same([...provider.held], ['a main', 'c main'], 'a withdrawn pod is freed, a lost one that runs is not');
  running = [];
  await allocations.admit(pod('new'));
  t.same([...provider.held], ['c main', 'new main'], 'the pod that is being admitted is active');
  allocations.forget('a');
  t.equal(await allocations.admit(pod('a')), undefined, 'a forgotten pod is allocated for again');
});

t.test('the parts of a configuration come in the order of the providers', async (t) => {
  const part = (n: number): AllocationProvider => ({
    ...new RecordingProvider(),
    hints: () => new Map(),
    podHints: () => new Map(),
    allocate: () => undefined,
    retain: () => undefined,
    configure: async () => ({
      ...(n === 1 ? { cpus: '0-1' } : { memoryNodes: '0' }),
      devices: [{ containerPath: `/dev/${n}`, hostPath: `/dev/${n}`, permissions: 'rw' }],
      environment: new Map([[`N${n}`, String(n)]]),
      annotations: { [`n${n}`]: String(n), last: String(n) },
    }),
  });
  const allocations = newAllocations({ providers: [part(1), part(2)] });
  const { devices, environment, ...rest } = await allocations.configure(pod('a'), { name: 'main' });
  t.same(
    devices?.map(({ hostPath }) => hostPath),
    ['/dev/1', '/dev/2'],
  );
  t.same(
    [...(environment ?? [])],
    [
      ['N1', '1'],
      ['N2', '2'],
    ],
  );
  t.same(rest, { cpus: '0-1', memoryNodes: '0', mounts: [], annotations: { n1: '1', n2: '2', last: '2' } });
});

t.test('what a pod was given counts as allocatable, even if the node advertises less', async (t) => {
  const provider = new RecordingProvider();
  const inUse = new Map([['example.com/gpu', 3]]);
  const allocations = newAllocations({
    providers: [
      Object.assign(provider, { inUse: (uid: string) => (uid === 'has' ? inUse : new Map<string, number>()) }),
    ],
  });
  const rows: [name: string, uid: string, advertised: string | undefined, sufficient: string | undefined][] = [
    ['too little', 'has', '1', '3'],
    ['nothing, since its plugin is gone', 'has', undefined, '3'],
    ['enough', 'has', '4', '4'],
    ['too little, for a pod without devices', 'none', '1', '1'],
  ];
  for (const [name, uid, advertised, sufficient] of rows) {
    const allocatable = advertised === undefined ? { cpu: '2' } : { cpu: '2', 'example.com/gpu': advertised };
    const { cpu, 'example.com/gpu': gpus } = allocations.sufficient(uid, allocatable) as Record<string, string>;
    t.same([cpu, gpus], ['2', sufficient], name);
  }
});

t.test('policies need at most eight NUMA nodes', async (t) => {
  const nodes = Array.from({ length: 9 }, (_, i) => i);
  t.ok(new TopologyManager({ policy: 'none', scope: 'pod', nodes }), 'except none');
  for (const policy of ['best-effort', 'restricted', 'single-numa-node'] as const) {
    const message = 'unsupported on machines with more than 8 NUMA Nodes';
    t.throws(() => new TopologyManager({ policy, scope: 'pod', nodes }), { message }, policy);
  }
});
