import { IntColumn } from '#scheduler/cluster/columns.js';

/**
 * The values that one label has on the nodes, as small numbers: domains. A number is used again when no node has its
 * value any more.
 */
export class Topology {
  readonly key: string;
  readonly #numbers = new Map<string, number>();
  readonly #values: string[] = [];
  /** Nodes by domain. */
  readonly #nodes: number[] = [];
  readonly #free: number[] = [];
  readonly #domains = new IntColumn(-1);

  constructor(key: string) {
    this.key = key;
  }

  /** The domain of the node at the slot; -1 without the label. */
  domainOf(slot: number): number {
    return this.#domains.at(slot);
  }

  set(slot: number, value: string | undefined): void {
    const old = this.#domains.at(slot);
    // The new number first: it must not be the one that becomes free.
    const now = value === undefined ? -1 : this.#numberOf(value);
    if (old === now) return;
    if (now >= 0) this.#nodes[now] = (this.#nodes[now] ?? 0) + 1;
    this.#domains.set(slot, now);
    if (old >= 0) this.#leave(old);
  }

  #numberOf(value: string): number {
    const known = this.#numbers.get(value);
    if (known !== undefined) return known;
    const number = this.#free.pop() ?? this.#values.length;
    this.#values[number] = value;
    this.#nodes[number] = 0;
    this.#numbers.set(value, number);
    return number;
  }

  #leave(domain: number): void {
    const left = (this.#nodes[domain] ?? 0) - 1;
    this.#nodes[domain] = left;
    if (left > 0) return;
    this.#numbers.delete(this.#values[domain] ?? '');
    this.#free.push(domain);
  }
}
