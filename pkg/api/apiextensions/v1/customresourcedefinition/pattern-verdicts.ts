/** Whether the patterns of a schema are ones. */
import { patternError } from '#apimachinery/patterns/pattern.js';

/**
 * Different patterns that a schema may have. To read one takes some thirty microseconds, and the patterns of a schema are read
 * in one go; real ones have some hundreds. Release 1.24 has no such limit.
 */
const maxPatterns = 1000;

/** Reads each of them once; made anew for each schema that is validated. */
export class PatternVerdicts {
  readonly #known = new Map<string, string | undefined>();

  /** Says what is wrong with a pattern, undefined when nothing is. */
  errorOf(pattern: string): string | undefined {
    if (this.#known.has(pattern)) return this.#known.get(pattern);
    if (this.#known.size >= maxPatterns) return `a schema may have ${maxPatterns} different patterns at most`;
    const error = patternError(pattern);
    this.#known.set(pattern, error);
    return error;
  }
}
