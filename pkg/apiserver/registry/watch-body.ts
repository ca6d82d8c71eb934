/** The body of a watch: its events as bytes, from its beginning until the client, the server or its time ends it. */

import type { Cancellation, LazyAbort } from '#apimachinery/cancellation.js';
import type { Timer } from '#apimachinery/clock.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';
import type { WatchEventSeries } from '#apiserver/http/request-metrics.js';
import type { RegistryContext } from '#apiserver/registry/operation.js';
import type { WatchEnvironment } from '#apiserver/registry/watch-environment.js';
import { toStatus } from '#apiserver/representation/respond.js';
import type { FrameEncoder } from '#apiserver/representation/watch-events.js';
import { converted, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { StrategyEnvironment } from '#apiserver/resources/strategy-context.js';
import { type BodySink, pieces, SourceBody } from '#http/server/body.js';
import { WatchOverflowError } from '#storage/cache/watcher.js';
import type { Entry, ResourceEvent, ResourceWatch, WatchListener } from '#storage/resource-storage.js';

/** What watches use of the registry. */
export type WatchBodyContext = StrategyEnvironment &
  Pick<RegistryContext, 'metrics'> & { readonly watches: Pick<WatchEnvironment, 'closing' | 'frames'> };

export interface WatchBodyOptions {
  readonly registry: WatchBodyContext;
  readonly resource: ServedResource;
  readonly info: RequestInfo;
  readonly session: ResourceWatch;
  /** Ends the session. */
  readonly end: LazyAbort;
  readonly lifetimeMs: number;
  readonly bookmarks: boolean;
  readonly encoder: FrameEncoder;
  /** Of the request: the client is gone. */
  readonly cancellation: Cancellation;
}

/** Why a watch ends that nobody wants any more; one for all, since making errors is not cheap. */
const watchOver = new Error('the watch is over');

/** A bookmark is asked for this long before a watch's time is over, so that the client can go on from there. */
const lastBookmarkMs = 2000;

/** Whoever begins with more events begins with a state, of which nobody else will be sent the same ones. */
const mostShared = 400;

export class WatchBody extends SourceBody implements WatchListener {
  readonly #registry: WatchBodyContext;
  readonly #resource: ServedResource;
  readonly #session: ResourceWatch;
  readonly #end: LazyAbort;
  readonly #encoder: FrameEncoder;
  readonly #cancellation: Cancellation;
  /** For `start`. */
  #beginning: Pick<WatchBodyOptions, 'info' | 'lifetimeMs' | 'bookmarks'> | undefined;
  #sink: BodySink | undefined;
  #series: WatchEventSeries | undefined;
  #closed: (() => void) | undefined;
  #timer: Timer | undefined;
  #bookmark: Timer | undefined;
  /** Of a batch of which the sink has not taken everything yet. */
  #rest: Iterator<Buffer> | undefined;

  /** Listens to the request and the server from now on. */
  constructor(options: WatchBodyOptions) {
    super();
    const { registry, resource, session, end, encoder, cancellation } = options;
    this.#registry = registry;
    this.#resource = resource;
    this.#session = session;
    this.#end = end;
    this.#encoder = encoder;
    this.#cancellation = cancellation;
    this.#beginning = options;
    for (const signal of [cancellation, registry.watches.closing])
      signal.addEventListener('abort', this, { once: true });
    resource.retired?.addEventListener('abort', this);
    if (cancellation.aborted || registry.watches.closing.aborted || resource.retired?.aborted === true) this.#expire();
  }

  start(sink: BodySink): void {
    const { clock, metrics } = this.#registry;
    if (this.#beginning === undefined) throw new Error('a watch is read once');
    const { info, lifetimeMs, bookmarks } = this.#beginning;
    this.#beginning = undefined;
    this.#sink = sink;
    this.#timer = clock.setTimer(() => this.#expire(), lifetimeMs);
    if (bookmarks) {
      const bookmarkMs = Math.max(0, lifetimeMs - lastBookmarkMs);
      this.#bookmark = clock.setTimer(() => this.#session.requestBookmark(), bookmarkMs);
    }
    this.#closed = metrics.watchOpened(info);
    this.#series = metrics.watchEvents(info.group, info.version, this.#resource.declaration.kind);
    this.#session.follow(this);
  }

  resume(): void {
    if (this.#sink === undefined) return;
    if (this.#rest === undefined || this.#passOn(this.#rest)) this.#session.resume();
  }

  stop(): void {
    this.#sink = undefined;
    this.#leave();
  }

  /** For the signals: no more events come, but what has begun to be passed on is still passed on. */
  handleEvent(): void {
    this.#expire();
  }

  /** For the session. */
  events(batch: readonly ResourceEvent[], beginning: boolean): boolean {
    const later = this.#resource.conversion?.kind === 'remote' ? this.#converted(batch) : undefined;
    const shared = !beginning || batch.length <= mostShared;
    if (later === undefined) return this.#send(batch, shared);
    later.then(
      () => {
        if (this.#send(batch, shared)) this.#session.resume();
      },
      (error: unknown) => this.ended({ error }),
    );
    return false;
  }

  /** For the session. */
  ended(failure?: { readonly error: unknown }): void {
    const sink = this.#sink;
    if (sink === undefined) return;
    this.#sink = undefined;
    // A client that was too slow goes on from the last version that it has seen; an error would make it list again.
    const told = failure !== undefined && !this.#end.aborted && !(failure.error instanceof WatchOverflowError);
    if (told) sink.part(Buffer.concat(this.#encoder.error(toStatus(failure.error))));
    this.#leave();
    sink.ended();
  }

  #expire(): void {
    this.#cancellation.removeEventListener('abort', this);
    this.#registry.watches.closing.removeEventListener('abort', this);
    this.#resource.retired?.removeEventListener('abort', this);
    this.#end.abort(watchOver);
  }

  #leave(): void {
    const closed = this.#closed;
    this.#closed = undefined;
    closed?.();
    this.#timer?.cancel();
    this.#bookmark?.cancel();
    this.#expire();
  }

  #converted(batch: readonly ResourceEvent[]): Promise<undefined> | undefined {
    const later = converted(this.#resource, entriesOf(batch), this.#end);
    return later instanceof Promise ? later : undefined;
  }

  #send(batch: readonly ResourceEvent[], shared: boolean): boolean {
    try {
      return this.#encode(batch, shared);
    } catch (error) {
      this.ended({ error });
      return false;
    }
  }

  /** False when the sink takes nothing more for now. */
  #encode(batch: readonly ResourceEvent[], shared: boolean): boolean {
    if (batch.length === 0) return this.#sink !== undefined;
    const { form } = this.#encoder;
    if (form === undefined || !shared) return this.#passOn(pieces(this.#parts(batch)));
    const run = this.#registry.watches.frames.run(batch, 0, form, this.#encoder);
    if (run.sizes.length < batch.length) return this.#passOn(this.#runs(batch, form));
    this.#count(run.sizes);
    return this.#sink?.part(run.bytes) === true;
  }

  #count(sizes: readonly number[]): void {
    this.#series?.count.inc(sizes.length);
    for (const bytes of sizes) this.#series?.sizes.observe(bytes);
  }

  /** Gives the sink what it takes; false when some of it is left, or nothing more is to come for now. */
  #passOn(parts: Iterator<Buffer>): boolean {
    this.#rest = parts;
    for (let next = parts.next(); next.done !== true; next = parts.next()) {
      if (this.#sink?.part(next.value) !== true) return false;
    }
    this.#rest = undefined;
    return true;
  }

  /** In pieces that watches share. */
  *#runs(batch: readonly ResourceEvent[], form: string): Generator<Buffer> {
    for (let at = 0; at < batch.length; ) {
      const { bytes, sizes } = this.#registry.watches.frames.run(batch, at, form, this.#encoder);
      this.#count(sizes);
      at += sizes.length;
      yield bytes;
    }
  }

  *#parts(batch: readonly ResourceEvent[]): Generator<Buffer> {
    for (const event of batch) {
      let bytes = 0;
      for (const part of this.#encoder.event(event)) {
        bytes += part.length;
        yield part;
      }
      this.#count([bytes]);
    }
  }
}

function entriesOf(events: readonly ResourceEvent[]): Entry[] {
  return events.flatMap((event) => (event.type === 'BOOKMARK' ? [] : [event.entry]));
}
