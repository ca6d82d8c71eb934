/** Machines of many topologies as data, for tests of the managers. */
import type { Core, MachineTopology, NumaNode } from '#nodeagent/node/topology.js';

export interface MachineShape {
  readonly sockets: number;
  readonly nodesPerSocket: number;
  readonly coresPerNode: number;
  /** Processors that share a core. */
  readonly threads: number;
  readonly memoryBytes?: number;
  /** Bytes by page size in bytes, of each NUMA node. */
  readonly hugePages?: Readonly<Record<number, number>>;
  /** IDs of processors that are offline. */
  readonly offline?: readonly number[];
}

const gibibyte = 2 ** 30;

/** Numbered as Linux does: the first processors of all cores, then the second ones. */
export function machine(shape: MachineShape): MachineTopology {
  const { sockets, nodesPerSocket, coresPerNode, threads, offline = [] } = shape;
  const { memoryBytes = 16 * gibibyte, hugePages = {} } = shape;
  const coreCount = sockets * nodesPerSocket * coresPerNode;
  const nodes = Array.from({ length: sockets * nodesPerSocket }, (_, id): NumaNode => {
    const cores = Array.from({ length: coresPerNode }, (_, i): Core => {
      const core = id * coresPerNode + i;
      const cpus = Array.from({ length: threads }, (_, thread) => core + thread * coreCount);
      return { socket: Math.floor(id / nodesPerSocket), cpus: cpus.filter((cpu) => !offline.includes(cpu)) };
    });
    return { id, memoryBytes, hugePages, cores: cores.filter(({ cpus }) => cpus.length > 0) };
  });
  return { nodes };
}

/** A machine of random shape, some with offline processors. `random`: in [0, 1). */
export function randomMachine(random: () => number): MachineTopology {
  const whole = (from: number, to: number) => from + Math.floor(random() * (to - from + 1));
  const sockets = whole(1, 4);
  const shape = {
    sockets,
    nodesPerSocket: whole(1, Math.max(1, Math.floor(8 / sockets / 2))),
    coresPerNode: whole(1, 4),
    threads: whole(1, 2),
  };
  const count = sockets * shape.nodesPerSocket * shape.coresPerNode * shape.threads;
  const isWhole = random() < 0.6;
  const offline = Array.from({ length: count - 2 }, (_, i) => i + 2).filter(() => !isWhole && random() < 0.2);
  return machine({ ...shape, offline, hugePages: { [2 ** 21]: whole(0, 2) * gibibyte } });
}
