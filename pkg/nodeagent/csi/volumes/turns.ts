/** Runs operations with the same key one after the other. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Settles like the operation, which begins once all earlier ones with the key have ended. */
  run<T>(key: string, operation: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const result = before.then(operation);
    const end = result.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, end);
    void end.then(() => {
      if (this.#last.get(key) === end) this.#last.delete(key);
    });
    return result;
  }

  /** Whether an operation with the key runs or waits. */
  isBusy(key: string): boolean {
    return this.#last.has(key);
  }
}
