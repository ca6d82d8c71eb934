/** The store as a reading thread has it: its own connection, but for what only the thread knows that follows it. */
import { ForwardingStore } from '#storage/forwarding-store.js';
import type { Subscriber } from '#storage/shared/subscriber.js';
import type { Store } from '#storage/store.js';

export class FollowingStore extends ForwardingStore {
  readonly #subscriber: Subscriber;

  constructor(below: Store, subscriber: Subscriber) {
    super(below);
    this.#subscriber = subscriber;
  }

  override requestProgress(start?: string): void {
    if (start === undefined || this.#subscriber.follows(start)) this.#subscriber.requestProgress(start);
    else this.below.requestProgress(start);
  }
}
