/** Pulls under way: shared by all who want the same, one at a time where that is asked for, ended when nobody waits. */
import { deferred } from '#apimachinery/async/deferred.js';
import { unlessAborted } from '#apimachinery/async/unless-aborted.js';
import type { Clock } from '#apimachinery/clock.js';

/**
 * How long a pull holds up those after it. The runtime does not tell how far a pull is: one that takes longer may as
 * well come from a registry that says nothing any more, and the node's other pods are not to wait for that.
 */
const turnMs = 120_000;

interface Pull {
  readonly done: Promise<void>;
  readonly abort: AbortController;
  waiters: number;
}

export class Pulls {
  readonly #clock: Clock;
  readonly #serialize: boolean;
  readonly #running = new Map<string, Pull>();
  /** Resolves when the next may begin. */
  #turn: Promise<void> = Promise.resolve();

  constructor({ clock, serialize }: { readonly clock: Clock; readonly serialize: boolean }) {
    this.#clock = clock;
    this.#serialize = serialize;
  }

  /**
   * Resolves when the pull of that key is done: the one under way, or `work`. Rejects with its failure, or with the
   * signal's reason when that aborts; the pull itself is aborted when nobody waits for it any more.
   */
  async join(key: string, work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const pull = this.#running.get(key) ?? this.#begin(key, work);
    pull.waiters++;
    try {
      await unlessAborted(pull.done, signal);
    } finally {
      pull.waiters--;
      if (pull.waiters === 0) {
        this.#forget(key, pull);
        pull.abort.abort();
      }
    }
  }

  #begin(key: string, work: (signal: AbortSignal) => Promise<void>): Pull {
    const abort = new AbortController();
    const pull = { done: this.#inTurn(work, abort.signal), abort, waiters: 0 };
    this.#running.set(key, pull);
    const forget = () => this.#forget(key, pull);
    pull.done.then(forget, forget);
    return pull;
  }

  #forget(key: string, pull: Pull): void {
    if (this.#running.get(key) === pull) this.#running.delete(key);
  }

  async #inTurn(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    if (!this.#serialize) return unlessAborted(work(signal), signal);
    const before = this.#turn;
    const over = deferred();
    this.#turn = before.then(() => over.promise);
    try {
      await unlessAborted(before, signal);
      const timer = this.#clock.setTimer(over.resolve, turnMs);
      try {
        await unlessAborted(work(signal), signal);
      } finally {
        timer.cancel();
      }
    } finally {
      over.resolve();
    }
  }
}
