/** Looks that events ask for: each until a listing shows what its event told of, or enough have been in vain. */
import type { Clock, Timer } from '#apimachinery/clock.js';

export interface Look {
  /** Of the container or sandbox, and of what the event told of it: each is looked for by itself. */
  readonly key: string;
  /** Whether what is known already shows it: there is no need to look any more. */
  readonly isOver: () => boolean;
  readonly look: () => Promise<void>;
}

/**
 * The event of an exit may come before the runtime's own listing shows it, on a busy machine long before: look again after
 * these.
 */
const delaysMs = [20, 150, 600, 2000, 5000, 10_000];

export class FollowUps {
  readonly #clock: Clock;
  /** By key, with how many looks of the series have been made. */
  readonly #pending = new Map<string, { readonly timer: Timer; readonly step: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** One series of looks for a key at a time: an event begins it anew, unless its first look is still to come. */
  start(look: Look): void {
    const pending = this.#pending.get(look.key);
    if (pending?.step === 0) return;
    pending?.timer.cancel();
    this.#pending.delete(look.key);
    this.#schedule(look, 0);
  }

  stop(): void {
    for (const { timer } of this.#pending.values()) timer.cancel();
    this.#pending.clear();
  }

  #schedule(look: Look, step: number): void {
    const delay = delaysMs[step];
    if (delay === undefined || look.isOver()) return;
    const timer = this.#clock.setTimer(() => void this.#run(look, step), delay);
    this.#pending.set(look.key, { timer, step });
  }

  async #run(look: Look, step: number): Promise<void> {
    this.#pending.delete(look.key);
    if (look.isOver()) return;
    await look.look();
    // Another event may have begun anew.
    if (!this.#pending.has(look.key)) this.#schedule(look, step + 1);
  }
}
