/** Keeps requests waiting while the store is replaced, so that no loop acts on half of it. */
import { deferred } from '#apimachinery/async/deferred.js';

export class Gate {
  #opened: Promise<void> | undefined;

  /** Resolves when requests may go on; undefined while they may. */
  get opened(): Promise<void> | undefined {
    return this.#opened;
  }

  /** Closed until the returned function is called. Not called twice at once. */
  close(): () => void {
    const opened = deferred();
    this.#opened = opened.promise;
    return () => {
      this.#opened = undefined;
      opened.resolve();
    };
  }
}
