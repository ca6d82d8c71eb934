/** Regular expressions of schemas. */
import type { Patterns } from '#apimachinery/patterns/pattern.js';

/** Maximum characters that patterns of usual size may examine per object: some forty milliseconds. */
const maxSteps = 1_000_000;
/** Patterns with more states take longer per character. */
const usualSize = 50;

/** Matches patterns within a common budget. Create one per validated object. */
export class PatternMatcher {
  readonly #patterns: Patterns;
  #left = maxSteps;

  constructor(patterns: Patterns) {
    this.#patterns = patterns;
  }

  /** Undefined if the budget is exhausted. The pattern must be valid, see `patternError`. */
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
