/**
 * Writes log lines. A full disk or a pipe that is closed or not read must not stop or slow down the daemon: lines that
 * cannot be written are dropped and counted, and the log reports the count once writing works again.
 */
import type { Clock, Timer } from '#apimachinery/clock.js';

const newline = '\n'.charCodeAt(0);

/** Counts lines that could not be written. */
class LostLines {
  #total = 0;
  #unreported = 0;
  #resumed: (missing: number) => void = () => undefined;

  /** Since the start. */
  get total(): number {
    return this.#total;
  }

  /** `resumed` is called after a successful write, with the number of lines lost before it. */
  onResumed(resumed: (missing: number) => void): void {
    this.#resumed = resumed;
  }

  lose(lines: Buffer): void {
    let count = 0;
    for (const byte of lines) if (byte === newline) count += 1;
    this.#total += count;
    this.#unreported += count;
  }

  written(): void {
    const missing = this.#unreported;
    this.#unreported = 0;
    if (missing > 0) this.#resumed(missing);
  }
}

export interface LogOutput {
  readonly lost: LostLines;
  /** Takes whole lines. Never throws. */
  write(lines: string): void;
}

/**
 * Writes to a file or a non-terminal device. `writeSync` writes a prefix of the bytes, returns its length and throws
 * system errors.
 */
export function fileOutput(writeSync: (bytes: Buffer) => number): LogOutput {
  const lost = new LostLines();
  // The last write ended within a line.
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
        // The error has nowhere to go; only the count remains.
        lost.lose(Buffer.from(lines));
        return;
      }
      lost.written();
    },
  };
}

/** The part of a stream that a log needs. */
export interface LogStream {
  readonly writableLength: number;
  write(bytes: Buffer, done: (error?: Error | null) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** Limit of bytes waiting for a slow reader. */
const maxWaitingBytes = 1024 * 1024;

/** Writes to a pipe, a socket or a terminal. */
export function streamOutput(stream: LogStream): LogOutput {
  const lost = new LostLines();
  // Each write reports its own failure; without this listener the first failure would end the process.
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

/** Collects log lines to write several at once. */
export interface LineBufferOptions {
  readonly clock: Clock;
  /** Longest time that a line waits; ms. */
  readonly flushMs: number;
  readonly write: (lines: string) => void;
  /** Characters that trigger a write; default 64 Ki. */
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

  /** `urgent`: writes this line and all before it immediately. */
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
