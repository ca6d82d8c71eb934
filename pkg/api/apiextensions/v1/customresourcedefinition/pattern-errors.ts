/** Checks the patterns of a schema. */
import { patternError } from '#apimachinery/patterns/pattern.js';

/**
 * Maximum number of different patterns per schema. Compiling one takes some thirty microseconds, without a pause; real
 * schemas have some hundreds. Release 1.24 has no such limit.
 */
const maxPatterns = 1000;

/** Compiles each pattern once. Create one per validated schema. */
export class PatternErrors {
  readonly #errors = new Map<string, string | undefined>();

  /** The error of a pattern; undefined if it is valid. */
  errorOf(pattern: string): string | undefined {
    if (this.#errors.has(pattern)) return this.#errors.get(pattern);
    if (this.#errors.size >= maxPatterns) return `a schema may have ${maxPatterns} different patterns at most`;
    const error = patternError(pattern);
    this.#errors.set(pattern, error);
    return error;
  }
}
