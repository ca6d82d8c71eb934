/** Looks that events ask for: each until a listing shows what its event told of, or enough have been in vain. */
import type { Clock, Timer } from '#apimachinery/clock.js';

export interface Look {
  /** Of the container or sandbox, and of what the event told of it: each is looked for by itself. */
  readonly key: string;
  /** Whether what is known already shows it: there is no need to look any more. */
  readonly isOver: () => boolean;
  readonly look: () => Promise<void>;
}

/** The event of an exit may come before the runtime's own listing shows it, on a busy machine long before: look again after these. */
const delaysMs = [20, 150, 600, 2000, 5000, 10_000];

export class FollowUps {
  readonly #clock: Clock;
  readonly #timers = new Map<string, Timer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** One series of looks for a key at a time. */
  start(look: Look): void {
    if (!this.#timers.has(look.key)) this.#schedule(look, 0);
  }

  stop(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  #schedule(look: Look, step: number): void {
    const delay = delaysMs[step];
    if (delay === undefined || look.isOver()) return;
    const timer = this.#clock.setTimer(() => void this.#run(look, step), delay);
    this.#timers.set(look.key, timer);
  }

  async #run(look: Look, step: number): Promise<void> {
    this.#timers.delete(look.key);
    if (look.isOver()) return;
    await look.look();
    // Another event may have begun anew.
    if (!this.#timers.has(look.key)) this.#schedule(look, step + 1);
  }
}
