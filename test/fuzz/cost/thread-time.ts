/** Processor time of the event loop's thread, independent of other load. */
import { closeSync, openSync, readSync } from 'node:fs';

/** Reads synchronously, so that it can be called during a measurement. */
export class ThreadTime {
  readonly #file: number;
  readonly #buffer = Buffer.alloc(64);

  /** The first thread of the process. */
  constructor() {
    this.#file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  }

  /** Milliseconds since the thread began, accurate to a few (proc(5), `schedstat`: nanoseconds on a processor). */
  milliseconds(): number {
    const length = readSync(this.#file, this.#buffer, 0, this.#buffer.length, 0);
    return Number(this.#buffer.toString('latin1', 0, this.#buffer.indexOf(' ')).slice(0, length)) / 1e6;
  }

  close(): void {
    closeSync(this.#file);
  }
}
