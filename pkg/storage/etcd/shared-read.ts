/**
 * One read shared by all who wait for it, without ever giving anybody an answer that was asked for before he came: a read
 * that is under way may miss a write that was acknowledged a moment ago, so late comers share the next one.
 */
import { setImmediate as endOfTurn } from 'node:timers/promises';

export class SharedRead<T> {
  readonly #read: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  read(): Promise<T> {
    // At the end of this turn of the event loop, so that all who come in it share one read.
    this.#next ??= (this.#running ?? endOfTurn()).then(
      () => this.#startNext(),
      () => this.#startNext(),
    );
    return this.#next;
  }

  #startNext(): Promise<T> {
    this.#next = undefined;
    return this.#start();
  }

  #start(): Promise<T> {
    const running = this.#read().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }
}
