/** The result of validating a value: its failures and the number of passed checks. */
import { type FieldFailure, maxFailures } from '#apimachinery/errors/status.js';
import { addAll, none } from '#apimachinery/validation/failure.js';

export class ValidationResult {
  #failures: FieldFailure[] | undefined;
  /** Keys of reported failures; several parts of a schema may find the same one. */
  #texts: Set<string> | undefined;
  #matches = 0;

  get isGood(): boolean {
    return this.#failures === undefined;
  }

  get failures(): readonly FieldFailure[] {
    return this.#failures ?? none;
  }

  /** Passed checks, counted like in 1.24 to select the best of several alternatives. */
  get matches(): number {
    return this.#matches;
  }

  passed(checks = 1): void {
    this.#matches += checks;
  }

  /** `text` identifies the failure, including its place. */
  add(failure: FieldFailure, text: string): void {
    this.#texts ??= new Set();
    this.#failures ??= [];
    if (this.#texts.has(text)) return;
    // Failures beyond the reported number are only counted.
    if (this.#failures.length <= maxFailures) this.#texts.add(text);
    addAll(this.#failures, [failure]);
  }

  merge(other: ValidationResult): void {
    this.#matches += other.#matches;
    if (other.#failures === undefined) return;
    let keyed = 0;
    for (const text of other.#texts ?? []) this.add(other.#failures[keyed++] as FieldFailure, text);
    this.#failures ??= [];
    addAll(this.#failures, other.#failures.slice(keyed));
  }
}
