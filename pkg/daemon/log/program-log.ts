/** The log of a program, by its options: format, verbosity, streams and buffers. */
import { type Clock, realClock } from '#apimachinery/clock.js';
import { value } from '#apimachinery/quantity.js';
import { LineBuffer } from '#daemon/log/log-output.js';
import { createLogger, type Logger } from '#daemon/log/logger.js';
import { Verbosity } from '#daemon/log/verbosity.js';

export interface ProgramLog {
  readonly log: Logger;
  readonly verbosity: Verbosity;
  /** Writes buffered lines. */
  readonly flush: () => void;
}

interface TextSink {
  write(text: string): unknown;
}

/** The streams of a process. */
export interface LogStreams {
  readonly pid: number;
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly logOutput?: () => TextSink;
}

export interface LogOptions {
  /** Values of options, whatever the program's other options are. */
  readonly values: object;
  /** Names of the options on the command line. */
  readonly given: { has(name: string): boolean };
}

const defaultFlushMs = 5000;
/** As in 1.24, whose library flushes its buffer of lines this often. */
const infoFlushMs = 30_000;
/** 1.24's limit. */
const maxInfoBytes = 2 * 2 ** 30;

/** Options that the program does not have are unset. */
export function programLog(
  name: string,
  { values, given }: LogOptions,
  streams: LogStreams,
  clock: Clock = realClock,
): ProgramLog {
  const options = values as Readonly<Record<string, unknown>>;
  const level = typeof options['v'] === 'number' ? options['v'] : 0;
  const modules = Array.isArray(options['vmodule']) ? (options['vmodule'] as readonly string[]) : [];
  const verbosity = new Verbosity({ level, modules });
  const isJson = options['logging-format'] === 'json';
  const errors = bufferedSink(streams.stderr, { clock, flushMs: flushPeriod(options['log-flush-frequency'], given) });
  const isSplit = isJson && options['log-json-split-stream'] === true;
  const infos = isSplit ? infoSink(streams, options['log-json-info-buffer-size'], clock) : errors;
  const log = createLogger({
    name,
    format: isJson ? 'json' : 'text',
    verbosity,
    pid: streams.pid,
    now: () => clock.now(),
    write: (line, urgent) => (urgent ? errors : infos).add(line, urgent),
  });
  const flush = () => {
    infos.flush();
    errors.flush();
  };
  return { log, verbosity, flush };
}

/** 0: not buffered, which is the default as long as no frequency is set. */
function flushPeriod(frequency: unknown, given: LogOptions['given']): number {
  const ms = typeof frequency === 'number' ? frequency : defaultFlushMs;
  return given.has('log-flush-frequency') || ms !== defaultFlushMs ? ms : 0;
}

interface LineSink {
  /** `urgent`: the line must not wait. */
  add(line: string, urgent: boolean): void;
  flush(): void;
}

function bufferedSink(
  sink: TextSink,
  { clock, flushMs, limit }: { readonly clock: Clock; readonly flushMs: number; readonly limit?: number },
): LineSink {
  const write = (lines: string) => {
    sink.write(lines);
  };
  if (flushMs > 0) return new LineBuffer({ clock, flushMs, write, ...(limit === undefined ? {} : { limit }) });
  return { add: write, flush: () => undefined };
}

/** Standard output, buffered up to the size; a size of 0 buffers nothing. */
function infoSink({ stdout, logOutput }: LogStreams, size: unknown, clock: Clock): LineSink {
  const bytes = typeof size === 'string' && size !== '' ? value(size) : 0;
  return bufferedSink(logOutput?.() ?? stdout, {
    clock,
    flushMs: bytes > 0 ? infoFlushMs : 0,
    limit: Math.min(bytes, maxInfoBytes),
  });
}
