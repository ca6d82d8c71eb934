/** Structured logs. Messages are constant; what varies goes into fields (`{ namespace, name, err }`). */
import { Verbosity } from '#daemon/log/verbosity.js';
import { pino } from 'pino';

export type Logger = pino.Logger;

/** A logger that writes nothing; for tests and for libraries whose caller gave none. */
export const silentLogger: Logger = pino({ enabled: false });

/** Makes a daemon's logger from its options. */


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

/** pino's numbers. */
const letters: Readonly<Record<number, string>> = { 10: 'I', 20: 'I', 30: 'I', 40: 'W', 50: 'E', 60: 'F' };

interface TextFormatOptions {
  readonly pid: number;
  /** Also print the stack of errors. */
  readonly stacks: boolean;
}

/**
 * One record as pino hands it on, as a line with its newline as the daemons of release 1.24 write it: `I0503
 * 00:00:00.123456 4711 scheduler] "Message" key="value"`.
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
  // Keys of objects read as they do in every other tool: namespace/name.
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
