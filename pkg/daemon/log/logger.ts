/** Structured logging. Messages are constant; variable data goes into fields (`{ namespace, name, err }`). */

import { pino } from 'pino';
import { Verbosity } from '#daemon/log/verbosity.js';

export type Logger = pino.Logger;

/** Discards everything; for tests and for libraries without a logger. */
export const silentLogger: Logger = pino({ enabled: false });

export interface CreateLoggerOptions {
  /** The daemon's name, on every line. */
  readonly name: string;
  readonly format: 'text' | 'json';
  /** 0 to 3: information; 4 and 5: debugging; 6 and more: everything. A Verbosity may change at any time. */
  readonly verbosity: number | Verbosity;
  readonly pid: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Takes whole lines; `urgent` marks errors, which must not wait. */
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
      // Verbosity decides per line; a child logger would keep its own level.
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

/** Letters by pino's level numbers. */
const letters: Readonly<Record<number, string>> = { 10: 'I', 20: 'I', 30: 'I', 40: 'W', 50: 'E', 60: 'F' };

interface TextFormatOptions {
  readonly pid: number;
  /** Also print the stack of errors. */
  readonly stacks: boolean;
}

/**
 * Formats a pino record as the daemons of release 1.24 do, with a newline: `I0503 00:00:00.123456 4711 scheduler]
 * "Message" key="value"`.
 */
function formatText(record: Readonly<Record<string, unknown>>, options: TextFormatOptions): string {
  const { level, time, msg, name, pid: _pid, hostname: _hostname, err, ...fields } = record;
  const letter = letters[Number(level)] ?? 'I';
  const message = JSON.stringify(String(msg ?? ''));
  let line = `${letter}${timestamp(Number(time))} ${String(options.pid).padStart(7)} ${String(name ?? '-')}] ${message}`;
  if (err !== undefined) line += ` err=${JSON.stringify(errorText(err))}`;
  for (const [key, value] of Object.entries(fields)) line += ` ${key}=${valueText(value)}`;
  const stack = options.stacks ? stackOf(err) : undefined;
  return stack === undefined ? `${line}\n` : `${line}\n${stack}\n`;
}

/** Month, day, time with microseconds, in UTC. */
function timestamp(ms: number): string {
  const text = new Date(ms).toISOString();
  return `${text.slice(5, 7)}${text.slice(8, 10)} ${text.slice(11, 23)}000`;
}

function valueText(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  // Object references read as in other tools: namespace/name.
  if (isReference(value)) return JSON.stringify(value.namespace ? `${value.namespace}/${value.name}` : value.name);
  return typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value) ?? 'undefined');
}

function isReference(value: unknown): value is { namespace?: string; name: string } {
  if (typeof value !== 'object' || value === null) return false;
  const keys = Object.keys(value);
  return (
    keys.every((key) => key === 'namespace' || key === 'name') && 'name' in value && typeof value.name === 'string'
  );
}

function errorText(err: unknown): string {
  if (typeof err === 'object' && err !== null && 'message' in err) return String(err.message);
  return typeof err === 'string' ? err : JSON.stringify(err);
}

function stackOf(err: unknown): string | undefined {
  return typeof err === 'object' && err !== null && 'stack' in err ? String(err.stack) : undefined;
}
