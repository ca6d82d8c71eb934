/** Cleanup of a program that is no test: runs the steps in reverse order. */
import type { Lifetime } from '#test/integration/peers/implementations.js';

export class Cleanup implements Lifetime {
  readonly #ends: (() => unknown)[] = [];

  readonly teardown = (end: () => unknown): void => void this.#ends.unshift(end);

  /** Runs all steps even if some fail; then throws the first failure. */
  async end(): Promise<void> {
    const errors: unknown[] = [];
    for (const end of this.#ends.splice(0)) {
      try {
        await end();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}
