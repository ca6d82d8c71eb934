/** The rows of a table that a page shows at its place of scrolling. */
import type { Shared } from '#dashboard/live/shared-sources.js';
import type { Subscription, SubscriptionContext } from '#dashboard/live/subscription.js';
import type { RowObserver, TableHolder } from '#dashboard/live/table-holder.js';
import { parseFilter } from '#dashboard/model/filter.js';
import type { TableSpec, TableState } from '#dashboard/model/messages.js';
import { comparison } from '#dashboard/model/order.js';
import { SortedRows } from '#dashboard/model/sorted-rows.js';
import type { Row } from '#dashboard/model/table.js';

/** More changes at once are cheaper to sort anew. */
const maxChanges = 200;

export class TableSubscription implements Subscription<'table'>, RowObserver {
  readonly #context: SubscriptionContext;
  readonly #shared: Shared<TableHolder>;
  #spec: TableSpec;
  /** Undefined: to be sorted anew. */
  #rows: SortedRows | undefined;
  #changes: (readonly [Row | undefined, Row | undefined])[] = [];

  constructor(spec: TableSpec, context: SubscriptionContext) {
    this.#spec = spec;
    this.#context = context;
    this.#shared = context.sources.table(spec);
    this.#shared.holder.observers.add(this);
    this.#shared.listeners.add(context.touch);
    context.touch();
  }

  reset(): void {
    this.#rows = undefined;
    this.#changes = [];
  }

  changed(before: Row | undefined, after: Row | undefined): void {
    if (this.#rows === undefined) return;
    if (this.#changes.length >= maxChanges) this.reset();
    else this.#changes.push([before, after]);
  }

  change(spec: TableSpec): boolean {
    const { path, labelSelector, fieldSelector, filter, sorting } = this.#spec;
    if (spec.path !== path || spec.labelSelector !== labelSelector || spec.fieldSelector !== fieldSelector)
      return false;
    if (
      spec.filter !== filter ||
      spec.sorting?.column !== sorting?.column ||
      spec.sorting?.descending !== sorting?.descending
    )
      this.reset();
    this.#spec = spec;
    this.#context.touch();
    return true;
  }

  state(): TableState {
    const { holder, source } = this.#shared;
    const { filter, sorting, first, count } = this.#spec;
    const { columns } = holder;
    if (this.#rows === undefined) {
      this.#rows = new SortedRows(holder.rows.values(), comparison(sorting, columns), parseFilter(filter, columns));
    } else for (const [before, after] of this.#changes) this.#rows.replace(before, after);
    this.#changes = [];
    return {
      ...{ columns, first },
      rows: this.#rows.slice(first, count),
      matching: this.#rows.length,
      total: holder.rows.size,
      liveness: source.liveness,
      trouble: source.trouble,
      isPartial: source.isPartial,
    };
  }

  close(): void {
    this.#shared.holder.observers.delete(this);
    this.#shared.listeners.delete(this.#context.touch);
    this.#context.sources.release(this.#shared);
  }
}
