/** Regular expressions in the syntax of RE2, as schemas and rules have them. They run in time linear in the text. */
import { RE2JS, RE2JSException } from 're2js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import { messageOf } from '#apimachinery/errors/message.js';

export interface Pattern {
  /** How many states it may be in. */
  readonly size: number;
  /** Whether it is found anywhere in the text. */
  test(text: string): boolean;
  /** What it is found as, in order, `limit` times at most. */
  find(text: string, limit: number): string[];
}

/** Larger ones are not kept, since they take memory. */
const maxKeptSize = 1000;

/** Compiles patterns, and keeps those that were used last. */
export class Patterns {
  readonly #kept = new LruCache<string, Pattern>({ limit: 500 });

  /** Throws an error that says what is wrong with the pattern. */
  compile(text: string): Pattern {
    const before = this.#kept.get(text);
    if (before !== undefined) return before;
    const compiled = compilePattern(text);
    if (compiled.size <= maxKeptSize) this.#kept.set(text, compiled);
    return compiled;
  }
}

/** Says what is wrong with a pattern, undefined when nothing is. */
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
      const found: string[] = [];
      const matcher = compiled.matcher(subject);
      while (found.length < limit && matcher.find()) found.push(matcher.group() ?? '');
      return found;
    },
  };
}
