import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { type CPUSet, formatCPUs, isSubset, parseCPUs } from '#nodeagent/allocation/cpus/cpu-set.js';
import { CPUTopology } from '#nodeagent/allocation/cpus/cpu-topology.js';
import { takeDistributed } from '#nodeagent/allocation/cpus/take-distributed.js';
import { takePacked } from '#nodeagent/allocation/cpus/take-packed.js';
import { machine, randomMachine } from '#nodeagent/allocation/testing/machines.js';

const shapes = {
  /** 1.24's single socket with threads: 0,4 share a core. */
  single: { sockets: 1, nodesPerSocket: 1, coresPerNode: 4, threads: 2 },
  dualThreads: { sockets: 2, nodesPerSocket: 1, coresPerNode: 3, threads: 2 },
  dualPlain: { sockets: 2, nodesPerSocket: 1, coresPerNode: 4, threads: 1 },
  fourNodes: { sockets: 2, nodesPerSocket: 2, coresPerNode: 4, threads: 2 },
  eightSockets: { sockets: 8, nodesPerSocket: 1, coresPerNode: 2, threads: 2 },
  /** The second processor of core 0 is offline. */
  uneven: { sockets: 2, nodesPerSocket: 1, coresPerNode: 2, threads: 2, offline: [4] },
} as const;

type Row = readonly [shape: keyof typeof shapes, available: string, count: number, expected: string];

const topologyOf = (shape: keyof typeof shapes) => new CPUTopology(machine(shapes[shape]));

t.test('whole nodes, sockets and cores are taken before single processors', async (t) => {
  const rows: Row[] = [
    ['single', '0-7', 1, '0'],
    ['single', '0-7', 2, '0,4'],
    ['single', '0-7', 3, '0-1,4'],
    ['single', '1-3,5-7', 1, '1'],
    // A core in use is filled first.
    ['single', '1-7', 1, '4'],
    ['single', '1-7', 2, '1,5'],
    ['single', '1-7', 3, '1,4-5'],
    ['single', '0-7', 8, '0-7'],
    ['dualThreads', '0-11', 6, '0-2,6-8'],
    ['dualThreads', '0-11', 8, '0-3,6-9'],
    ['dualThreads', '1-11', 6, '3-5,9-11'],
    ['dualThreads', '1-11', 5, '1-2,6-8'],
    ['dualThreads', '0,3-5,9-11', 7, '0,3-5,9-11'],
    ['dualPlain', '0-7', 5, '0-4'],
    ['dualPlain', '1-7', 4, '4-7'],
    ['dualPlain', '1-7', 2, '1-2'],
    ['fourNodes', '0-31', 16, '0-7,16-23'],
    ['fourNodes', '0-31', 8, '0-3,16-19'],
    ['fourNodes', '1-31', 8, '4-7,20-23'],
    ['eightSockets', '0-31', 4, '0-1,16-17'],
    ['eightSockets', '1-31', 5, '2-3,16,18-19'],
    // A core with one processor online counts as whole.
    ['uneven', '0-3,5-7', 1, '0'],
    ['uneven', '1-3,5-7', 1, '1'],
    ['uneven', '0-3,5-7', 3, '0-1,5'],
  ];
  for (const [shape, available, count, expected] of rows) {
    const cpus = takePacked(topologyOf(shape), parseCPUs(available), count);
    t.equal(formatCPUs(cpus), expected, `${shape}: ${count} of ${available}`);
  }
  const message = 'not enough cpus available to satisfy request';
  t.throws(() => takePacked(topologyOf('single'), parseCPUs('1-3'), 4), { message }, 'too few');
  t.same([...takePacked(topologyOf('single'), parseCPUs('1-3'), 0)], [], 'none');
});

t.test('an even share of each NUMA node if one is not enough', async (t) => {
  const rows: (readonly [...Row, groupSize: number])[] = [
    ['dualPlain', '0-7', 4, '0-3', 1],
    ['dualPlain', '0-7', 6, '0-2,4-6', 1],
    ['dualPlain', '1-7', 6, '1-3,4-6', 1],
    // Too few for an even share: packed.
    ['dualPlain', '3-7', 5, '3-7', 1],
    ['dualThreads', '0-11', 8, '0-1,3-4,6-7,9-10', 2],
    ['dualThreads', '0-11', 10, '0-4,6-10', 2],
    ['fourNodes', '0-31', 8, '0-3,16-19', 1],
    ['fourNodes', '0-31', 12, '0-2,4-6,16-18,20-22', 2],
    ['fourNodes', '0-31', 24, '0-11,16-27', 2],
    // Not a multiple of a core: packed.
    ['dualThreads', '0-11', 7, '0-3,6-8', 2],
    // The rest comes from the nodes that are left with the most.
    ['dualPlain', '0-3,6-7', 5, '0-2,6-7', 1],
  ];
  for (const [shape, available, count, expected, groupSize] of rows) {
    const cpus = takeDistributed(topologyOf(shape), parseCPUs(available), { count, groupSize });
    t.equal(formatCPUs(cpus), formatCPUs(parseCPUs(expected)), `${shape}: ${count} of ${available} by ${groupSize}`);
  }
});

/** Takes what 1.24 takes on machines whose cores, sockets and nodes are all of one size, step by step. */
function slowPacked(topology: CPUTopology, available: CPUSet, count: number): CPUSet {
  const chosen = new Set<number>();
  const free = () => [...available].filter((cpu) => !chosen.has(cpu)).sort((a, b) => a - b);
  const levels =
    topology.socketCount >= topology.nodes.length ? (['node', 'socket'] as const) : (['socket', 'node'] as const);
  const inside = (level: 'core' | 'socket' | 'node', id: number) =>
    free().filter((cpu) => topology.place(cpu)[level] === id);
  const order = (level: 'core' | 'socket' | 'node', cpus: readonly number[]) =>
    [...new Set(cpus.map((cpu) => topology.place(cpu)[level]))].sort(
      (a, b) => inside(level, a).length - inside(level, b).length || a - b,
    );
  const large = () => order(levels[0], free());
  const middle = () => large().flatMap((id) => order(levels[1], inside(levels[0], id)));
  const cores = () => middle().flatMap((id) => order('core', inside(levels[1], id)));
  const sequences = [
    [levels[0], large],
    [levels[1], middle],
    ['core', cores],
  ] as const;
  for (const [level, ids] of sequences) {
    for (const id of ids()) {
      const all = [...topology.cpus].filter((cpu) => topology.place(cpu)[level] === id);
      const isFree = all.every((cpu) => free().includes(cpu));
      if (isFree && all.length <= count - chosen.size) for (const cpu of all) chosen.add(cpu);
    }
  }
  for (const cpu of cores().flatMap((id) => inside('core', id))) if (chosen.size < count) chosen.add(cpu);
  return chosen;
}

t.test('random machines: as many as requested, only available ones, as the slow steps choose them', async (t) => {
  const random = seededRandom(124);
  const wrong: string[] = [];
  for (let round = 0; round < 1500; round++) {
    const topology = new CPUTopology(randomMachine(random));
    const share = 0.3 + 0.7 * random();
    const available = new Set([...topology.cpus].filter(() => random() < share));
    const count = Math.floor(random() * (available.size + 1));
    const groupSize = random() < 0.5 ? 1 : topology.cpusPerCore;
    const packed = takePacked(topology, available, count);
    const distributed = takeDistributed(topology, available, { count, groupSize });
    const where = `${count} of ${formatCPUs(available)} by ${groupSize}`;
    if (packed.size !== count || !isSubset(packed, available)) wrong.push(`packed ${where}: ${formatCPUs(packed)}`);
    if (distributed.size !== count || !isSubset(distributed, available)) wrong.push(`distributed ${where}`);
    const slow = slowPacked(topology, available, count);
    if (formatCPUs(slow) !== formatCPUs(packed)) {
      wrong.push(`${where}: ${formatCPUs(packed)}, not ${formatCPUs(slow)}`);
    }
  }
  t.same(wrong, []);
});

t.test('texts of CPU sets', async (t) => {
  const texts = { '': '', '3': '3', '0-2,4': '0-2,4', '4,2,3': '2-4', '1-1': '1' };
  for (const [text, canonical] of Object.entries(texts)) {
    t.equal(formatCPUs(parseCPUs(text)), canonical, text);
  }
  const refused = {
    '3-1': 'invalid range "3-1" (3 >= 1)',
    x: 'strconv.Atoi: parsing "x": invalid syntax',
    '1-': 'strconv.Atoi: parsing "": invalid syntax',
    '0-99999999999': 'strconv.Atoi: parsing "99999999999": value out of range',
  };
  for (const [text, message] of Object.entries(refused)) {
    t.throws(() => parseCPUs(text), { message }, text);
  }
});
