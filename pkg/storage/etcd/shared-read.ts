/**
 * One read shared by all who wait for it, without ever giving anybody an answer that was asked for before he came: a read
 * that is under way may miss a write that was acknowledged a moment ago, so late comers share the next one. There is one at
 * a time, and the longer it takes, the more share the next.
 */
import { setImmediate as endOfTurn } from 'node:timers/promises';

/** Of the event loop, in which those gather who share a read: as long as there are more of them, and so many at most. */
const maxTurns = 4;

export class SharedRead<T> {
  readonly #read: () => Promise<T>;
  #running: Promise<unknown> | undefined;
  #next: Promise<T> | undefined;
  /** How many share the next one. */
  #sharing = 0;

  /** `read` asks at once, and not later. */
  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  read(): Promise<T> {
    this.#sharing++;
    this.#next ??= this.#gathered();
    return this.#next;
  }

  async #gathered(): Promise<T> {
    await this.#running;
    let sharing: number;
    let turns = 0;
    do {
      sharing = this.#sharing;
      await endOfTurn();
      turns++;
    } while (this.#sharing > sharing && turns < maxTurns);
    this.#next = undefined;
    this.#sharing = 0;
    const reading = this.#read();
    const over = () => {
      this.#running = undefined;
    };
    this.#running = reading.then(over, over);
    return reading;
  }
}
