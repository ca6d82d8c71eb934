import type { Logger } from '#daemon/log/logger.js';

/** Writes that run concurrently with the decisions: bindings, evictions and reports. */
export class PendingWrites {
  readonly #limit: number;
  readonly #log: Logger;
  /** With the pods' keys. */
  readonly #counted = new Map<Promise<void>, string>();
  readonly #waiting = new Map<Promise<void>, string>();
  /** Resolvers of callers that wait for a counted write to end. */
  readonly #waitingForRoom: (() => void)[] = [];

  /** `limit`: number of concurrent writes at which `start` waits. */
  constructor(limit: number, log: Logger) {
    this.#limit = limit;
    this.#log = log;
  }

  /** Number of counted writes in progress. */
  get size(): number {
    return this.#counted.size;
  }

  /** Keys of the pods of counted writes in progress. */
  pods(): Iterable<string> {
    return this.#counted.values();
  }

  /** Resolves at once while below the limit, else when a write ends. `pod`: namespace/name, for the log. */
  async start(pod: string, work: Promise<void>): Promise<void> {
    this.#follow(this.#counted, pod, work);
    if (this.#counted.size < this.#limit) return;
    // Promise.race would leave a reaction on every pending write for each pod.
    await new Promise<void>((resolve) => this.#waitingForRoom.push(resolve));
  }

  /** Adds work that can wait for minutes, and so does not count against the limit. */
  startWaiting(pod: string, work: Promise<void>): void {
    this.#follow(this.#waiting, pod, work);
  }

  /** Resolves when all writes have ended. */
  async settled(): Promise<void> {
    while (this.#counted.size + this.#waiting.size > 0)
      await Promise.all([...this.#counted.keys(), ...this.#waiting.keys()]);
  }

  #follow(all: Map<Promise<void>, string>, pod: string, work: Promise<void>): void {
    const followed = work
      .catch((err: unknown) => this.#log.error({ err, pod }, 'write failed unexpectedly'))
      .finally(() => {
        all.delete(followed);
        if (all === this.#counted) for (const resume of this.#waitingForRoom.splice(0)) resume();
      });
    all.set(followed, pod);
  }
}
