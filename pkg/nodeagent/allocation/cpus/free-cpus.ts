/** The free processors of a machine while some are chosen, in the order in which 1.24 prefers them. */
import type { CPUSet } from '#nodeagent/allocation/cpus/cpu-set.js';
import type { CPUPlace, CPUTopology } from '#nodeagent/allocation/cpus/cpu-topology.js';

type Level = keyof CPUPlace;

/** Message of 1.24. */
const notEnough = 'not enough cpus available to satisfy request';

export class FreeCPUs {
  readonly #topology: CPUTopology;
  readonly #free: Set<number>;
  readonly #chosen = new Set<number>();
  #missing: number;

  /** Throws if fewer than `count` are available. */
  constructor(topology: CPUTopology, available: CPUSet, count: number) {
    this.#topology = topology;
    this.#free = new Set([...available].filter((cpu) => topology.cpus.has(cpu)));
    this.#missing = count;
    if (count > this.#free.size) throw new Error(notEnough);
  }

  get chosen(): CPUSet {
    return this.#chosen;
  }

  get isSatisfied(): boolean {
    return this.#missing < 1;
  }

  get missing(): number {
    return this.#missing;
  }

  take(cpus: Iterable<number>): void {
    for (const cpu of cpus) {
      if (!this.#free.delete(cpu)) throw new Error(`CPU ${cpu} is not free`);
      this.#chosen.add(cpu);
      this.#missing--;
    }
  }

  /** Takes those cores, sockets or NUMA nodes that are wholly free and not larger than what is missing. */
  takeWhole(level: Level): void {
    const whole = this.#sorted(level).filter((id) => this.in(level, id).length === this.#topology.total(level, id));
    for (const id of whole) {
      // Offline siblings make cores and sockets differ in size.
      const cpus = this.in(level, id);
      if (cpus.length > 0 && cpus.length <= this.#missing) this.take(cpus);
    }
  }

  takeSingle(): void {
    const cpus = this.#sorted('core').flatMap((core) => this.in('core', core));
    this.take(cpus.slice(0, this.#missing));
  }

  /** The free processors of a core, socket or NUMA node, in ascending order. */
  in(level: Level, id: number): number[] {
    return [...this.#free].filter((cpu) => this.#topology.place(cpu)[level] === id).sort((a, b) => a - b);
  }

  /** NUMA nodes with free processors; the fullest first. */
  nodes(): number[] {
    return this.#sorted('node');
  }

  /** Whether NUMA nodes contain sockets. Otherwise sockets contain NUMA nodes. */
  get #nodesFirst(): boolean {
    return this.#topology.socketCount >= this.#topology.nodes.length;
  }

  /** The larger level of sockets and NUMA nodes first. */
  get largeLevels(): readonly Level[] {
    return this.#nodesFirst ? ['node', 'socket'] : ['socket', 'node'];
  }

  /** Ordered within the next larger level, which is ordered in the same way: those with the least free first. */
  #sorted(level: Level): number[] {
    const [largest, middle] = this.largeLevels;
    if (level === largest) return this.#byFree(level, [...this.#free]);
    const outer = level === 'core' ? (middle as Level) : (largest as Level);
    const ids = this.#sorted(outer).flatMap((id) => this.#byFree(level, this.in(outer, id)));
    return [...new Set(ids)];
  }

  /** The cores, sockets or nodes of these processors. */
  #byFree(level: Level, cpus: readonly number[]): number[] {
    const counts = new Map<number, number>();
    for (const cpu of cpus) counts.set(this.#topology.place(cpu)[level], 0);
    for (const cpu of this.#free) {
      const id = this.#topology.place(cpu)[level];
      const count = counts.get(id);
      if (count !== undefined) counts.set(id, count + 1);
    }
    return [...counts].sort(([a, left], [b, right]) => left - right || a - b).map(([id]) => id);
  }
}
