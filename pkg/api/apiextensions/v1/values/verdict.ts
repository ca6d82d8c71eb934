/** What was found out about a value: what is wrong with it, and how much is right. */
import { type FieldFailure, maxFailures } from '#apimachinery/errors/status.js';
import { addAll, none } from '#apimachinery/validation/failure.js';

export class Verdict {
  #failures: FieldFailure[] | undefined;
  /** What was told already; parts of a schema may find the same. */
  #texts: Set<string> | undefined;
  #matches = 0;

  get isGood(): boolean {
    return this.#failures === undefined;
  }

  get failures(): readonly FieldFailure[] {
    return this.#failures ?? none;
  }

  /** Checks that were made, counted as 1.24 counts them to tell which of several alternatives was meant. */
  get matches(): number {
    return this.#matches;
  }

  passed(checks = 1): void {
    this.#matches += checks;
  }

  /** `text` tells it from other failures, its place included. */
  add(failure: FieldFailure, text: string): void {
    this.#texts ??= new Set();
    this.#failures ??= [];
    if (this.#texts.has(text)) return;
    // Of those that nobody is told of any more, their number counts.
    if (this.#failures.length <= maxFailures) this.#texts.add(text);
    addAll(this.#failures, [failure]);
  }

  merge(other: Verdict): void {
    this.#matches += other.#matches;
    if (other.#failures === undefined) return;
    let told = 0;
    for (const text of other.#texts ?? []) this.add(other.#failures[told++] as FieldFailure, text);
    this.#failures ??= [];
    addAll(this.#failures, other.#failures.slice(told));
  }
}
