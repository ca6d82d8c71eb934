import type { ObjectsHolder } from '#dashboard/live/objects-holder.js';
import type { Shared } from '#dashboard/live/shared-sources.js';
import type { Subscription, SubscriptionContext } from '#dashboard/live/subscription.js';
import type { RowObserver, TableHolder } from '#dashboard/live/table-holder.js';
import type { NodesSpec, NodesState } from '#dashboard/model/messages.js';
import { type NodeObject, nodeFill, type UsageObject } from '#dashboard/model/node-fill.js';
import { type CellReader, cellReader, type Row } from '#dashboard/model/table.js';

/** Pods that have ended take nothing. */
const ended = /^(?:Completed|Succeeded|Failed|Error|Evicted)$/;

/** The fill of each node; pods are counted as they change. */
export class NodesSubscription implements Subscription<'nodes'>, RowObserver {
  readonly #context: SubscriptionContext;
  readonly #key: string;
  readonly #nodes: Shared<ObjectsHolder>;
  readonly #usage: Shared<ObjectsHolder> | undefined;
  readonly #pods: Shared<TableHolder>;
  readonly #counts = new Map<string, number>();
  #read: CellReader = () => '';

  constructor(spec: NodesSpec, context: SubscriptionContext) {
    this.#context = context;
    this.#key = JSON.stringify(spec);
    this.#nodes = context.sources.objects({ path: '/api/v1/nodes' });
    const { usagePath } = spec;
    this.#usage = usagePath === undefined ? undefined : context.sources.objects({ path: usagePath, isUnwatched: true });
    this.#pods = context.sources.table({ path: '/api/v1/pods' });
    this.#pods.holder.observers.add(this);
    for (const { listeners } of this.#all()) listeners.add(context.touch);
    this.reset();
    context.touch();
  }

  reset(): void {
    this.#read = cellReader(this.#pods.holder.columns);
    this.#counts.clear();
    for (const row of this.#pods.holder.rows.values()) this.#count(row, 1);
  }

  changed(before: Row | undefined, after: Row | undefined): void {
    if (before !== undefined) this.#count(before, -1);
    if (after !== undefined) this.#count(after, 1);
  }

  change(spec: NodesSpec): boolean {
    return JSON.stringify(spec) === this.#key;
  }

  state(): NodesState {
    const { holder, source } = this.#nodes;
    const usage = this.#usage?.holder.objects;
    const nodes = [...holder.objects].map(([key, node]) =>
      nodeFill(
        node as NodeObject,
        this.#counts.get(node.metadata.name ?? '') ?? 0,
        usage?.get(key) as UsageObject | undefined,
      ),
    );
    nodes.sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
    return { nodes, trouble: source.trouble, isLoading: source.liveness === 'loading' };
  }

  close(): void {
    this.#pods.holder.observers.delete(this);
    for (const shared of this.#all()) {
      shared.listeners.delete(this.#context.touch);
      this.#context.sources.release(shared);
    }
  }

  #count(row: Row, step: number): void {
    const node = this.#read(row, 'Node');
    if (node === '' || ended.test(this.#read(row, 'Status'))) return;
    this.#counts.set(node, (this.#counts.get(node) ?? 0) + step);
  }

  #all() {
    return [this.#nodes, this.#pods, ...(this.#usage === undefined ? [] : [this.#usage])];
  }
}
