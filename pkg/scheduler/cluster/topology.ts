import { IntColumn } from '#scheduler/cluster/columns.js';

/**
 * Numbers the values of one node label; the numbers are called domains. A number is reused once no node has its value.
 */
export class Topology {
  readonly key: string;
  readonly #numbers = new Map<string, number>();
  readonly #values: string[] = [];
  /** Number of nodes by domain. */
  readonly #nodes: number[] = [];
  readonly #free: number[] = [];
  readonly #domains = new IntColumn(-1);

  constructor(key: string) {
    this.key = key;
  }

  /** The domain of the node at the slot; -1 if it lacks the label. */
  domainOf(slot: number): number {
    return this.#domains.at(slot);
  }

  set(slot: number, value: string | undefined): void {
    const old = this.#domains.at(slot);
    // Assign the new number first, so that it cannot reuse the number that becomes free.
    const now = value === undefined ? -1 : this.#numberOf(value);
    if (old === now) return;
    if (now >= 0) this.#nodes[now] = (this.#nodes[now] ?? 0) + 1;
    this.#domains.set(slot, now);
    if (old >= 0) this.#leave(old);
  }

  #numberOf(value: string): number {
    const domain = this.#numbers.get(value);
    if (domain !== undefined) return domain;
    const number = this.#free.pop() ?? this.#values.length;
    this.#values[number] = value;
    this.#nodes[number] = 0;
    this.#numbers.set(value, number);
    return number;
  }

  #leave(domain: number): void {
    const remaining = (this.#nodes[domain] ?? 0) - 1;
    this.#nodes[domain] = remaining;
    if (remaining > 0) return;
    this.#numbers.delete(this.#values[domain] ?? '');
    this.#free.push(domain);
  }
}
