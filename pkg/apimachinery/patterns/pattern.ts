/** Regular expressions in RE2 syntax, for schemas and rules. Matching takes time linear in the text. */
import { RE2JS, RE2JSException } from 're2js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import { messageOf } from '#apimachinery/errors/message.js';

export interface Pattern {
  /** The cost of a character, in states: their number, or more for patterns with very many. */
  readonly weight: number;
  /** Whether the pattern occurs in the text. */
  test(text: string): boolean;
  /** The matches in order, at most `limit`. */
  find(text: string, limit: number): string[];
}

/** Larger patterns are not cached, because they take memory. */
const maxKeptSize = 1000;

/** The automata of larger patterns outgrow the engine's cache, so that each match builds them again. */
const largeFactor = 10;

/** Compiles patterns and caches recently used ones. */
export class Patterns {
  readonly #kept = new LruCache<string, Pattern>({ limit: 500 });

  /** Throws an error that describes an invalid pattern. */
  compile(text: string): Pattern {
    const before = this.#kept.get(text);
    if (before !== undefined) return before;
    const compiled = compilePattern(text);
    if (compiled.weight <= maxKeptSize) this.#kept.set(text, compiled);
    return compiled;
  }
}

/** The syntax error of a pattern; undefined if it is valid. */
export function patternError(text: string): string | undefined {
  try {
    compilePattern(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return messageOf(error);
  }
}

function compilePattern(text: string): Pattern {
  const compiled = RE2JS.compile(text);
  const size = compiled.programSize();
  return {
    weight: size <= maxKeptSize ? size : largeFactor * size,
    test: (subject) => compiled.test(subject),
    find: (subject, limit) => {
      const matches: string[] = [];
      const matcher = compiled.matcher(subject);
      while (matches.length < limit && matcher.find()) matches.push(matcher.group() ?? '');
      return matches;
    },
  };
}
