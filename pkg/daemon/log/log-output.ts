/**
 * Where log lines go in the end. A disk that is full, a pipe whose reader has gone or does not read must not stop or
 * slow down the daemon that logs: lines that cannot be written are dropped and counted, and once lines can be written
 * again the log is told how many are missing.
 */
import type { Clock, Timer } from '#apimachinery/clock.js';

const newline = '\n'.charCodeAt(0);

/** Lines that could not be written. */
class LostLines {
  #total = 0;
  /** Those that the log does not tell of yet. */
  #untold = 0;
  #resumed: (missing: number) => void = () => undefined;

  /** Since the beginning. */
  get total(): number {
    return this.#total;
  }

  /** `resumed` is called after a line was written, with the number of those before it that were not. */
  onResumed(resumed: (missing: number) => void): void {
    this.#resumed = resumed;
  }

  lose(lines: Buffer): void {
    let count = 0;
    for (const byte of lines) if (byte === newline) count += 1;
    this.#total += count;
    this.#untold += count;
  }

  written(): void {
    const missing = this.#untold;
    this.#untold = 0;
    if (missing > 0) this.#resumed(missing);
  }
}

export interface LogOutput {
  readonly lost: LostLines;
  /** Takes whole lines. Never throws. */
  write(lines: string): void;
}

/**
 * To a file, or a device that is none to type at. `writeSync` takes the beginning of the bytes, returns how many that was,
 * and throws as the system does.
 */
export function fileOutput(writeSync: (bytes: Buffer) => number): LogOutput {
  const lost = new LostLines();
  // The last thing that was written is the beginning of a line.
  let torn = false;
  return {
    lost,
    write(lines) {
      const bytes = Buffer.from(torn ? `\n${lines}` : lines);
      try {
        for (let offset = 0; offset < bytes.length; ) {
          const writtenBytes = writeSync(bytes.subarray(offset));
          if (writtenBytes === 0) throw new Error('nothing was written');
          offset += writtenBytes;
          torn = bytes[offset - 1] !== newline;
        }
      } catch {
        // There is nowhere to tell why: the count is what remains.
        lost.lose(Buffer.from(lines));
        return;
      }
      lost.written();
    },
  };
}

/** What of a stream a log needs; those of a process fit. */
export interface LogStream {
  readonly writableLength: number;
  write(bytes: Buffer, done: (error?: Error | null) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** Bytes that wait for a slow reader. */
const maxWaitingBytes = 1024 * 1024;

/** To a pipe, a socket or a terminal. */
export function streamOutput(stream: LogStream): LogOutput {
  const lost = new LostLines();
  // Each write hears of its own failure; without a listener the first one would end the process.
  stream.on('error', () => undefined);
  return {
    lost,
    write(lines) {
      const bytes = Buffer.from(lines);
      if (stream.writableLength > maxWaitingBytes) lost.lose(bytes);
      else stream.write(bytes, (error) => (error ? lost.lose(bytes) : lost.written()));
    },
  };
}

/** Gathers log lines, so that many are written at once. */

export interface LineBufferOptions {
  readonly clock: Clock;
  /** Longest time that a line waits; ms. */
  readonly flushMs: number;
  readonly write: (lines: string) => void;
  /** Characters at which they are written at once; 64 Ki unless told. */
  readonly limit?: number;
}

export class LineBuffer {
  readonly #options: LineBufferOptions;
  #lines: string[] = [];
  #size = 0;
  #timer: Timer | undefined;

  constructor(options: LineBufferOptions) {
    this.#options = options;
  }

  /** `urgent`: it and all before it are written now. */
  add(line: string, urgent: boolean): void {
    const { clock, flushMs, limit = 65_536 } = this.#options;
    this.#lines.push(line);
    this.#size += line.length;
    if (urgent || this.#size >= limit) return this.flush();
    this.#timer ??= clock.setTimer(() => this.flush(), flushMs);
  }

  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#lines.length === 0) return;
    const lines = this.#lines.join('');
    this.#lines = [];
    this.#size = 0;
    this.#options.write(lines);
  }
}
