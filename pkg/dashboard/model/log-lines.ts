/** Lines of many logs in the order of their times, the newest bounded number of them. */

export interface LogLine {
  /** `pod/container`. */
  readonly from: string;
  /** RFC 3339, as the server wrote it; texts of equal zones compare like times. */
  readonly time: string;
  readonly text: string;
  /** Grows with each line that arrives. */
  readonly id: number;
}

export class LogLines {
  readonly #limit: number;
  #lines: LogLine[] = [];
  #next = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** `2026-06-01T12:00:00.123456789Z text`. */
  add(from: string, line: string): void {
    const space = line.indexOf(' ');
    const time = space < 0 ? line : line.slice(0, space);
    const entry = { from, time, text: space < 0 ? '' : line.slice(space + 1), id: this.#next++ };
    let at = this.#lines.length;
    // Lines of several pods arrive nearly in order.
    while (at > 0 && (this.#lines[at - 1] as LogLine).time > time) at--;
    this.#lines.splice(at, 0, entry);
    // In large steps, because each moves all lines.
    if (this.#lines.length > this.#limit * 1.1) this.#lines = this.#lines.slice(-this.#limit);
  }

  clear(): void {
    this.#lines = [];
  }

  /** The last lines that contain the text, regardless of capitals. */
  matching(text: string, count: number): LogLine[] {
    const lower = text.toLowerCase();
    if (lower === '') return this.#lines.slice(-count);
    const lines: LogLine[] = [];
    for (let i = this.#lines.length - 1; i >= 0 && lines.length < count; i--) {
      const line = this.#lines[i] as LogLine;
      if (line.text.toLowerCase().includes(lower) || line.from.includes(lower)) lines.push(line);
    }
    return lines.reverse();
  }

  get length(): number {
    return this.#lines.length;
  }
}
