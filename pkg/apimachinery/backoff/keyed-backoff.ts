/** Exponential back-off per key, counted from the event that it is for. */

interface Entry {
  delayMs: number;
  lastUpdate: number;
}

export interface KeyedBackoffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
  readonly now: () => number;
}

/**
 * The rules of release 1.24 (client-go util/flowcontrol/backoff.go): the first time there is no delay, then
 * `initialMs`, doubled up to `maxMs`; forgotten when nothing happened for twice the maximum.
 */
export class KeyedBackoff {
  readonly #options: KeyedBackoffOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: KeyedBackoffOptions) {
    this.#options = options;
  }

  #current(key: string, eventAt: number): Entry | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined || eventAt - entry.lastUpdate > 2 * this.#options.maxMs ? undefined : entry;
  }

  /** Instant until which to wait, for an event at `eventAt`; 0 when there is nothing to wait for. */
  waitUntil(key: string, eventAt: number): number {
    const entry = this.#current(key, eventAt);
    if (entry === undefined) return 0;
    const until = eventAt + entry.delayMs;
    const now = this.#options.now();
    // An event that is still to come: the clock was set back. Waiting until then might take for ever.
    return until > now && eventAt <= now ? until : 0;
  }

  /** Milliseconds to wait when the delay counts from the last `next`; 0 for none. */
  waitSinceLastMs(key: string): number {
    const now = this.#options.now();
    const entry = this.#current(key, now);
    return entry === undefined ? 0 : Math.max(0, entry.lastUpdate + entry.delayMs - now);
  }

  /** The present delay in milliseconds; 0 for none. */
  delay(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  /** Notes that it is tried again for an event at `eventAt`: the next wait is longer. */
  next(key: string, eventAt: number): void {
    const entry = this.#current(key, eventAt);
    const delayMs = entry === undefined ? this.#options.initialMs : Math.min(entry.delayMs * 2, this.#options.maxMs);
    this.#entries.set(key, { delayMs, lastUpdate: this.#options.now() });
  }

  /** Forgets every key that starts so. */
  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }

  /** Forgets the keys for which nothing happened for twice the maximum. */
  prune(): void {
    const now = this.#options.now();
    for (const key of this.#entries.keys()) if (this.#current(key, now) === undefined) this.#entries.delete(key);
  }

  get size(): number {
    return this.#entries.size;
  }
}
