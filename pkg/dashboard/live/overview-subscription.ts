import type { Shared } from '#dashboard/live/shared-sources.js';
import type { Subscription, SubscriptionContext } from '#dashboard/live/subscription.js';
import type { RowObserver, TableHolder } from '#dashboard/live/table-holder.js';
import type { OverviewSpec } from '#dashboard/model/messages.js';
import {
  type CountedKind,
  countedKinds,
  type Overview,
  overviewOf,
  Troubles,
  warningsOf,
} from '#dashboard/model/overview.js';
import { type CellReader, cellReader, type Row } from '#dashboard/model/table.js';

/** Objects that take too long become troubles without a change; they are checked this often. */
const checkedMs = 15_000;

class Counter implements RowObserver {
  readonly of: CountedKind;
  readonly shared: Shared<TableHolder>;
  readonly troubles: Troubles;
  readonly #now: () => number;
  #read: CellReader = () => '';
  #checkedMs = Number.NEGATIVE_INFINITY;

  constructor(of: CountedKind, shared: Shared<TableHolder>, now: () => number) {
    this.of = of;
    this.shared = shared;
    this.troubles = new Troubles(of.kind);
    this.#now = now;
    shared.holder.observers.add(this);
    this.reset();
  }

  reset(): void {
    this.#read = cellReader(this.shared.holder.columns);
    this.#checkedMs = Number.NEGATIVE_INFINITY;
  }

  changed(before: Row | undefined, after: Row | undefined): void {
    if (after !== undefined) this.troubles.set(this.#read, after, this.#now());
    else if (before !== undefined) this.troubles.delete(before.key);
  }

  /** Checks all rows, if that is due. */
  check(): void {
    const nowMs = this.#now();
    if (nowMs - this.#checkedMs < checkedMs) return;
    this.#checkedMs = nowMs;
    this.troubles.clear();
    for (const row of this.shared.holder.rows.values()) this.troubles.set(this.#read, row, nowMs);
  }
}

export class OverviewSubscription implements Subscription<'overview'> {
  readonly #context: SubscriptionContext;
  readonly #namespace: string | undefined;
  readonly #counters: readonly Counter[];
  readonly #events: Shared<TableHolder>;

  constructor({ namespace }: OverviewSpec, context: SubscriptionContext) {
    this.#context = context;
    this.#namespace = namespace;
    const place = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
    const shown = countedKinds.filter(({ isNamespaced }) => isNamespaced || namespace === undefined);
    this.#counters = shown.map((of) => {
      const shared = context.sources.table({ path: `/${of.base}${place}/${of.resource}` });
      return new Counter(of, shared, context.now);
    });
    this.#events = context.sources.table({ path: `/api/v1${place}/events`, fieldSelector: 'type!=Normal' });
    for (const { listeners } of this.#all()) listeners.add(context.touch);
    context.touch();
  }

  change({ namespace }: OverviewSpec): boolean {
    return namespace === this.#namespace;
  }

  state(): Overview {
    for (const counter of this.#counters) counter.check();
    const counted = this.#counters.map(({ of, troubles, shared: { holder, source } }) => ({
      ...{ of, troubles },
      total: holder.rows.size,
      isLoading: source.liveness === 'loading',
      trouble: source.trouble,
      isPartial: source.isPartial,
    }));
    const { columns, rows } = this.#events.holder;
    return overviewOf(counted, warningsOf(columns, rows.values()));
  }

  close(): void {
    for (const counter of this.#counters) counter.shared.holder.observers.delete(counter);
    for (const shared of this.#all()) {
      shared.listeners.delete(this.#context.touch);
      this.#context.sources.release(shared);
    }
  }

  #all(): Shared<TableHolder>[] {
    return [...this.#counters.map(({ shared }) => shared), this.#events];
  }
}
