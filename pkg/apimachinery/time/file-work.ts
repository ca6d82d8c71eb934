/** Counts the file operations of this process that are under way: work that goes on while the event loop is idle. */
import { type AsyncHook, createHook } from 'node:async_hooks';

/** Node.js's names for reads, writes and similar file operations, and for closing a file. */
const isFileWork = (type: string): boolean => type.startsWith('FSREQ') || type === 'FILEHANDLECLOSEREQ';

/** Promises are not followed, which would make each of them slower; Node.js before 25 ignores this. */
const withoutPromises = { trackPromises: false };

export class FileWork {
  /** `process.getActiveResourcesInfo` does not list all of them. */
  readonly #running = new Set<number>();
  readonly #hook: AsyncHook;

  constructor() {
    this.#hook = createHook({
      init: (id, type) => {
        if (isFileWork(type)) this.#running.add(id);
      },
      after: (id) => {
        this.#running.delete(id);
      },
      ...withoutPromises,
    });
  }

  /** Operations under way that began since `start`. */
  get count(): number {
    return this.#running.size;
  }

  start(): this {
    this.#hook.enable();
    return this;
  }

  stop(): void {
    this.#hook.disable();
    this.#running.clear();
  }
}
