/** Deliberate differences, which do not fail. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DifferenceKind } from '#test/integration/apiserver/peer/differences.js';
import { recordedFolder } from '#test/integration/apiserver/peer/recorded-folder.js';

interface Deliberate {
  readonly cases: RegExp;
  readonly kinds: ReadonlySet<string>;
  readonly answer: RegExp;
  readonly reason: string;
}

/**
 * `recorded/deliberate.txt` has one line per deliberate difference, separated by tabs: a pattern of files and case ids, kinds
 * of differences, a pattern of the peer's answer, and the reason.
 */
export class DeliberateDifferences {
  readonly #entries: readonly Deliberate[];

  constructor() {
    const lines = readFileSync(join(recordedFolder, 'deliberate.txt'), 'utf8').split('\n');
    this.#entries = lines
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const [cases = '', kinds = '', answer = '', reason = ''] = line.split('\t');
        if (reason === '') throw new SyntaxError(`a deliberate difference without a reason: ${line}`);
        return { cases: new RegExp(cases), kinds: new Set(kinds.split(',')), answer: new RegExp(answer), reason };
      });
  }

  /** `name` is the file and case id, after the name of a dialect other than the peer's; `answer` is the peer's as JSON. */
  includes(name: string, kind: DifferenceKind, answer: string): boolean {
    return this.#entries.some((entry) => entry.kinds.has(kind) && entry.cases.test(name) && entry.answer.test(answer));
  }
}
