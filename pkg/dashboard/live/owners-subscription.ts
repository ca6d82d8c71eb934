import type { Shared } from '#dashboard/live/shared-sources.js';
import type { Subscription, SubscriptionContext } from '#dashboard/live/subscription.js';
import type { TableHolder } from '#dashboard/live/table-holder.js';
import type { OwnersSpec, OwnersState } from '#dashboard/model/messages.js';
import { ownerTree } from '#dashboard/model/owner-tree.js';
import { cellReader } from '#dashboard/model/table.js';

/** The tree of an object's owners, of tables that are read anyway or small. */
export class OwnersSubscription implements Subscription<'owners'> {
  readonly #context: SubscriptionContext;
  readonly #spec: OwnersSpec;
  readonly #tables: readonly Shared<TableHolder>[];

  constructor(spec: OwnersSpec, context: SubscriptionContext) {
    this.#spec = spec;
    this.#context = context;
    this.#tables = spec.kinds.map(({ path }) => context.sources.table({ path }));
    for (const { listeners } of this.#tables) listeners.add(context.touch);
    context.touch();
  }

  change(spec: OwnersSpec): boolean {
    return JSON.stringify(spec) === JSON.stringify(this.#spec);
  }

  state(): OwnersState {
    const kinds = this.#tables.map(({ holder: { columns, rows } }, i) => {
      const { group = '', resource = '', kind = '' } = this.#spec.kinds[i] ?? {};
      const read = cellReader(columns);
      const statusOf = (row: Parameters<typeof read>[0]) => read(row, 'Status') || read(row, 'Ready');
      return { group, resource, kind, statusOf, rows: rows.values() };
    });
    return {
      nodes: ownerTree(kinds, this.#spec.uid),
      isLoading: this.#tables.some(
        ({ source: { liveness, trouble } }) => liveness === 'loading' && trouble === undefined,
      ),
    };
  }

  close(): void {
    for (const shared of this.#tables) {
      shared.listeners.delete(this.#context.touch);
      this.#context.sources.release(shared);
    }
  }
}
