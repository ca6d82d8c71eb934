/** A clock of a test cluster whose clients wait without real time: their sleep moves the wall clock of the cluster. */
import { type Clock, realClock } from '#apimachinery/clock.js';

export class JumpingClock {
  #jumpedMs = 0;

  /** The cluster's: timers run in real time. */
  readonly cluster: Clock = {
    ...realClock,
    now: () => realClock.now() + this.#jumpedMs,
    monotonic: () => realClock.monotonic() + this.#jumpedMs,
  };

  /** The clients': a sleep takes no real time. */
  readonly client: Clock = {
    ...this.cluster,
    sleep: async (ms) => {
      this.#jumpedMs += ms;
    },
  };
}
