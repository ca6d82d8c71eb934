/** Rows that match a filter, in order. One changed row costs two binary searches, whatever the number of rows. */
import type { RowTest } from '#dashboard/model/filter.js';
import type { Compare } from '#dashboard/model/order.js';
import type { Row } from '#dashboard/model/table.js';

export class SortedRows {
  readonly #compare: Compare;
  readonly #test: RowTest | undefined;
  #rows: Row[];

  constructor(rows: Iterable<Row>, compare: Compare, test: RowTest | undefined) {
    this.#compare = compare;
    this.#test = test;
    this.#rows = [...rows].filter((row) => test?.(row) !== false).sort(compare);
  }

  get length(): number {
    return this.#rows.length;
  }

  /** `before` is the row that it replaces. */
  replace(before: Row | undefined, after: Row | undefined): void {
    if (before !== undefined && this.#test?.(before) !== false) {
      const at = this.#place(before);
      if (this.#rows[at]?.key === before.key) this.#rows.splice(at, 1);
    }
    if (after !== undefined && this.#test?.(after) !== false) this.#rows.splice(this.#place(after), 0, after);
  }

  slice(first: number, count: number): Row[] {
    return this.#rows.slice(Math.max(0, first), Math.max(0, first) + count);
  }

  /** The first place whose row is not before this one. */
  #place(row: Row): number {
    let low = 0;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(this.#rows[middle] as Row, row) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
