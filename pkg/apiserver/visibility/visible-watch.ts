/**
 * A watch over all namespaces that passes on the events of visible ones. When permissions change, the objects that become
 * visible are added, and those that do not stay visible are deleted, between the events of before and those of after it.
 */
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { VisibilityChange, VisibilityFollower, VisibleNamespaces } from '#apiserver/http/visible-namespaces.js';
import { namespacesIn } from '#apiserver/visibility/namespaces-in.js';
import { firstSegment } from '#storage/cache/listing.js';
import { watchTooOld } from '#storage/errors.js';
import type { Entry, FollowedWatch, ResourceEvent, ResourceStorage, WatchListener } from '#storage/resource-storage.js';
import type { Revision } from '#storage/store.js';

export interface VisibleWatchOptions {
  readonly visible: VisibleNamespaces;
  readonly storage: Pick<ResourceStorage, 'prefix' | 'ready' | 'cachedIn' | 'watch'>;
  /** Starts the watch of all namespaces. */
  readonly session: FollowedWatch;
  /** What the watch selects; absent: everything. */
  readonly match: ((entry: Entry) => boolean) | undefined;
  /** The version after which the client resumes; undefined: the watch begins with the present state. */
  readonly since: Revision | undefined;
  readonly bookmarks: boolean;
  /** Aborts when the watch ends. */
  readonly signal: Cancellation;
  /** Lets other work run: undefined if there is none. */
  readonly pause: () => Promise<void> | undefined;
}

/** Events per batch. */
const batchSize = 500;

type Batch = readonly ResourceEvent[];

export class VisibleWatch implements FollowedWatch, WatchListener, VisibilityFollower {
  readonly #options: VisibleWatchOptions;
  /** The client must list again. */
  readonly #refused: unknown;
  #listener: WatchListener | undefined;
  /** Changes that the client has not been told of. */
  #pending: VisibilityChange[] = [];
  /** Batches that wait for the listener; the flag says that only this watch has them. */
  #queue: { readonly batch: Batch; readonly own: boolean }[] = [];
  #isBegun = false;
  #isPaused = false;
  #isOver = false;

  /** Follows changes of permissions until the signal aborts. */
  constructor(options: VisibleWatchOptions) {
    this.#options = options;
    const { visible, signal, since } = options;
    const leave = visible.follow(this);
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    const oldest = since === undefined ? 0n : visible.resumableFrom();
    this.#refused = since !== undefined && since < oldest ? watchTooOld(since, oldest) : undefined;
  }

  async opened(): Promise<void> {
    if (this.#refused !== undefined) throw this.#refused;
    await this.#options.session.opened();
  }

  follow(listener: WatchListener): void {
    this.#listener = listener;
    if (this.#refused === undefined) this.#options.session.follow(this);
    else this.ended({ error: this.#refused });
  }

  resume(): void {
    this.#isPaused = false;
    if (!this.#flush()) return;
    if (this.#pending.length > 0 && this.#isBegun) this.#settle();
    else this.#options.session.resume();
  }

  requestBookmark(): void {
    this.#options.session.requestBookmark();
  }

  /** Called by the session. */
  events(batch: Batch, beginning: boolean): boolean {
    const { visible } = this.#options;
    const last = batch.at(-1)?.revision;
    if (last !== undefined) {
      if (this.#pending.length > 0) visible.unsettled(last);
      else visible.sent(last);
    }
    const shown = this.#shown(batch);
    if (shown.length > 0) this.#queue.push({ batch: shown, own: beginning });
    return this.#flush();
  }

  /** Called by the session. */
  begun(): void {
    this.#isBegun = true;
    this.#listener?.begun?.();
    // The session goes on with the changes since its beginning first.
    if (this.#pending.length > 0) void Promise.resolve().then(() => this.#settle());
  }

  /** Called by the session. */
  ended(failure?: { readonly error: unknown }): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#listener?.ended(failure);
  }

  changed(change: VisibilityChange): void {
    this.#pending.push(change);
    const wait = this.#options.pause();
    if (wait === undefined) this.#settle();
    else void wait.then(() => this.#settle());
  }

  failed(error: unknown): void {
    this.ended({ error });
  }

  /** Passes queued batches on; false if the listener accepts nothing more for now. */
  #flush(): boolean {
    while (!this.#isPaused && !this.#isOver) {
      const next = this.#queue.shift();
      if (next === undefined) return true;
      if (this.#listener?.events(next.batch, next.own) !== true) this.#isPaused = true;
    }
    return false;
  }

  /** Tells the client of the pending changes, once it has all events from before them. */
  #settle(): void {
    if (!this.#isBegun || this.#isPaused || this.#isOver || this.#pending.length === 0) return;
    try {
      // All events up to the state of the cache come first.
      this.#options.session.resume();
      if (this.#isPaused || this.#isOver) return;
      const events = this.#differences();
      this.#pending = [];
      for (let at = 0; at < events.length; at += batchSize) {
        this.#queue.push({ batch: events.slice(at, at + batchSize), own: true });
      }
      this.#flush();
      // The versions of those objects are older than the change.
      if (events.length > 0 && this.#options.bookmarks) this.requestBookmark();
    } catch (error) {
      this.ended({ error });
    }
  }

  #differences(): ResourceEvent[] {
    const { visible, storage, match } = this.#options;
    const all = this.#pending.some(({ namespace }) => namespace === '');
    const concerned = all ? namespacesIn(storage) : new Set(this.#pending.map(({ namespace }) => namespace));
    const deleted: ResourceEvent[] = [];
    const added: ResourceEvent[] = [];
    for (const namespace of concerned) {
      const before = this.#admitted(namespace);
      const now = visible.admits(namespace);
      if (before === now) continue;
      for (const entry of entriesOf(storage, namespace)) {
        if (match?.(entry) === false) continue;
        if (now) added.push({ type: 'ADDED', entry, revision: entry.revision });
        else deleted.push({ type: 'DELETED', entry, revision: entry.revision });
      }
    }
    return [...deleted, ...added];
  }

  #shown(batch: Batch): Batch {
    const { prefix } = this.#options.storage;
    let last: { readonly namespace: string; readonly admitted: boolean } | undefined;
    const admits = (key: string) => {
      const namespace = firstSegment(key, prefix);
      if (last?.namespace !== namespace) last = { namespace, admitted: this.#admitted(namespace) };
      return last.admitted;
    };
    const shown = batch.filter((event) => event.type === 'BOOKMARK' || admits(event.entry.key));
    // Watches of the same events share their encoded form.
    return shown.length === batch.length ? batch : shown;
  }

  /** Whether the client sees the namespace, as far as it has been told. */
  #admitted(namespace: string): boolean {
    for (const change of this.#pending) {
      if (change.namespace === '' || change.namespace === namespace) return change.admitted(namespace);
    }
    return this.#options.visible.admits(namespace);
  }
}

/** The objects of a namespace, or the namespace itself. */
function entriesOf(storage: VisibleWatchOptions['storage'], namespace: string): readonly Entry[] {
  const inside = storage.cachedIn(`${namespace}/`);
  if (inside.length > 0) return inside;
  // Not `cached`: it may be ahead of the watch.
  return storage.cachedIn(namespace).filter(({ key }) => key === storage.prefix + namespace);
}
