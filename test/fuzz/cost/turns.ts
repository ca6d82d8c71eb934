/** How long each turn of the event loop takes: processor time, so that it says the same on a machine that is busy. */
import { constants, type NodeGCPerformanceDetail, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { ThreadTime } from '#test/fuzz/cost/thread-time.js';

interface Turn {
  /** On the clock of `performance`. */
  readonly fromMs: number;
  readonly wallMs: number;
  readonly processorMs: number;
}

/**
 * Measures every turn from its construction on. Collections of old garbage are left out: what they cost is due to all that
 * the process keeps, whoever is at work when they come. Those of the young are due to what the turn has made itself.
 */
export class Turns {
  readonly #thread = new ThreadTime();
  readonly #turns: Turn[] = [];
  readonly #collections = new PerformanceObserver(() => {});
  #under = true;
  #fromMs = performance.now();
  #threadMs = this.#thread.milliseconds();

  constructor() {
    this.#collections.observe({ entryTypes: ['gc'] });
    setImmediate(this.#tick);
  }

  /** The longest one; ms. */
  async stop(): Promise<number> {
    this.#under = false;
    this.#measure();
    this.#thread.close();
    // Collections are told in the turn after theirs.
    await new Promise((resolve) => setImmediate(resolve));
    const old = this.#collections.takeRecords().filter(isOld);
    this.#collections.disconnect();
    let longestMs = 0;
    for (const { fromMs, wallMs, processorMs } of this.#turns) {
      const within = old.filter(({ startTime }) => startTime >= fromMs && startTime < fromMs + wallMs);
      const collectingMs = within.reduce((sum, { duration }) => sum + duration, 0);
      // The system counts in ticks of its own, so that a short turn may get what a longer one before has used.
      const lastedMs = Math.min(wallMs, processorMs);
      // Nobody says how much of a collection the thread has spent waiting for a processor: as much as of the turn.
      longestMs = Math.max(longestMs, lastedMs * (1 - Math.min(1, collectingMs / wallMs)));
    }
    return longestMs;
  }

  readonly #tick = (): void => {
    if (!this.#under) return;
    this.#measure();
    setImmediate(this.#tick);
  };

  #measure(): void {
    const [nowMs, threadMs] = [performance.now(), this.#thread.milliseconds()];
    const turn = { fromMs: this.#fromMs, wallMs: nowMs - this.#fromMs, processorMs: threadMs - this.#threadMs };
    // A request whose parser works in another thread waits in a hundred thousand turns of nothing.
    if (turn.wallMs > 1) this.#turns.push(turn);
    this.#fromMs = nowMs;
    this.#threadMs = threadMs;
  }
}

function isOld(entry: PerformanceEntry): boolean {
  const { detail } = entry as PerformanceEntry & { readonly detail: NodeGCPerformanceDetail };
  return detail.kind !== constants.NODE_PERFORMANCE_GC_MINOR;
}
