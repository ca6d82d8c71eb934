/** Log verbosity: a default level, and levels for single source files. Both may change at any time. */

export interface VerbositySettings {
  readonly level: number;
  /** `pattern=N`: files whose name (without directory and ending) the pattern matches; `*` and `?` are wildcards. */
  readonly modules?: readonly string[];
  /**
   * Path of the source file that logs. Default: taken from the stack, which costs time only if a module could decide.
   */
  readonly caller?: () => string | undefined;
}

interface Module {
  readonly matches: RegExp;
  /** The pattern contains a slash and matches the whole path. */
  readonly path: boolean;
  readonly level: number;
}

/** pino's level by verbosity: 0 to 3 information, 4 and 5 debugging, 6 and more everything. */
function lowest(level: number): number {
  if (level >= 6) return 10;
  return level >= 4 ? 20 : 30;
}

export class Verbosity {
  level: number;
  readonly #modules: readonly Module[];
  readonly #most: number;
  readonly #caller: () => string | undefined;

  constructor(settings: VerbositySettings) {
    this.level = settings.level;
    this.#modules = (settings.modules ?? []).map(moduleOf);
    this.#most = Math.max(0, ...this.#modules.map(({ level }) => level));
    this.#caller = settings.caller ?? callerFromStack;
  }

  /** Whether a line of this pino level is written. */
  enabled(pinoLevel: number): boolean {
    if (pinoLevel >= lowest(this.level)) return true;
    if (pinoLevel < lowest(this.#most)) return false;
    const file = this.#caller();
    if (file === undefined) return false;
    const whole = file.replace(/\.[jt]s$/, '');
    const name = whole.slice(whole.lastIndexOf('/') + 1);
    const module = this.#modules.find(({ matches, path }) => matches.test(path ? whole : name));
    return module !== undefined && pinoLevel >= lowest(module.level);
  }
}

function moduleOf(text: string): Module {
  const at = text.lastIndexOf('=');
  const pattern = text.slice(0, at).replace(/\.[jt]s$/, '');
  const source = pattern
    .split('')
    .map((char) => (char === '*' ? '.*' : char === '?' ? '.' : char.replace(/[\\^$+.()|[\]{}]/, '\\$&')))
    .join('');
  const path = pattern.includes('/');
  return { matches: new RegExp(path ? `(^|/)${source}$` : `^${source}$`), path, level: Number(text.slice(at + 1)) };
}

/** The first file on the stack outside this folder and the logging library. */
function callerFromStack(): string | undefined {
  for (const line of (new Error().stack ?? '').split('\n').slice(1)) {
    const match = /\(?((?:file:\/\/)?\/[^():]+):\d+:\d+\)?$/.exec(line);
    const file = match?.[1];
    if (file === undefined || file.includes('/node_modules/')) continue;
    if (file.endsWith('/log/verbosity.js') || file.endsWith('/log/logger.js')) continue;
    return file;
  }
  return undefined;
}
