/** Gathers log lines, so that many are written at once. */
import type { Clock, Timer } from '#apimachinery/clock.js';

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
