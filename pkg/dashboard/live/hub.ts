/** All subscriptions of a page. Changes are sent together, a few times a second at most. */
import type { Clock, Timer } from '#apimachinery/clock.js';
import { NodesSubscription } from '#dashboard/live/nodes-subscription.js';
import { ObjectsSubscription } from '#dashboard/live/objects-subscription.js';
import { OverviewSubscription } from '#dashboard/live/overview-subscription.js';
import { OwnersSubscription } from '#dashboard/live/owners-subscription.js';
import { SharedSources, type SharedSourcesOptions } from '#dashboard/live/shared-sources.js';
import type { Subscription, SubscriptionContext } from '#dashboard/live/subscription.js';
import { TableSubscription } from '#dashboard/live/table-subscription.js';
import type { LiveSpec, LiveSpecs, LiveState, LiveType } from '#dashboard/model/messages.js';

/** Shortest time between two states: events of a rollout come in bursts, and some states have a part for each node. */
const pausesMs: Readonly<Record<LiveType, number>> = {
  table: 50,
  objects: 50,
  overview: 250,
  owners: 250,
  nodes: 1000,
};
const firstPauseMs = 30;
/** Subscriptions are sent this often without a change, because objects that take too long become troubles. */
const idleMs = 15_000;

type Factories = { readonly [T in LiveType]: (spec: LiveSpecs[T], context: SubscriptionContext) => Subscription<T> };

const factories: Factories = {
  table: (spec, context) => new TableSubscription(spec, context),
  objects: (spec, context) => new ObjectsSubscription(spec, context),
  overview: (spec, context) => new OverviewSubscription(spec, context),
  owners: (spec, context) => new OwnersSubscription(spec, context),
  nodes: (spec, context) => new NodesSubscription(spec, context),
};

interface Shown {
  readonly type: LiveType;
  readonly subscription: { change(spec: LiveSpec): boolean; state(): LiveState; close(): void };
  /** When its last state was sent. */
  sentMs: number;
}

export class Hub {
  readonly #clock: Clock;
  readonly #sources: SharedSources;
  readonly #send: (id: number, state: LiveState) => void;
  readonly #shown = new Map<number, Shown>();
  readonly #touched = new Set<number>();
  #timer: Timer | undefined;
  #idle: Timer | undefined;

  constructor(options: SharedSourcesOptions, send: (id: number, state: LiveState) => void) {
    this.#clock = options.clock;
    this.#sources = new SharedSources(options);
    this.#send = send;
    this.#beat();
  }

  show(id: number, spec: LiveSpec): void {
    const shown = this.#shown.get(id);
    if (shown?.type === spec.type && shown.subscription.change(spec)) return;
    const { subscription } = this.#create(id, spec);
    this.#shown.set(id, { type: spec.type, subscription, sentMs: Number.NEGATIVE_INFINITY });
    // After the new one, which may use the same sources.
    shown?.subscription.close();
  }

  end(id: number): void {
    this.#shown.get(id)?.subscription.close();
    this.#shown.delete(id);
    this.#touched.delete(id);
  }

  close(): void {
    for (const id of [...this.#shown.keys()]) this.end(id);
    this.#timer?.cancel();
    this.#idle?.cancel();
    this.#sources.close();
  }

  /** The type selects the factory, and with it the type of specification and state. */
  #create(id: number, spec: LiveSpec): Pick<Shown, 'subscription'> {
    const touch = () => this.#touch(id);
    const context = { sources: this.#sources, now: () => this.#clock.now(), touch };
    const create = factories[spec.type] as (spec: LiveSpec, context: SubscriptionContext) => Shown['subscription'];
    return { subscription: create(spec, context) };
  }

  #touch(id: number): void {
    this.#touched.add(id);
    this.#timer ??= this.#clock.setTimer(() => this.#flush(), firstPauseMs);
  }

  #flush(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonic();
    for (const id of [...this.#touched]) {
      const shown = this.#shown.get(id);
      if (shown !== undefined && nowMs - shown.sentMs < pausesMs[shown.type]) continue;
      this.#touched.delete(id);
      if (shown === undefined) continue;
      shown.sentMs = nowMs;
      this.#send(id, shown.subscription.state());
    }
    if (this.#touched.size > 0) this.#timer ??= this.#clock.setTimer(() => this.#flush(), firstPauseMs);
  }

  #beat(): void {
    this.#idle = this.#clock.setTimer(() => {
      for (const [id, { type }] of this.#shown) if (type === 'overview') this.#touch(id);
      this.#beat();
    }, idleMs);
  }
}
