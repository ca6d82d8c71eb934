/**
 * Reads what nodes use, while somebody asks for it: nobody pays for figures that nobody wants. The first who asks waits for
 * two measurements, one shortly after the other; from then on there is one of each node in every period, spread over it,
 * until nobody has asked for a while.
 */
import { deadline } from '#apimachinery/async/deadline.js';
import { type Deferred, deferred } from '#apimachinery/async/deferred.js';
import { shared } from '#apimachinery/async/shared-signal.js';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { readingOf } from '#apiserver/resourcemetrics/reading.js';
import type { Readings } from '#apiserver/resourcemetrics/usage.js';
import type { Logger } from '#daemon/log/logger.js';

export interface ScraperOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Between two measurements of a node. */
  readonly periodMs: number;
  /** Names of all nodes there are. */
  readonly nodes: () => readonly string[];
  /** The text of a node's `/metrics/resource`. */
  readonly read: (node: string, signal: AbortSignal) => Promise<string>;
}

/** Between the first two measurements: somebody waits for them. */
const firstWindowMs = 1000;
/** Nobody waits longer than that for figures; nodes that have none by then are left out. */
const patienceMs = 5000;
/** Nodes asked at the same time. */
const parallel = 32;
/** Without a question for so many periods, and at least for so long, nothing is read any more. */
const idlePeriods = 4;
const leastIdleMs = 120_000;
/** Nodes that do not answer are asked again after twice the time, up to so many periods. */
const longestPause = 8;

interface Scraped extends Readings {
  /** When the last reading came; monotonic. */
  readonly readMs: number;
}

export class Scraper {
  readonly #options: ScraperOptions;
  readonly #closing = new AbortController();
  readonly #readings = new Map<string, Scraped>();
  /** Node → rounds to sit out, and how many it will be the next time. */
  readonly #pauses = new Map<string, { left: number; next: number }>();
  #askedMs = Number.NEGATIVE_INFINITY;
  /** Resolved when there has been time for two measurements; undefined while nothing is read. */
  #first: Deferred<void> | undefined;

  constructor(options: ScraperOptions) {
    this.#options = options;
    shared(this.#closing.signal);
  }

  /** Somebody wants figures. Resolves when there are such as can be had soon. */
  async wanted(): Promise<void> {
    const { clock, log } = this.#options;
    this.#askedMs = clock.monotonic();
    if (this.#closing.signal.aborted) return;
    if (this.#first === undefined) {
      this.#first = deferred();
      this.#run(this.#first).catch((err: unknown) => log.error({ err }, 'Reading what nodes use has ended'));
    }
    await this.#first.promise;
  }

  /** Undefined for nodes that have not answered for two periods. */
  readings(node: string): Readings | undefined {
    const found = this.#readings.get(node);
    const oldestMs = this.#options.clock.monotonic() - 2 * this.#options.periodMs;
    return found === undefined || found.readMs < oldestMs ? undefined : found;
  }

  close(): void {
    this.#closing.abort();
  }

  async #run(first: Deferred<void>): Promise<void> {
    const { clock, periodMs } = this.#options;
    const { signal } = this.#closing;
    const patience = clock.setTimer(() => first.resolve(), patienceMs);
    try {
      await this.#round(0);
      await clock.sleep(firstWindowMs, signal);
      await this.#round(0);
      first.resolve();
      const idleMs = Math.max(leastIdleMs, idlePeriods * periodMs);
      while (!signal.aborted && clock.monotonic() - this.#askedMs < idleMs) {
        const endMs = clock.monotonic() + periodMs;
        await this.#round(periodMs);
        // There may be no nodes.
        await clock.sleep(endMs - clock.monotonic(), signal);
      }
    } finally {
      patience.cancel();
      first.resolve();
      this.#first = undefined;
      this.#readings.clear();
      this.#pauses.clear();
    }
  }

  /** Every node once, begun at equal distances within that time. */
  async #round(durationMs: number): Promise<void> {
    const { clock, nodes } = this.#options;
    const { signal } = this.#closing;
    const names = nodes();
    this.#forgetOthers(new Set(names));
    const beganMs = clock.monotonic();
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let index = next++; index < names.length && !signal.aborted; index = next++) {
        const waitMs = beganMs + (durationMs * (index + 1)) / names.length - clock.monotonic();
        if (waitMs > 0) await clock.sleep(waitMs, signal);
        const name = names[index] as string;
        // In the first round after the two at once: over too short a time figures say little.
        const readMs = this.#readings.get(name)?.readMs ?? Number.NEGATIVE_INFINITY;
        if (clock.monotonic() - readMs >= durationMs / 2) await this.#scrape(name);
      }
    };
    await Promise.all(Array.from({ length: Math.min(parallel, names.length) }, worker));
  }

  async #scrape(node: string): Promise<void> {
    const { clock, log, periodMs, read } = this.#options;
    const pause = this.#pauses.get(node);
    if (pause !== undefined && pause.left > 0) {
      pause.left -= 1;
      return;
    }
    const limit = deadline(clock, (periodMs * 2) / 3, this.#closing.signal);
    try {
      const last = readingOf(await read(node, limit.signal));
      const before = this.#readings.get(node)?.last;
      // An agent that measures more seldom than it is asked says the same again: what there was before is of use still.
      const isSame = before?.node !== undefined && before.node.timestampMs === last.node?.timestampMs;
      const previous = isSame ? this.#readings.get(node)?.previous : before;
      this.#readings.set(node, { last, previous, readMs: clock.monotonic() });
      this.#pauses.delete(node);
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      const rounds = pause?.next ?? 0;
      this.#pauses.set(node, { left: rounds, next: Math.min(Math.max(1, rounds * 2), longestPause) });
      log.info({ node, error: messageOf(error) }, 'Cannot read what the node uses');
    } finally {
      limit.release();
    }
  }

  #forgetOthers(names: ReadonlySet<string>): void {
    for (const kept of [this.#readings, this.#pauses])
      for (const name of kept.keys()) if (!names.has(name)) kept.delete(name);
  }
}
