/** Exponential backoff per key, counted from the event that caused it. */

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
 * The rules of release 1.24 (client-go util/flowcontrol/backoff.go): no delay at first, then `initialMs`, doubling up
 * to `maxMs`; a key expires without events for twice the maximum.
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

  /** The time to wait until, for an event at `eventAt`; 0 for no wait. */
  waitUntil(key: string, eventAt: number): number {
    const entry = this.#current(key, eventAt);
    if (entry === undefined) return 0;
    const until = eventAt + entry.delayMs;
    const now = this.#options.now();
    // An event in the future means that the clock was set back: waiting for it might take forever.
    return until > now && eventAt <= now ? until : 0;
  }

  /** Milliseconds to wait if the delay counts from the last `next`; 0 for none. */
  waitSinceLastMs(key: string): number {
    const now = this.#options.now();
    const entry = this.#current(key, now);
    return entry === undefined ? 0 : Math.max(0, entry.lastUpdate + entry.delayMs - now);
  }

  /** The current delay in milliseconds; 0 for none. */
  delay(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  /** Records a retry for an event at `eventAt`: the next wait is longer. */
  next(key: string, eventAt: number): void {
    const entry = this.#current(key, eventAt);
    const delayMs = entry === undefined ? this.#options.initialMs : Math.min(entry.delayMs * 2, this.#options.maxMs);
    this.#entries.set(key, { delayMs, lastUpdate: this.#options.now() });
  }

  /** Deletes all keys with the prefix. */
  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }

  /** Deletes keys without events for twice the maximum. */
  prune(): void {
    const now = this.#options.now();
    for (const key of this.#entries.keys()) if (this.#current(key, now) === undefined) this.#entries.delete(key);
  }

  get size(): number {
    return this.#entries.size;
  }
}
