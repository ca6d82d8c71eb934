/**
 * Measures the resource usage of nodes on demand. The first request waits for two measurements in short succession; then every
 * node is measured once per period, spread over it, until there are no requests for a while.
 */

import { allowManyListeners } from '#apimachinery/async/abort.js';
import { deadline } from '#apimachinery/async/deadline.js';
import { type Deferred, deferred } from '#apimachinery/async/deferred.js';
import { type Clock, pauseClock, processClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { readingOf } from '#apiserver/resourcemetrics/metrics-text.js';
import type { Readings } from '#apiserver/resourcemetrics/usage.js';
import type { Logger } from '#daemon/log/logger.js';

export interface ScraperOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Time between two measurements of a node. */
  readonly periodMs: number;
  /** Names of all nodes. */
  readonly nodes: () => readonly string[];
  /** The text of a node's `/metrics/resource`. */
  readonly read: (node: string, signal: AbortSignal) => Promise<string>;
}

/** Time between the first two measurements; short, as a request waits for them. */
const firstWindowMs = 1000;
/** Longest time that a request waits; nodes without measurements by then are left out. */
const waitLimitMs = 5000;
/** Number of nodes measured concurrently, without slow ones. */
const parallel = 32;
/** A node that takes longer is slow: it delays no other one any more. */
const slowMs = 1000;
/** Number of slow nodes beside the others; bounds the memory of their responses. */
const maxSlow = 64;
/** Measuring stops after this many periods without a request, and at the earliest after `leastIdleMs`. */
const idlePeriods = 4;
const leastIdleMs = 120_000;
/** An unresponsive node is skipped for twice as many rounds after each failure, up to this number. */
const longestPause = 8;

interface TimedReadings extends Readings {
  /** Time of the last reading; monotonic. */
  readonly readMs: number;
}

export class Scraper {
  readonly #options: ScraperOptions;
  readonly #closing = new AbortController();
  readonly #readings = new Map<string, TimedReadings>();
  /** Node → remaining rounds to skip, and rounds to skip after the next failure. */
  readonly #pauses = new Map<string, { left: number; next: number }>();
  /** Nodes that are being measured. */
  readonly #measuring = new Set<string>();
  #slow = 0;
  #requestedMs = Number.NEGATIVE_INFINITY;
  /** Resolves after two measurements; undefined while measuring is stopped. */
  #first: Deferred<void> | undefined;

  constructor(options: ScraperOptions) {
    this.#options = options;
    allowManyListeners(this.#closing.signal);
  }

  /** Starts measuring if necessary. Resolves when readings are available, or after `waitLimitMs`. */
  async ensureReadings(): Promise<void> {
    const { clock, log } = this.#options;
    this.#requestedMs = clock.monotonic();
    if (this.#closing.signal.aborted) return;
    if (this.#first === undefined) {
      this.#first = deferred();
      this.#run(this.#first).catch((err: unknown) => log.error({ err }, 'measuring nodes has ended'));
    }
    await this.#first.promise;
  }

  /** Undefined for nodes without a measurement in the last two periods. */
  readings(node: string): Readings | undefined {
    const latest = this.#readings.get(node);
    const oldestMs = this.#options.clock.monotonic() - 2 * this.#options.periodMs;
    return latest === undefined || latest.readMs < oldestMs ? undefined : latest;
  }

  close(): void {
    this.#closing.abort();
  }

  async #run(first: Deferred<void>): Promise<void> {
    const { clock, periodMs } = this.#options;
    const { signal } = this.#closing;
    // A clock that stands still brings no second measurement.
    const limitMs = clock.views === undefined ? waitLimitMs : firstWindowMs;
    const timer = pauseClock(clock).setTimer(() => first.resolve(), limitMs);
    try {
      await this.#round(0);
      await clock.sleep(firstWindowMs, signal);
      await this.#round(0);
      first.resolve();
      const idleMs = Math.max(leastIdleMs, idlePeriods * periodMs);
      while (!signal.aborted && clock.monotonic() - this.#requestedMs < idleMs) {
        const endMs = clock.monotonic() + periodMs;
        await this.#round(periodMs);
        // Without nodes, the round ends at once.
        await clock.sleep(endMs - clock.monotonic(), signal);
      }
    } finally {
      timer.cancel();
      first.resolve();
      this.#first = undefined;
      this.#readings.clear();
      this.#pauses.clear();
    }
  }

  /** Measures every node once, evenly spread over `durationMs`. */
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
        // Skip nodes that were measured less than half a period ago: a short window is inaccurate.
        const readMs = this.#readings.get(name)?.readMs ?? Number.NEGATIVE_INFINITY;
        if (clock.monotonic() - readMs >= durationMs / 2) await this.#scrapeOrLeave(name);
      }
    };
    await Promise.all(Array.from({ length: Math.min(parallel, names.length) }, worker));
  }

  /** Resolves when the node is measured, or is slow and goes on beside the others. */
  async #scrapeOrLeave(node: string): Promise<void> {
    if (this.#measuring.has(node)) return;
    this.#measuring.add(node);
    const done = new AbortController();
    const measured = this.#scrape(node).finally(() => {
      this.#measuring.delete(node);
      done.abort();
    });
    await Promise.race([measured, processClock(this.#options.clock).sleep(slowMs, done.signal)]);
    if (!this.#measuring.has(node)) return;
    if (this.#slow >= maxSlow) return measured;
    this.#slow += 1;
    measured
      .finally(() => {
        this.#slow -= 1;
      })
      .catch((err: unknown) => this.#options.log.error({ err, node }, 'measuring a node has ended'));
  }

  async #scrape(node: string): Promise<void> {
    const { clock, log, periodMs, read } = this.#options;
    const pause = this.#pauses.get(node);
    if (pause !== undefined && pause.left > 0) {
      pause.left -= 1;
      return;
    }
    const limit = deadline(processClock(clock), (periodMs * 2) / 3, this.#closing.signal);
    try {
      const last = readingOf(await read(node, limit.signal));
      // Measuring may have stopped since.
      if (this.#first === undefined) return;
      const before = this.#readings.get(node)?.last;
      // If the agent repeats its last measurement, keep the previous one for the rate.
      const isSame = before?.node !== undefined && before.node.timestampMs === last.node?.timestampMs;
      const previous = isSame ? this.#readings.get(node)?.previous : before;
      this.#readings.set(node, { last, previous, readMs: clock.monotonic() });
      this.#pauses.delete(node);
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      const rounds = pause?.next ?? 0;
      this.#pauses.set(node, { left: rounds, next: Math.min(Math.max(1, rounds * 2), longestPause) });
      log.info({ node, error: messageOf(error) }, 'could not read the metrics of a node');
    } finally {
      limit.release();
    }
  }

  #forgetOthers(names: ReadonlySet<string>): void {
    for (const map of [this.#readings, this.#pauses])
      for (const name of map.keys()) if (!names.has(name)) map.delete(name);
  }
}
