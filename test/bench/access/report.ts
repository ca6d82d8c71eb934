/** One line for each row: the three servers' figures and what they should be. */
import { ms } from '#test/bench/access/measure.js';

export interface RowLimits {
  /** At most that many times the bare server's. */
  readonly ratio?: number;
  /** At most that many ms. */
  readonly ms?: number;
  /** At most that part of the peer's. */
  readonly peer?: number;
}

export interface RowFigures {
  readonly bare?: number;
  readonly orch: number;
  readonly peer?: number;
}

function judged(value: number, limit: number | undefined, show: (value: number) => string): string {
  if (limit === undefined) return show(value);
  return `${show(value)} (≤ ${show(limit)}${value <= limit ? '' : ', MISSED'})`;
}

const times = (value: number): string => `${value.toFixed(2)}×`;

/** In ms of CPU per operation, or in another unit that `show` writes. */
export function row(name: string, figures: RowFigures, limits: RowLimits = {}, show: (value: number) => string = ms) {
  const { bare, orch, peer } = figures;
  const parts = [limits.ms === undefined ? show(orch) : judged(orch, limits.ms, show)];
  if (bare !== undefined) parts.push(`bare ${show(bare)}`, judged(orch / bare, limits.ratio, times));
  if (peer !== undefined) {
    const part = limits.peer === undefined ? undefined : limits.peer;
    parts.push(
      `peer ${show(peer)}`,
      judged(orch / peer, part, (value) => `1/${(1 / value).toFixed(1)}`),
    );
  }
  process.stdout.write(`${name.padEnd(50)} ${parts.join('   ')}\n`);
}
