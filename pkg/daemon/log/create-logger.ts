/** Makes a daemon's logger from its options. */
import { pino } from 'pino';
import type { Logger } from '#daemon/log/logger.js';
import { formatText } from '#daemon/log/text-format.js';

export interface CreateLoggerOptions {
  /** The daemon's name, on every line. */
  readonly name: string;
  readonly format: 'text' | 'json';
  /** 0 to 3: information; 4 and 5: debugging; 6 and more: everything. */
  readonly verbosity: number;
  readonly pid: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Takes whole lines. */
  readonly write: (line: string) => void;
}

/** The pino level of a verbosity. */
export function levelOf(verbosity: number): 'info' | 'debug' | 'trace' {
  if (verbosity >= 6) return 'trace';
  return verbosity >= 4 ? 'debug' : 'info';
}

export function createLogger(options: CreateLoggerOptions): Logger {
  const { name, format, verbosity, pid, now, write } = options;
  const level = levelOf(verbosity);
  const stacks = verbosity >= 4;
  const json = format === 'json';
  return pino(
    {
      name,
      level,
      base: json ? { pid } : {},
      timestamp: () => (json ? `,"ts":${now()}` : `,"time":${now()}`),
      ...(json ? { formatters: { level: (label: string) => ({ level: label }) } } : {}),
    },
    {
      write(line: string) {
        write(json ? line : formatText(JSON.parse(line) as Record<string, unknown>, { pid, stacks }));
      },
    },
  );
}
