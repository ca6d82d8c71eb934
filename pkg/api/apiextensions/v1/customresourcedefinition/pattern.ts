/** Regular expressions of schemas: the syntax is RE2's, which runs in linear time; here they run in this platform's. */
import { createContext, Script } from 'node:vm';

/**
 * Far more than honest patterns take, which need microseconds and must not fail where a busy machine lets this process
 * wait a little; this platform's engine can be made to try for ever. Less than a request may hold the event loop.
 */
const patienceMs = 40;

/** What RE2 leaves out for the sake of its running time. */
const unsupported = /\(\?(?:[=!]|<[=!])/;
const backReference = /(?:^|[^\\])(?:\\\\)*\\[1-9]/;

/** Says what is wrong with a pattern, undefined when nothing is. */
export function patternError(pattern: string): string | undefined {
  const look = unsupported.exec(pattern)?.[0];
  if (look !== undefined) return `error parsing regexp: invalid or unsupported Perl syntax: \`${look}\``;
  if (backReference.test(pattern))
    return 'error parsing regexp: invalid escape sequence: back references are not supported';
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const { message } = error;
    const known = Object.keys(syntaxErrors).find((text) => message.includes(text));
    const text = known === undefined ? 'invalid syntax' : (syntaxErrors[known] ?? '');
    return `error parsing regexp: ${text}: \`${pattern}\``;
  }
}

/** What RE2 calls the mistakes that this platform finds. */
const syntaxErrors: Readonly<Record<string, string>> = {
  'Unterminated group': 'missing closing )',
  'Unterminated character class': 'missing closing ]',
  Unmatched: 'unexpected )',
  'Nothing to repeat': 'missing argument to repetition operator',
  'out of order in character class': 'invalid character class range',
  'numbers out of order': 'invalid repeat count',
  'at end of pattern': 'trailing backslash at end of expression',
};

const classes: Readonly<Record<string, string>> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  ascii: '\\x00-\\x7f',
  blank: '\\t ',
  cntrl: '\\x00-\\x1f\\x7f',
  digit: '0-9',
  graph: '!-~',
  lower: 'a-z',
  print: ' -~',
  punct: '!-\\/:-@[-`{-~',
  space: '\\t\\n\\v\\f\\r ',
  upper: 'A-Z',
  word: '0-9A-Za-z_',
  xdigit: '0-9A-Fa-f',
};

/** Throws a SyntaxError. What only RE2 writes so is translated: named groups, flags in front, POSIX classes, ends. */
function compilePattern(pattern: string): RegExp {
  const flags = /^\(\?([ims]+)\)/.exec(pattern);
  const body = pattern
    .slice(flags?.[0].length ?? 0)
    .replaceAll('(?P<', '(?<')
    .replace(/\[:(\w+):\]/g, (whole, name: string) => (Object.hasOwn(classes, name) ? (classes[name] ?? whole) : whole))
    .replaceAll('\\A', '^')
    .replaceAll('\\z', '$');
  return new RegExp(body, [...new Set(`${flags?.[1] ?? ''}`)].join(''));
}

const test = new Script('pattern.test(text)');

interface World {
  pattern?: RegExp | undefined;
  text?: string | undefined;
}

/** Only what runs in a world of its own can be stopped. To make one takes milliseconds, so it may be shared. */
export class PatternWorld {
  #world: World | undefined;

  /** Throws an error with the code ERR_SCRIPT_EXECUTION_TIMEOUT when it takes longer. */
  matches(pattern: string, text: string, timeoutMs: number): boolean {
    this.#world ??= createContext({}) as World;
    this.#world.pattern = compilePattern(pattern);
    this.#world.text = text;
    return Boolean(test.runInContext(this.#world, { timeout: timeoutMs }));
  }
}

/** Tries patterns, which together get no more time than one may take: made anew for each object that is validated. */
export class PatternMatcher {
  readonly #monotonic: () => number;
  readonly #world: PatternWorld;
  #leftMs = patienceMs;

  /** `monotonic`: a clock's. `world`: shared with others; absent: one of its own. */
  constructor(monotonic: () => number, world = new PatternWorld()) {
    this.#monotonic = monotonic;
    this.#world = world;
  }

  /** Undefined when it takes too long to find out. The pattern must be one, see `patternError`. */
  matches(pattern: string, text: string): boolean | undefined {
    const timeout = Math.floor(this.#leftMs);
    if (timeout < 1) return undefined;
    const startedMs = this.#monotonic();
    try {
      const found = this.#world.matches(pattern, text, timeout);
      this.#leftMs -= this.#monotonic() - startedMs;
      return found;
    } catch (error) {
      // An error of the script's own world, so it is no instance of this one's class.
      const code: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
      if (code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      this.#leftMs = 0;
      return undefined;
    }
  }
}
