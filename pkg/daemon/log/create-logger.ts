/** Makes a daemon's logger from its options. */
import { pino } from 'pino';
import type { Logger } from '#daemon/log/logger.js';
import { formatText } from '#daemon/log/text-format.js';
import { Verbosity } from '#daemon/log/verbosity.js';

export interface CreateLoggerOptions {
  /** The daemon's name, on every line. */
  readonly name: string;
  readonly format: 'text' | 'json';
  /** 0 to 3: information; 4 and 5: debugging; 6 and more: everything. An object may change while the logger lives. */
  readonly verbosity: number | Verbosity;
  readonly pid: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Takes whole lines; `urgent`: errors, which must not wait. */
  readonly write: (line: string, urgent: boolean) => void;
}

const errorLevel = 50;

export function createLogger(options: CreateLoggerOptions): Logger {
  const { name, format, pid, now, write } = options;
  const verbosity =
    typeof options.verbosity === 'number' ? new Verbosity({ level: options.verbosity }) : options.verbosity;
  const json = format === 'json';
  let urgent = false;
  return pino(
    {
      name,
      // Children would keep a level of their own: what is written is decided per line.
      level: 'trace',
      hooks: {
        logMethod(args, method, level) {
          if (!verbosity.enabled(level)) return;
          urgent = level >= errorLevel;
          method.apply(this, args);
        },
      },
      base: json ? { pid } : {},
      timestamp: () => (json ? `,"ts":${now()}` : `,"time":${now()}`),
      ...(json ? { formatters: { level: (label: string) => ({ level: label }) } } : {}),
    },
    {
      write(line: string) {
        const stacks = verbosity.level >= 4;
        write(json ? line : formatText(JSON.parse(line) as Record<string, unknown>, { pid, stacks }), urgent);
      },
    },
  );
}
