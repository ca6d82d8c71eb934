/** Regular expressions in RE2 syntax, for schemas and rules. Matching takes time linear in the text. */
import { RE2JS, RE2JSException } from 're2js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import { messageOf } from '#apimachinery/errors/message.js';

export interface Pattern {
  /** The number of states. */
  readonly size: number;
  /** Whether the pattern occurs in the text. */
  test(text: string): boolean;
  /** The matches in order, at most `limit`. */
  find(text: string, limit: number): string[];
}

/** Larger patterns are not cached, because they take memory. */
const maxKeptSize = 1000;

/** Compiles patterns and caches recently used ones. */
export class Patterns {
  readonly #kept = new LruCache<string, Pattern>({ limit: 500 });

  /** Throws an error that describes an invalid pattern. */
  compile(text: string): Pattern {
    const before = this.#kept.get(text);
    if (before !== undefined) return before;
    const compiled = compilePattern(text);
    if (compiled.size <= maxKeptSize) this.#kept.set(text, compiled);
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
  return {
    size: compiled.programSize(),
    test: (subject) => compiled.test(subject),
    find: (subject, limit) => {
      const matches: string[] = [];
      const matcher = compiled.matcher(subject);
      while (matches.length < limit && matcher.find()) matches.push(matcher.group() ?? '');
      return matches;
    },
  };
}
