/** The range of node ports. */
import { quoted } from '#apimachinery/errors/message-values.js';

const highestPort = 65_535;

/** 1.24's error for an invalid range of ports; undefined for a valid one. */
export function portRangeError(text: string): string | undefined {
  const parsed = parsePortRange(text);
  return typeof parsed === 'string' ? parsed : undefined;
}

/** The first and last port, or an error text. A single number is a range of one; empty text and 0-0 contain none. */
function parsePortRange(text: string): readonly [number, number] | string {
  const value = text.trim();
  if (value === '') return [0, 0];
  const [, start = '', sign, end = ''] = /^(.*?)(?:([-+])(.*))?$/s.exec(value) ?? [];
  const unread = [start, ...(sign === undefined ? [] : [end])].find((part) => !/^\d{1,18}$/.test(part));
  if (unread !== undefined) return `strconv.Atoi: parsing ${quoted(unread)}: invalid syntax`;
  const low = Number(start);
  const high = sign === undefined ? low : sign === '+' ? low + Number(end) : Number(end);
  if (low > highestPort || high > highestPort) {
    return `the port range cannot be greater than ${highestPort}: ${value}`;
  }
  return high < low ? `end port cannot be less than start port: ${value}` : [low, high];
}

export class NodePortRange {
  readonly first: number;
  readonly last: number;

  /** `30000-32767`, or `30000+2767`. Throws RangeError. */
  constructor(text: string) {
    const parsed = parsePortRange(text);
    if (typeof parsed === 'string') throw new RangeError(parsed);
    [this.first, this.last] = parsed;
  }

  get size(): number {
    return this.last - this.first + 1;
  }

  at(offset: number): number {
    return this.first + offset;
  }

  offsetOf(port: number): number | undefined {
    return port >= this.first && port <= this.last ? port - this.first : undefined;
  }
}
