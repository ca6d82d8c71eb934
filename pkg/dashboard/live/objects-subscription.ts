import type { ObjectsHolder } from '#dashboard/live/objects-holder.js';
import type { Shared } from '#dashboard/live/shared-sources.js';
import type { Subscription, SubscriptionContext } from '#dashboard/live/subscription.js';
import type { ObjectsSpec, ObjectsState } from '#dashboard/model/messages.js';

/** All objects of a few small collections. */
export class ObjectsSubscription implements Subscription<'objects'> {
  readonly #context: SubscriptionContext;
  readonly #key: string;
  readonly #shared: readonly Shared<ObjectsHolder>[];

  constructor(spec: ObjectsSpec, context: SubscriptionContext) {
    this.#context = context;
    this.#key = JSON.stringify(spec);
    this.#shared = spec.sources.map((query) => context.sources.objects(query));
    for (const { listeners } of this.#shared) listeners.add(context.touch);
    context.touch();
  }

  change(spec: ObjectsSpec): boolean {
    return JSON.stringify(spec) === this.#key;
  }

  state(): ObjectsState {
    return {
      lists: this.#shared.map(({ holder, source: { liveness, trouble, isPartial } }) => ({
        items: [...holder.objects.values()],
        ...{ liveness, trouble, isPartial },
      })),
    };
  }

  close(): void {
    for (const shared of this.#shared) {
      shared.listeners.delete(this.#context.touch);
      this.#context.sources.release(shared);
    }
  }
}
