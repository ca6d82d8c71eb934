/** Refreshes pods after runtime events, repeatedly until the cached state shows the change or the tries run out. */
import { type Clock, pauseClock, type Timer } from '#apimachinery/clock.js';

export interface Relist {
  /** Container or sandbox ID, and its new state; each key has its own series. */
  readonly key: string;
  /** True once the cached state shows the change. */
  readonly isOver: () => boolean;
  readonly run: () => Promise<void>;
}

/** An exit event may come long before the runtime's listing shows the exit, so retry after these delays. */
const delaysMs = [20, 150, 600, 2000, 5000, 10_000];

export class RelistSchedule {
  readonly #clock: Clock;
  /** By key, with the number of completed tries. */
  readonly #pending = new Map<string, { readonly timer: Timer; readonly step: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Starts a series, or restarts a running one unless its first try is still pending. */
  start(relist: Relist): void {
    const pending = this.#pending.get(relist.key);
    if (pending?.step === 0) return;
    pending?.timer.cancel();
    this.#pending.delete(relist.key);
    this.#schedule(relist, 0);
  }

  stop(): void {
    for (const { timer } of this.#pending.values()) timer.cancel();
    this.#pending.clear();
  }

  #schedule(relist: Relist, step: number): void {
    const delay = delaysMs[step];
    if (delay === undefined || relist.isOver()) return;
    const timer = pauseClock(this.#clock).setTimer(() => void this.#run(relist, step), delay);
    this.#pending.set(relist.key, { timer, step });
  }

  async #run(relist: Relist, step: number): Promise<void> {
    this.#pending.delete(relist.key);
    if (relist.isOver()) return;
    await relist.run();
    // Another event may have restarted the series.
    if (!this.#pending.has(relist.key)) this.#schedule(relist, step + 1);
  }
}
