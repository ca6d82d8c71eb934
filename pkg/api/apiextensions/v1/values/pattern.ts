/** Regular expressions of schemas. */
import type { Pattern, Patterns } from '#apimachinery/patterns/pattern.js';

/** Maximum characters that patterns of usual size may examine per object: some forty milliseconds. */
const maxSteps = 1_000_000;
/** Patterns with more states take longer per character. */
const usualSize = 50;
/** Compiling takes as long as this many steps per state. */
const stepsPerState = 2;

/** Matches patterns within a common budget. Create one per validated object. */
export class PatternMatcher {
  readonly #patterns: Patterns;
  #left = maxSteps;
  /** The last pattern: elements of a list have the same, and very large ones are compiled again and again. */
  #last: { readonly text: string; readonly compiled: Pattern } | undefined;

  constructor(patterns: Patterns) {
    this.#patterns = patterns;
  }

  /** Undefined if the budget is exhausted. The pattern must be valid, see `patternError`. */
  matches(pattern: string, text: string): boolean | undefined {
    if (this.#left <= 0) return undefined;
    const compiled = this.#compiled(pattern);
    const steps = (text.length + 1) * Math.max(1, compiled.weight / usualSize);
    if (steps > this.#left) {
      this.#left = 0;
      return undefined;
    }
    this.#left -= steps;
    return compiled.test(text);
  }

  #compiled(text: string): Pattern {
    if (this.#last?.text === text) return this.#last.compiled;
    const compiled = this.#patterns.compile(text);
    this.#left -= compiled.weight * stepsPerState;
    this.#last = { text, compiled };
    return compiled;
  }

  /** Steps since the beginning. */
  get steps(): number {
    return maxSteps - this.#left;
  }
}
