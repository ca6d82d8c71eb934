/** What is to be done in the end, the last first: of a program that is no test. */
import type { Lifetime } from '#test/integration/peers/implementations.js';

export class Ends implements Lifetime {
  readonly #ends: (() => unknown)[] = [];

  readonly teardown = (end: () => unknown): void => void this.#ends.unshift(end);

  /** Does all of it, whatever fails; throws the first failure then. */
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
