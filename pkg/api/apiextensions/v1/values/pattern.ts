/** Regular expressions of schemas. */
import type { Patterns } from '#apimachinery/patterns/pattern.js';

/** Characters of texts that patterns of usual sizes may look at for one object: some forty milliseconds' worth. */
const maxSteps = 1_000_000;
/** A pattern of more states takes longer for each character. */
const usualSize = 50;

/** Tries patterns, which together may take so many steps: made anew for each object that is validated. */
export class PatternMatcher {
  readonly #patterns: Patterns;
  #left = maxSteps;

  constructor(patterns: Patterns) {
    this.#patterns = patterns;
  }

  /** Undefined when it takes too long to find out. The pattern must be one, see `patternError`. */
  matches(pattern: string, text: string): boolean | undefined {
    if (this.#left <= 0) return undefined;
    const compiled = this.#patterns.compile(pattern);
    const steps = (text.length + 1) * Math.max(1, compiled.size / usualSize);
    if (steps > this.#left) {
      this.#left = 0;
      return undefined;
    }
    this.#left -= steps;
    return compiled.test(text);
  }
}
