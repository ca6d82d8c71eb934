/** Where the machine's processors are. */
import type { CPUSet } from '#nodeagent/allocation/cpus/cpu-set.js';
import type { MachineTopology } from '#nodeagent/node/topology.js';

/** The place of a processor. */
export interface CPUPlace {
  /** The lowest ID of the core's processors, which is unique on the machine. */
  readonly core: number;
  readonly socket: number;
  /** NUMA node. */
  readonly node: number;
}

export class CPUTopology {
  readonly places: ReadonlyMap<number, CPUPlace>;
  readonly cpus: CPUSet;
  readonly coreCount: number;
  readonly socketCount: number;
  /** NUMA nodes that have processors, in ascending order. */
  readonly nodes: readonly number[];
  readonly #totals = new Map<string, number>();

  /** Throws if the machine has no processors. */
  constructor({ nodes }: MachineTopology) {
    const places = new Map<number, CPUPlace>();
    for (const { id, cores } of nodes) {
      for (const { socket, cpus } of cores) {
        const core = Math.min(...cpus);
        for (const cpu of cpus) places.set(cpu, { core, socket, node: id });
      }
    }
    if (places.size === 0) throw new Error('could not detect number of cpus');
    this.places = places;
    this.cpus = new Set(places.keys());
    this.coreCount = nodes.reduce((sum, { cores }) => sum + cores.length, 0);
    this.socketCount = new Set([...places.values()].map(({ socket }) => socket)).size;
    this.nodes = [...new Set([...places.values()].map(({ node }) => node))].sort((a, b) => a - b);
    for (const place of places.values()) {
      for (const level of ['core', 'socket', 'node'] as const) {
        const key = `${level} ${place[level]}`;
        this.#totals.set(key, (this.#totals.get(key) ?? 0) + 1);
      }
    }
  }

  /** The average, rounded down, as in 1.24. */
  get cpusPerCore(): number {
    return Math.floor(this.cpus.size / this.coreCount);
  }

  /** The number of processors of a core, socket or NUMA node. */
  total(level: keyof CPUPlace, id: number): number {
    return this.#totals.get(`${level} ${id}`) ?? 0;
  }

  place(cpu: number): CPUPlace {
    const place = this.places.get(cpu);
    if (place === undefined) throw new RangeError(`the machine has no CPU ${cpu}`);
    return place;
  }

  /** Those of the processors that are on these NUMA nodes. */
  onNodes(cpus: CPUSet, nodes: readonly number[]): CPUSet {
    return new Set([...cpus].filter((cpu) => nodes.includes(this.places.get(cpu)?.node ?? -1)));
  }
}
