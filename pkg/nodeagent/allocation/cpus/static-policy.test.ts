import t from 'tap';
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { cpuCheckpoint, readCPUCheckpoint } from '#nodeagent/allocation/cpus/cpu-checkpoint.js';
import { type CPUSet, difference, formatCPUs, isSubset, parseCPUs, union } from '#nodeagent/allocation/cpus/cpu-set.js';
import { CPUState } from '#nodeagent/allocation/cpus/cpu-state.js';
import { CPUTopology } from '#nodeagent/allocation/cpus/cpu-topology.js';
import { staticPolicyOptions } from '#nodeagent/allocation/cpus/policy-settings.js';
import { StaticCPUPolicy } from '#nodeagent/allocation/cpus/static-policy.js';
import { guaranteedPod } from '#nodeagent/allocation/testing/guaranteed-pod.js';
import { machine, randomMachine } from '#nodeagent/allocation/testing/machines.js';
import type { ResourceHints, TopologyHint } from '#nodeagent/allocation/topology/hint.js';
import { maskOf, nodeCount, nodesOf, subsets } from '#nodeagent/allocation/topology/numa-mask.js';
import type { MachineTopology } from '#nodeagent/node/topology.js';

const anyNodes: TopologyHint = { preferred: false };
/** CPUs 0-3 and 8-11 on node 0; 0 and 8 share a core. */
const twoNodes = machine({ sockets: 2, nodesPerSocket: 1, coresPerNode: 4, threads: 2 });

function newPolicy(topology: MachineTopology, reservedCPUs = '0', options: Readonly<Record<string, string>> = {}) {
  const reserved = parseCPUs(reservedCPUs);
  return new StaticCPUPolicy({
    topology: new CPUTopology(topology),
    options: staticPolicyOptions(options, { enabled: () => true }),
    reservedCount: reserved.size,
    reservedCPUs: reserved,
  });
}

function started(policy: StaticCPUPolicy): CPUState {
  const state = new CPUState();
  policy.start(state);
  return state;
}

const first = (pod: Pod): Container => pod.spec.containers[0] as Container;
const shown = (hints: ResourceHints) =>
  [...hints].map(
    ([name, list]) =>
      `${name}: ${list.map(({ nodes = 0n, preferred }) => `${nodesOf(nodes).join('')}${preferred ? '+' : ''}`).join(' ')}`,
  );

t.test('only whole CPUs of Guaranteed pods are exclusive', async (t) => {
  const policy = newPolicy(twoNodes);
  const burstable: Pod = {
    metadata: { uid: 'b' },
    spec: { containers: [{ name: 'main', image: 'app', resources: { requests: { cpu: '2' } } }] },
  };
  const rows: [string, Pod, string | undefined][] = [
    ['whole', guaranteedPod('a', ['2']), '1,9'],
    ['in milliCPUs', guaranteedPod('a', ['1000m']), '8'],
    ['a fraction', guaranteedPod('a', ['1500m']), undefined],
    ['Burstable', burstable, undefined],
    ['BestEffort', { metadata: { uid: 'e' }, spec: { containers: [{ name: 'main', image: 'app' }] } }, undefined],
  ];
  for (const [name, pod, expected] of rows) {
    const state = started(policy);
    policy.allocate(state, pod, first(pod), anyNodes);
    const cpus = state.of(pod.metadata.uid ?? '', first(pod).name);
    t.equal(cpus && formatCPUs(cpus), expected, name);
    const all = parseCPUs('0-15');
    t.equal(
      formatCPUs(state.shared),
      formatCPUs(difference(all, cpus ?? new Set())),
      `${name}: the others share the rest`,
    );
    const hints = policy.hints(state, { ...pod, metadata: { uid: 'other' } }, first(pod));
    t.equal(hints.size, expected === undefined ? 0 : 1, `${name}: hints`);
  }
});

t.test('reserved CPUs: named ones, or those of the first cores', async (t) => {
  const topology = new CPUTopology(twoNodes);
  const policyOf = (reservedCount: number, named = '') =>
    new StaticCPUPolicy({
      topology,
      options: { fullCores: false, distributed: false },
      reservedCount,
      reservedCPUs: parseCPUs(named),
    });
  t.equal(formatCPUs(policyOf(2).allocatable), '1-7,9-15');
  t.equal(formatCPUs(policyOf(2, '3,7').allocatable), '0-2,4-6,8-15');
  const problem = '(size of  did not equal 17)';
  const message = `[cpumanager] unable to reserve the required amount of CPUs ${problem}`;
  t.throws(() => policyOf(17), { message }, 'more than there are');
});

t.test('CPUs come from the nodes of the hint first', async (t) => {
  const rows: [string, number[], string][] = [
    ['2', [1], '4,12'],
    ['8', [0], '1-4,9-12'],
    ['8', [0, 1], '4-7,12-15'],
    ['2', [], '1,9'],
  ];
  for (const [cpu, nodes, expected] of rows) {
    const policy = newPolicy(twoNodes, '0,8');
    const state = started(policy);
    const pod = guaranteedPod('a', [cpu]);
    policy.allocate(state, pod, first(pod), nodes.length === 0 ? anyNodes : { nodes: maskOf(nodes), preferred: true });
    t.equal(formatCPUs(state.of('a', 'c0') ?? new Set()), expected, `${cpu} on ${nodes.join()}`);
  }
});

t.test('full-pcpus-only refuses parts of cores', async (t) => {
  const policy = newPolicy(twoNodes, '0,8', { 'full-pcpus-only': 'true' });
  const pod = guaranteedPod('a', ['3']);
  t.throws(() => policy.allocate(started(policy), pod, first(pod), anyNodes), {
    reason: 'SMTAlignmentError',
    message: 'SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2',
  });
});

t.test('init containers leave their CPUs to the next containers of the pod', async (t) => {
  const policy = newPolicy(twoNodes);
  const state = started(policy);
  const pod = guaranteedPod('a', ['2', '2'], ['4', '2']);
  for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers])
    policy.allocate(state, pod, container, anyNodes);
  const cpus = ['i0', 'i1', 'c0', 'c1'].map((name) => formatCPUs(state.of('a', name) ?? new Set()));
  t.same(cpus, ['1-2,9-10', '1,9', '1,9', '2,10']);
  t.equal(formatCPUs(state.shared), '0,3-8,11-15', 'the pod has four');
  state.release('a', 'i0');
  t.equal(formatCPUs(state.shared), '0,3-8,11-15', 'what other containers of the pod use stays theirs');
  for (const name of ['i1', 'c0', 'c1']) state.release('a', name);
  t.equal(formatCPUs(state.shared), '0-15');
});

t.test('hints', async (t) => {
  const policy = newPolicy(twoNodes, '0,8');
  const state = started(policy);
  const hintsOf = (uid: string, ...cpus: string[]) => {
    const pod = guaranteedPod(uid, cpus);
    return shown(policy.hints(state, pod, first(pod)));
  };
  t.same(hintsOf('a', '2'), ['cpu: 0+ 1+ 01']);
  t.same(hintsOf('a', '7'), ['cpu: 1+ 01'], 'node 0 has six');
  t.same(hintsOf('a', '9'), ['cpu: 01+'], 'no node has nine');
  t.same(hintsOf('a', '15'), ['cpu: '], 'too many');
  const pod = guaranteedPod('a', ['2']);
  policy.allocate(state, pod, first(pod), { nodes: maskOf([1]), preferred: true });
  t.same(hintsOf('a', '2'), ['cpu: 1+ 01'], 'where they are already');
  t.same(hintsOf('a', '3'), ['cpu: '], 'another number than it has fits nowhere');
  t.same(shown(policy.podHints(state, guaranteedPod('a', ['2', '2']))), ['cpu: 1+ 01'], 'with what it has');
  t.same(
    shown(policy.podHints(state, guaranteedPod('b', ['4', '3'], ['2']))),
    ['cpu: 01'],
    'the sum of the containers',
  );
  t.same(shown(policy.podHints(state, guaranteedPod('b', ['2'], ['9']))), ['cpu: 01+'], 'the largest init container');
});

t.test('a state that does not fit the machine is refused', async (t) => {
  const policy = newPolicy(twoNodes, '0,8');
  const stateOf = (shared: string, cpus?: string) =>
    new CPUState(
      parseCPUs(shared),
      cpus === undefined ? new Map() : new Map([['uid', new Map([['main', parseCPUs(cpus)]])]]),
    );
  t.doesNotThrow(() => policy.start(stateOf('0-3,8-15', '4-7')), 'a good one');
  const rows: [CPUState, string][] = [
    [stateOf('', '1'), 'default cpuset cannot be empty'],
    [stateOf('0-7'), 'not all reserved cpus: "0,8" are present in defaultCpuSet: "0-7"'],
    [stateOf('0-15', '1'), 'pod: uid, container: main cpuset: "1" overlaps with default cpuset "0-15"'],
    [stateOf('0-13'), 'current set of available CPUs "0-15" doesn\'t match with CPUs in state "0-13"'],
    [stateOf('0-15', '16'), 'current set of available CPUs "0-15" doesn\'t match with CPUs in state "0-16"'],
  ];
  for (const [state, message] of rows) t.throws(() => policy.start(state), { message }, message);
});

t.test('options of the policy have their gates', async (t) => {
  const refused: [Record<string, string>, string[], string][] = [
    [{ other: '1' }, ['Alpha', 'Beta'], 'unknown CPU Manager Policy option: "other"'],
    [
      { 'full-pcpus-only': 'true' },
      ['Alpha'],
      'CPU Manager Policy Beta-level Options not enabled, but option "full-pcpus-only" provided',
    ],
    [
      { 'distribute-cpus-across-numa': 'true' },
      ['Beta'],
      'CPU Manager Policy Alpha-level Options not enabled, but option "distribute-cpus-across-numa" provided',
    ],
    [
      { 'full-pcpus-only': 'yes' },
      ['Beta'],
      'bad value for option "full-pcpus-only": strconv.ParseBool: parsing "yes": invalid syntax',
    ],
  ];
  for (const [texts, stages, message] of refused) {
    const gates = { enabled: (name: string) => stages.some((stage) => name.includes(stage)) };
    t.throws(() => staticPolicyOptions(texts, gates), { message }, message);
  }
  t.same(staticPolicyOptions({ 'full-pcpus-only': 'T' }, { enabled: () => true }), {
    fullCores: true,
    distributed: false,
  });
});

/** Where so many CPUs fit, and how few nodes they need: by trying all sets of nodes. */
function slowHints(topology: CPUTopology, free: CPUSet, requested: number): string[] {
  const count = (cpus: CPUSet, nodes: readonly number[]) => topology.onNodes(cpus, nodes).size;
  const all = [...subsets(topology.nodes)].map(nodesOf);
  const fitting = all.filter((nodes) => count(topology.cpus, nodes) >= requested);
  const least = Math.min(topology.nodes.length, ...fitting.map((nodes) => nodes.length));
  const hints = all.filter((nodes) => count(free, nodes) >= requested);
  return [`cpu: ${hints.map((nodes) => `${nodes.join('')}${nodes.length === least ? '+' : ''}`).join(' ')}`];
}

t.test('random pods on random machines, with restarts: no CPU belongs to two, sizes are as requested', async (t) => {
  const random = seededRandom(38);
  const whole = (from: number, to: number) => from + Math.floor(random() * (to - from + 1));
  const wrong: string[] = [];
  let refusedCount = 0;
  for (let round = 0; round < 120; round++) {
    const topology = new CPUTopology(randomMachine(random));
    const options = { fullCores: random() < 0.3, distributed: random() < 0.4 };
    const input = { topology, options, reservedCount: 1, reservedCPUs: parseCPUs(random() < 0.5 ? '0' : '') };
    let policy = new StaticCPUPolicy(input);
    let state = started(policy);
    const pods = new Map<string, Pod>();
    for (let step = 0; step < 30; step++) {
      const roll = random();
      if (roll < 0.15) {
        // The next agent reads the checkpoint.
        const text = cpuCheckpoint('static', state);
        policy = new StaticCPUPolicy(input);
        state = await readCPUCheckpoint(text, 'static', () => Promise.resolve(new Map()));
        policy.start(state);
        for (const pod of pods.values()) admitAgain(policy, state, pod, wrong);
      } else if (roll < 0.45 && pods.size > 0) {
        const [uid, pod] = [...pods][whole(0, pods.size - 1)] as [string, Pod];
        pods.delete(uid);
        for (const { name } of containersOf(pod)) state.release(uid, name);
      } else {
        const amounts = (most: number) => Array.from({ length: whole(0, most) }, () => String(whole(1, 4)));
        const pod = guaranteedPod(`${round}-${step}`, [String(whole(1, 4)), ...amounts(2)], amounts(2));
        if (!admit(policy, state, { pod, topology, random, wrong })) refusedCount++;
        else pods.set(pod.metadata.uid ?? '', pod);
      }
      wrong.push(...faults(state, policy, { topology, pods: [...pods.values()] }));
    }
  }
  t.same(wrong.slice(0, 5), []);
  t.ok(refusedCount > 20, `${refusedCount} pods did not fit`);
});

interface AdmitInput {
  readonly pod: Pod;
  readonly topology: CPUTopology;
  readonly random: () => number;
  readonly wrong: string[];
}

/** Frees everything if one container gets nothing. */
function admit(policy: StaticCPUPolicy, state: CPUState, { pod, topology, random, wrong }: AdmitInput): boolean {
  const { uid = '' } = pod.metadata;
  try {
    for (const container of containersOf(pod)) {
      const hints = policy.hints(state, pod, container);
      const requested = Number(container.resources?.requests?.['cpu']);
      if (pod.spec.initContainers?.length === 0) {
        const free = difference(state.shared, difference(topology.cpus, policy.allocatable));
        const [fast, slow] = [shown(hints).join(), slowHints(topology, free, requested).join()];
        if (fast !== slow) wrong.push(`${requested} of ${formatCPUs(free)}: ${fast}, not ${slow}`);
      }
      const list = hints.get('cpu') ?? [];
      const hint = list[Math.floor(random() * list.length)];
      policy.allocate(state, pod, container, hint ?? anyNodes);
      const cpus = state.of(uid, container.name) ?? new Set();
      const nodes = new Set([...cpus].map((cpu) => topology.place(cpu).node));
      if (hint?.nodes !== undefined && nodes.size > nodeCount(hint.nodes))
        wrong.push(`${container.name}: not on the nodes of the hint`);
    }
    return true;
  } catch {
    for (const { name } of containersOf(pod)) state.release(uid, name);
    return false;
  }
}

function admitAgain(policy: StaticCPUPolicy, state: CPUState, pod: Pod, wrong: string[]): void {
  const before = cpuCheckpoint('static', state);
  for (const container of containersOf(pod)) policy.allocate(state, pod, container, anyNodes);
  if (cpuCheckpoint('static', state) !== before) wrong.push('a restart changes the assignment');
}

const containersOf = ({ spec }: Pod): Container[] => [...(spec.initContainers ?? []), ...spec.containers];

function faults(
  state: CPUState,
  policy: StaticCPUPolicy,
  { topology, pods }: { readonly topology: CPUTopology; readonly pods: readonly Pod[] },
): string[] {
  const faulty: string[] = [];
  const owner = new Map<number, string>();
  for (const pod of pods) {
    const { uid = '' } = pod.metadata;
    const own = (container: Container) => state.of(uid, container.name) ?? new Set<number>();
    for (const container of containersOf(pod)) {
      if (own(container).size !== Number(container.resources?.requests?.['cpu'])) faulty.push(`${uid}: wrong size`);
      if (!isSubset(own(container), policy.allocatable)) faulty.push(`${uid}: reserved CPUs`);
      for (const cpu of own(container)) {
        if (owner.has(cpu) && owner.get(cpu) !== uid) faulty.push(`CPU ${cpu} belongs to two pods`);
        owner.set(cpu, uid);
      }
    }
    const together = pod.spec.containers.map(own);
    if (union(...together).size !== together.reduce((sum, cpus) => sum + cpus.size, 0))
      faulty.push(`${uid}: two containers share a CPU`);
  }
  const shared = difference(topology.cpus, new Set(owner.keys()));
  if (formatCPUs(shared) !== formatCPUs(state.shared)) faulty.push(`shared ${formatCPUs(state.shared)}`);
  return faulty;
}
