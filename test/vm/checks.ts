/** What held and what did not, with a line for each on the standard output. */
import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '#apimachinery/errors/message.js';

export class Checks {
  readonly failures: string[] = [];
  passed = 0;
  readonly #say: (line: string) => void;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  ok(holds: boolean, name: string, detail = ''): void {
    if (holds) {
      this.passed++;
      this.#say(`  ok   ${name}`);
      return;
    }
    this.failures.push(name);
    this.#say(`  FAIL ${name}${detail === '' ? '' : `\n       ${detail.replaceAll('\n', '\n       ')}`}`);
  }

  equal(actual: unknown, expected: unknown, name: string): void {
    const detail = `expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`;
    this.ok(isDeepStrictEqual(actual, expected), name, detail);
  }

  match(actual: string, expected: RegExp, name: string): void {
    this.ok(expected.test(actual), name, `expected ${expected}, got ${actual.slice(0, 2000)}`);
  }

  /** Counts an exception as a failure and goes on. */
  async part(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.ok(false, name, messageOf(error));
    }
  }
}
