/** Processor time of the thread that runs the event loop, whatever else runs on the machine. */
import { closeSync, openSync, readSync } from 'node:fs';

/** Reads without waiting, so that it can be called in the middle of what is measured. */
export class ThreadTime {
  readonly #file: number;
  readonly #buffer = Buffer.alloc(64);

  /** Of the process' first thread. */
  constructor() {
    this.#file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  }

  /** Milliseconds since the thread began, exact to a few of them (proc(5), `schedstat`: nanoseconds on a processor). */
  milliseconds(): number {
    const length = readSync(this.#file, this.#buffer, 0, this.#buffer.length, 0);
    return Number(this.#buffer.toString('latin1', 0, this.#buffer.indexOf(' ')).slice(0, length)) / 1e6;
  }

  close(): void {
    closeSync(this.#file);
  }
}
