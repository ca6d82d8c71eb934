/** The order of rows: by one column, then by namespace and name. Pure. */
import { durationMs } from '#dashboard/model/age.js';
import { type Cell, type Column, columnIndex, isAge, type Row } from '#dashboard/model/table.js';

export interface Sorting {
  readonly column: string;
  readonly descending: boolean;
}

/** Numbers come before texts. */
type Rank = number | string;

export type Compare = (a: Row, b: Row) => number;

const namespaceColumn = 'Namespace';

export function comparison(sorting: Sorting | undefined, columns: readonly Column[]): Compare {
  if (sorting === undefined) return byKey;
  const rank = rankOf(sorting.column, columns);
  if (rank === undefined) return byKey;
  const sign = sorting.descending ? -1 : 1;
  return (a, b) => sign * compareRanks(rank(a), rank(b)) || byKey(a, b);
}

function rankOf(name: string, columns: readonly Column[]): ((row: Row) => Rank) | undefined {
  if (name === namespaceColumn) return ({ namespace }) => namespace;
  const index = columnIndex(columns, name);
  const column = columns[index];
  if (column === undefined) return undefined;
  // The youngest first, as the ages' numbers say.
  if (isAge(column)) return ({ createdMs }) => (Number.isNaN(createdMs) ? 0 : -createdMs);
  return ({ cells }) => cellRank(cells[index] ?? null);
}

const binary: Readonly<Record<string, number>> = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50 };
const decimal: Readonly<Record<string, number>> = { m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 };

/** Durations, quantities, `2/3` and `7 (5m ago)` are ranked by their numbers. */
function cellRank(cell: Cell): Rank {
  if (typeof cell === 'number') return cell;
  if (cell === null) return '';
  const text = String(cell);
  const ms = durationMs(text);
  if (ms !== undefined && !/^\d+m$/.test(text)) return ms;
  const [, number, unit = ''] = /^(-?\d+(?:\.\d+)?)([KMGTP]i|[mkMGTP])?(?:$|[ /%(])/.exec(text) ?? [];
  if (number === undefined) return text.toLowerCase();
  // A column with `5m` has durations more often than thousandths.
  if (unit === 'm') return Number(number) * 60_000;
  return Number(number) * (binary[unit] ?? decimal[unit] ?? 1);
}

function compareRanks(a: Rank, b: Rank): number {
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

function byKey(a: Row, b: Row): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}
