import type { Logger } from '#daemon/log/logger.js';

/** Work that goes on beside the decisions: bindings, evictions and reports. */
export class Writes {
  readonly #limit: number;
  readonly #log: Logger;
  readonly #counted = new Set<Promise<void>>();
  readonly #waiting = new Set<Promise<void>>();
  /** To be called when one of those that count has ended. */
  readonly #forRoom: (() => void)[] = [];

  /** `limit`: so many at once; further ones make the decisions wait. */
  constructor(limit: number, log: Logger) {
    this.#limit = limit;
    this.#log = log;
  }

  /** How many are under way. */
  get size(): number {
    return this.#counted.size;
  }

  /** Resolves at once, or when there is room for another. `pod`: namespace/name, for the log. */
  async start(pod: string, work: Promise<void>): Promise<void> {
    this.#follow(this.#counted, pod, work);
    if (this.#counted.size < this.#limit) return;
    // A race of all of them would leave a reaction at each, for every pod.
    await new Promise<void>((resolve) => this.#forRoom.push(resolve));
  }

  /** Work that may wait for minutes, and so does not count against the limit. */
  startWaiting(pod: string, work: Promise<void>): void {
    this.#follow(this.#waiting, pod, work);
  }

  /** Resolves when all is over. */
  async settled(): Promise<void> {
    while (this.#counted.size + this.#waiting.size > 0) await Promise.all([...this.#counted, ...this.#waiting]);
  }

  #follow(all: Set<Promise<void>>, pod: string, work: Promise<void>): void {
    const followed = work
      .catch((err: unknown) => this.#log.error({ err, pod }, 'work beside the scheduling ended unexpectedly'))
      .finally(() => {
        all.delete(followed);
        if (all === this.#counted) for (const resume of this.#forRoom.splice(0)) resume();
      });
    all.add(followed);
  }
}
