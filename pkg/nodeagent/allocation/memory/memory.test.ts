import t from 'tap';
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { memoryCheckpoint, readMemoryCheckpoint } from '#nodeagent/allocation/memory/memory-checkpoint.js';
import { MemoryState, type NodeMemory } from '#nodeagent/allocation/memory/memory-state.js';
import { parseReservation, reservedMemory } from '#nodeagent/allocation/memory/reserved-memory.js';
import { StaticMemoryPolicy } from '#nodeagent/allocation/memory/static-memory-policy.js';
import { guaranteedPod } from '#nodeagent/allocation/testing/guaranteed-pod.js';
import { machine, randomMachine } from '#nodeagent/allocation/testing/machines.js';
import type { ResourceHints, TopologyHint } from '#nodeagent/allocation/topology/hint.js';
import { maskOf, nodesOf } from '#nodeagent/allocation/topology/numa-mask.js';
import type { MachineTopology } from '#nodeagent/node/topology.js';

const gibibyte = 2 ** 30;
const anyNodes: TopologyHint = { preferred: false };
/** 16 GiB on each of two nodes, 4 of them in huge pages. */
const twoNodes = machine({
  ...{ sockets: 2, nodesPerSocket: 1, coresPerNode: 2, threads: 1 },
  hugePages: { [2 ** 21]: 4 * gibibyte },
});

const reserve = (bytes: number) => new Map([[0, new Map([['memory', bytes]])]]);

function newPolicy(topology: MachineTopology = twoNodes): StaticMemoryPolicy {
  return new StaticMemoryPolicy(topology, reserve(gibibyte));
}

function started(policy: StaticMemoryPolicy): MemoryState {
  const state = new MemoryState();
  policy.start(state);
  return state;
}

/** One container of `c0` that requests so much. */
const podWith = (uid: string, memory: string, pages?: string): Pod =>
  guaranteedPod(uid, ['1'], [], () => ({ memory, ...(pages === undefined ? {} : { 'hugepages-2Mi': pages }) }));

const first = (pod: Pod): Container => pod.spec.containers[0] as Container;
const shown = (hints: ResourceHints) =>
  [...hints].map(
    ([name, list]) =>
      `${name}: ${list.map(({ nodes = 0n, preferred }) => `${nodesOf(nodes).join('')}${preferred ? '+' : ''}`).join(' ')}`,
  );
const free = (state: MemoryState, id: number, type = 'memory') =>
  (state.nodes.get(id)?.tables.get(type)?.free ?? 0) / gibibyte;

t.test('an idle machine: what is reserved or in huge pages is no memory of containers', async (t) => {
  const policy = newPolicy();
  const state = started(policy);
  t.same(
    [0, 1].map((id) => [free(state, id), free(state, id, 'hugepages-2Mi')]),
    [
      [11, 4],
      [12, 4],
    ],
  );
  t.same(policy.allocatable, [
    { nodes: [0], type: 'hugepages-2Mi', size: 4 * gibibyte },
    { nodes: [0], type: 'memory', size: 11 * gibibyte },
    { nodes: [1], type: 'hugepages-2Mi', size: 4 * gibibyte },
    { nodes: [1], type: 'memory', size: 12 * gibibyte },
  ]);
  const message = '[memorymanager] you should specify the system reserved memory';
  t.throws(() => new StaticMemoryPolicy(twoNodes, new Map()), { message });
});

t.test('hints, and what pods in use leave', async (t) => {
  const policy = newPolicy();
  const state = started(policy);
  const hintsOf = (pod: Pod) => shown(policy.hints(state, pod, first(pod)));
  t.same(hintsOf(podWith('a', '2Gi')), ['memory: 0+ 1+ 01']);
  t.same(hintsOf(podWith('a', '12Gi')), ['memory: 1+ 01']);
  t.same(hintsOf(podWith('a', '13Gi')), ['memory: 01+'], 'no node has as much');
  t.same(hintsOf(podWith('a', '24Gi')), [], 'nowhere: no preference, and the allocation fails');
  t.same(hintsOf(podWith('a', '2Gi', '5Gi')), ['hugepages-2Mi: 01+', 'memory: 01+'], 'both kinds on the same nodes');
  t.same(
    shown(
      policy.hints(state, { ...podWith('a', '2Gi'), status: { qosClass: 'Burstable' } }, first(podWith('a', '2Gi'))),
    ),
    [],
  );
  const single = podWith('single', '1Gi');
  policy.allocate(state, single, first(single), { nodes: maskOf([0]), preferred: true });
  t.same(hintsOf(podWith('b', '2Gi')), ['memory: 0+ 1+'], 'a node with single allocations stays single');
  t.same(hintsOf(single), ['memory: 0+'], 'where it is already');
  t.same(hintsOf(podWith('single', '2Gi')), [], 'another amount than it has');
  state.release('single', 'c0');
  const wide = podWith('wide', '13Gi');
  policy.allocate(state, wide, first(wide), anyNodes);
  t.same(hintsOf(podWith('b', '2Gi')), ['memory: 01'], 'a group in use stays a group');
  t.same([free(state, 0), free(state, 1)], [0, 10], 'the first nodes first');
});

t.test('allocation without, with and beyond the merged hint', async (t) => {
  const rows: [string, Pod, TopologyHint, number[] | string][] = [
    ['no hint: the best of its own', podWith('a', '2Gi'), anyNodes, [0]],
    ['the merged hint', podWith('a', '2Gi'), { nodes: maskOf([1]), preferred: true }, [1]],
    ['a hint that is too small grows', podWith('a', '13Gi'), { nodes: maskOf([1]), preferred: false }, [0, 1]],
    [
      'nowhere',
      podWith('a', '24Gi'),
      anyNodes,
      '[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available',
    ],
    [
      'nowhere around the hint',
      podWith('a', '24Gi'),
      { nodes: maskOf([0]), preferred: true },
      '[memorymanager] failed to find NUMA nodes to extend the current topology hint',
    ],
    ['a part of a byte', podWith('a', '1500m'), anyNodes, '[memorymanager] failed to represent quantity as int64'],
  ];
  for (const [name, pod, hint, expected] of rows) {
    const policy = newPolicy();
    const state = started(policy);
    const allocate = () => policy.allocate(state, pod, first(pod), hint);
    if (typeof expected === 'string') t.throws(allocate, { message: expected }, name);
    else {
      t.ok(allocate(), name);
      t.same(
        state.blocks('a', 'c0')?.map(({ nodes }) => nodes),
        [expected],
        name,
      );
      t.notOk(allocate(), `${name}: a second time changes nothing`);
    }
  }
  const policy = newPolicy();
  const state = started(policy);
  const single = podWith('single', '11Gi');
  policy.allocate(state, single, first(single), { nodes: maskOf([0]), preferred: true });
  const next = podWith('next', '2Gi');
  const message = '[memorymanager] failed to find NUMA nodes to extend the current topology hint';
  t.throws(() => policy.allocate(state, next, first(next), { nodes: maskOf([0]), preferred: true }), { message });
});

t.test('init containers leave their memory to the next containers of the pod', async (t) => {
  const policy = newPolicy();
  const state = started(policy);
  const pod = guaranteedPod('a', ['1', '1'], ['1'], (name) => ({ memory: name === 'i0' ? '4Gi' : '3Gi' }));
  for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers])
    policy.allocate(state, pod, container, { nodes: maskOf([0]), preferred: true });
  const sizes = ['i0', 'c0', 'c1'].map((name) => state.blocks('a', name)?.[0]?.size);
  t.same(sizes, [0, 3 * gibibyte, 3 * gibibyte]);
  t.equal(free(state, 0), 5, 'the pod has six');
  const text = memoryCheckpoint('Static', state);
  t.doesNotThrow(() => policy.start(readMemoryCheckpoint(text, 'Static')), 'the sum fits the next start');
  for (const name of ['i0', 'c0', 'c1']) state.release('a', name);
  t.equal(free(state, 0), 11);
  t.same(state.nodes.get(0)?.assignments, 0);
});

t.test('a reservation must be that of the node', async (t) => {
  const total = new Map([['memory', '1124Mi']]);
  const rows: [string[], ReadonlyMap<string, string>, string][] = [
    [
      ['5:memory=1Gi'],
      total,
      'the reserved memory configuration references a NUMA node 5 that does not exist on this machine',
    ],
    [
      ['0:memory=1Gi'],
      total,
      'the total amount "1Gi" of type "memory" is not equal to the value "1124Mi" determined by Node Allocatable feature',
    ],
    [
      ['0:memory=1124Mi,hugepages-2Mi=2Mi'],
      total,
      'the total amount "2Mi" of type "hugepages-2Mi" is not equal to the value "0" determined by Node Allocatable feature',
    ],
    [
      [],
      total,
      'the total amount "0" of type "memory" is not equal to the value "1124Mi" determined by Node Allocatable feature',
    ],
  ];
  for (const [texts, sums, message] of rows) {
    const input = { reservations: texts.map(parseReservation), nodes: [0, 1], total: sums };
    t.throws(() => reservedMemory(input), { message }, texts.join(' '));
  }
  const reservations = ['0:memory=1Gi', '1:memory=100Mi'].map(parseReservation);
  t.same(
    reservedMemory({ reservations, nodes: [0, 1], total })
      .get(1)
      ?.get('memory'),
    100 * 2 ** 20,
  );
});

/** As release 1.24 writes them. */
const none = '{"policyName":"None","machineState":{},"checksum":4236770233}';
const assigned =
  '{"policyName":"Static","machineState":{"0":{"numberOfAssignments":2,"memoryMap":{"hugepages-1Gi":{"total":1,"systemReserved":2,"allocatable":3,"reserved":4,"free":5},"memory":{"total":34359738368,"systemReserved":1073741824,"allocatable":33285996544,"reserved":1,"free":2}},"cells":[0,1]},"10":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":1024,"systemReserved":0,"allocatable":1024,"reserved":0,"free":1024}},"cells":[10]},"2":{"numberOfAssignments":0,"memoryMap":{},"cells":[]}},"entries":{"uid-b":{"a":[],"main":[{"numaAffinity":[0,1],"type":"memory","size":5},{"numaAffinity":[0,1],"type":"hugepages-1Gi","size":6}]}},"checksum":3172951603}';

t.test("1.24's files are read, and written to the letter", async (t) => {
  t.equal(memoryCheckpoint('None', readMemoryCheckpoint(none, 'None')), none);
  t.equal(memoryCheckpoint('Static', readMemoryCheckpoint(assigned, 'Static')), assigned);
  const rows: [string, string, string][] = [
    ['a changed size', assigned.replace('"size":5', '"size":7'), 'checkpoint is corrupted'],
    ['another policy', none, '[memorymanager] configured policy "Static" differs from state checkpoint policy "None"'],
    ['no checksum', none.replace(',"checksum":4236770233', ''), 'checkpoint is corrupted'],
    [
      'a list',
      none.replace('{}', '[1]'),
      'json: cannot unmarshal array into Go struct field MemoryManagerCheckpoint.machineState',
    ],
  ];
  for (const [name, text, message] of rows) t.throws(() => readMemoryCheckpoint(text, 'Static'), { message }, name);
});

t.test('a state that does not fit the machine is refused', async (t) => {
  const block = (nodes: number[], type: string) => new Map([['uid', new Map([['main', [{ nodes, type, size: 1 }]]])]]);
  const idle = () => started(newPolicy()).nodes;
  const less = (): ReadonlyMap<number, NodeMemory> =>
    started(new StaticMemoryPolicy(twoNodes, reserve(2 * gibibyte))).nodes;
  const where = '[memorymanager] (pod: uid, container: main) the memory assignment uses';
  const rows: [MemoryState, string][] = [
    [
      new MemoryState(new Map(), block([0], 'memory')),
      '[memorymanager] machine state can not be empty when it has memory assignments',
    ],
    [new MemoryState(idle(), block([7], 'memory')), `${where} the NUMA that does not exist`],
    [new MemoryState(idle(), block([0], 'hugepages-1Gi')), `${where} memory resource that does not exist`],
    [
      new MemoryState(idle(), block([0], 'memory')),
      '[memorymanager] the expected machine state is different from the real one',
    ],
    [new MemoryState(less()), '[memorymanager] the expected machine state is different from the real one'],
  ];
  for (const [state, message] of rows) t.throws(() => newPolicy().start(state), { message }, message);
  t.doesNotThrow(() => newPolicy().start(new MemoryState(idle())), 'an idle one');
});

t.test(
  'random pods on random machines, with restarts: sums are true, and groups of nodes do not overlap',
  async (t) => {
    const random = seededRandom(24);
    const whole = (from: number, to: number) => from + Math.floor(random() * (to - from + 1));
    const wrong: string[] = [];
    let refusedCount = 0;
    for (let round = 0; round < 100; round++) {
      const topology = randomMachine(random);
      let policy = newPolicy(topology);
      let state = started(policy);
      const pods = new Map<string, Pod>();
      const release = (pod: Pod) => {
        for (const { name } of containersOf(pod)) state.release(pod.metadata.uid ?? '', name);
      };
      for (let step = 0; step < 30; step++) {
        const roll = random();
        if (roll < 0.15) {
          policy = newPolicy(topology);
          state = readMemoryCheckpoint(memoryCheckpoint('Static', state), 'Static');
          try {
            policy.start(state);
          } catch (error) {
            wrong.push(String(error));
          }
        } else if (roll < 0.45 && pods.size > 0) {
          const [uid, pod] = [...pods][whole(0, pods.size - 1)] as [string, Pod];
          pods.delete(uid);
          release(pod);
        } else {
          const pod = guaranteedPod(
            `${round}-${step}`,
            ['1', '1'].slice(0, whole(1, 2)),
            ['1'].slice(0, whole(0, 1)),
            () => ({
              memory: `${whole(1, 20)}Gi`,
              ...(random() < 0.3 ? { 'hugepages-2Mi': '1Gi' } : {}),
            }),
          );
          try {
            for (const container of containersOf(pod)) policy.allocate(state, pod, container, anyNodes);
            pods.set(pod.metadata.uid ?? '', pod);
          } catch {
            refusedCount++;
            release(pod);
          }
        }
        wrong.push(...faults(state, [...pods.values()]));
      }
      for (const pod of pods.values()) release(pod);
      for (const [id, { assignments, tables, cells }] of state.nodes) {
        const isIdle = [...tables.values()].every(
          ({ reserved, free: rest, allocatable }) => reserved === 0 && rest === allocatable,
        );
        if (assignments !== 0 || !isIdle || cells.length !== 1) wrong.push(`node ${id} is not idle at the end`);
      }
    }
    t.same(wrong.slice(0, 5), []);
    t.ok(refusedCount > 20, `${refusedCount} pods did not fit`);
  },
);

const containersOf = ({ spec }: Pod): Container[] => [...(spec.initContainers ?? []), ...spec.containers];

function faults(state: MemoryState, pods: readonly Pod[]): string[] {
  const faulty: string[] = [];
  for (const [id, { tables, cells }] of state.nodes) {
    for (const [type, { allocatable, reserved, free: rest }] of tables) {
      if (reserved < 0 || rest < 0 || reserved + rest !== allocatable)
        faulty.push(`node ${id}: ${type} does not add up`);
    }
    for (const other of cells) {
      if (!(state.nodes.get(other)?.cells ?? []).includes(id))
        faulty.push(`${id} and ${other} are in different groups`);
    }
  }
  const sum = (type: string) =>
    [...state.nodes.values()].reduce((all, { tables }) => all + (tables.get(type)?.reserved ?? 0), 0);
  const blocks = pods.flatMap((pod) =>
    containersOf(pod).flatMap(({ name }) => state.blocks(pod.metadata.uid ?? '', name) ?? []),
  );
  for (const type of ['memory', 'hugepages-2Mi']) {
    const total = blocks.reduce((all, block) => all + (block.type === type ? block.size : 0), 0);
    if (total !== sum(type)) faulty.push(`${type}: ${total} assigned, ${sum(type)} reserved`);
  }
  return faulty;
}
