/** The body of a watch: its events as bytes, until the client, the server or a timeout ends it. */

import { inSteps, type MaybePromise } from '#apimachinery/async/steps.js';
import type { Cancellation, LazyAbort } from '#apimachinery/cancellation.js';
import type { Timer } from '#apimachinery/clock.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';
import type { WatchEventSeries } from '#apiserver/http/request-metrics.js';
import type { RegistryContext } from '#apiserver/registry/operation.js';
import type { WatchEnvironment } from '#apiserver/registry/watch-environment.js';
import { toStatus } from '#apiserver/representation/respond.js';
import type { FrameEncoder } from '#apiserver/representation/watch-events.js';
import type { LargeView } from '#apiserver/resources/large-views.js';
import { converted, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { StrategyEnvironment } from '#apiserver/resources/strategy-context.js';
import { type BodySink, pieces, SourceBody } from '#http/server/body.js';
import { WatchOverflowError } from '#storage/cache/watcher.js';
import type { Entry, FollowedWatch, ResourceEvent, WatchListener } from '#storage/resource-storage.js';

/** Dependencies of a watch's body. */
export type WatchBodyContext = StrategyEnvironment &
  Pick<RegistryContext, 'metrics' | 'turns'> & { readonly watches: Pick<WatchEnvironment, 'closing' | 'frames'> };

export interface WatchBodyOptions {
  readonly registry: WatchBodyContext;
  readonly resource: ServedResource;
  readonly info: RequestInfo;
  readonly session: FollowedWatch;
  /** Aborts to end the session. */
  readonly end: LazyAbort;
  readonly lifetimeMs: number;
  readonly bookmarks: boolean;
  readonly encoder: FrameEncoder;
  /** Aborts when the client disconnects. */
  readonly cancellation: Cancellation;
  /** Called when the initial events are sent. */
  readonly initialized?: (() => void) | undefined;
}

/** Ends a session that is no longer needed; shared, because creating errors is expensive. */
const watchOver = new Error('the watch is over');

/** A watch requests a bookmark this long before its end, so that the client can resume from there. */
const lastBookmarkMs = 2000;

/** Limits of a first batch that may be changes, which other watches send, too; a larger one is a watch's initial state. */
const maxSharedEvents = 400;
const maxSharedBytes = 256 * 1024;

/** Limit of the large entries that a watch has in memory, unless a single one is larger. */
const maxHeldBytes = 4 * 1024 * 1024;

export class WatchBody extends SourceBody implements WatchListener {
  readonly #registry: WatchBodyContext;
  readonly #resource: ServedResource;
  readonly #session: FollowedWatch;
  readonly #end: LazyAbort;
  readonly #encoder: FrameEncoder;
  readonly #cancellation: Cancellation;
  /** Options that only `start` uses. */
  #beginning: Pick<WatchBodyOptions, 'info' | 'lifetimeMs' | 'bookmarks'> | undefined;
  #initialized: (() => void) | undefined;
  #sink: BodySink | undefined;
  #series: WatchEventSeries | undefined;
  #closed: (() => void) | undefined;
  #timer: Timer | undefined;
  #bookmark: Timer | undefined;
  /** The part of a batch that the sink has not accepted yet. */
  #rest: Iterator<Buffer> | undefined;
  /** Continues a batch that is sent slowly once the sink accepts more. */
  #accepts: (() => void) | undefined;

  /** Listens to the request's and the server's signals from now on. */
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
    this.#initialized = options.initialized;
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
    if (this.#rest !== undefined && !this.#passOn(this.#rest)) return;
    const accepts = this.#accepts;
    this.#accepts = undefined;
    if (accepts === undefined) this.#session.resume();
    else accepts();
  }

  stop(): void {
    this.#sink = undefined;
    this.#leave();
  }

  /** Called by the signals: no more events come, but a started batch is completed. */
  handleEvent(): void {
    this.#expire();
  }

  /** Called by the session. */
  events(batch: readonly ResourceEvent[], beginning: boolean): boolean {
    const conversion = this.#resource.conversion?.kind === 'remote' ? this.#converted(batch) : undefined;
    const shared = !beginning || isSmall(batch);
    if (conversion === undefined && this.#isReady(batch)) return this.#send(batch, shared);
    this.#sendSlowly(batch, shared, conversion).then(
      (goesOn) => {
        if (goesOn) this.#session.resume();
      },
      (error: unknown) => this.ended({ error }),
    );
    return false;
  }

  #isReady(batch: readonly ResourceEvent[]): boolean {
    const { prepare, isReady } = this.#encoder;
    if (prepare === undefined) return true;
    return batch.every((event) => event.type === 'BOOKMARK' || isReady?.(event.entry) === true);
  }

  /** Sends events that take long to encode in pieces of limited memory. Resolves with false once the watch has ended. */
  async #sendSlowly(
    batch: readonly ResourceEvent[],
    shared: boolean,
    conversion: Promise<readonly LargeView[] | undefined> | undefined,
  ): Promise<boolean> {
    const converted = [...((await conversion) ?? [])];
    for (let from = 0, to = 0; from < batch.length; from = to) {
      const held: LargeView[] = [];
      for (let bytes = 0; to < batch.length && bytes < maxHeldBytes; to++) {
        const view = await this.#prepared(batch[to] as ResourceEvent);
        if (view === undefined) continue;
        held.push(view);
        bytes += view.bytes.length;
      }
      const piece = from === 0 && to === batch.length ? batch : batch.slice(from, to);
      if (!this.#send(piece, shared, held)) {
        if (this.#sink === undefined) return false;
        await new Promise<void>((resolve) => {
          this.#accepts = resolve;
        });
      }
    }
    // Referred to after the last event, so that it lives until then.
    converted.length = 0;
    return this.#sink !== undefined;
  }

  #prepared(event: ResourceEvent): MaybePromise<LargeView | undefined> {
    const steps = event.type === 'BOOKMARK' ? undefined : this.#encoder.prepare?.(event.entry);
    return steps && inSteps(steps, () => this.#registry.turns.bulk.pause());
  }

  /** Called by the session. */
  begun(): void {
    this.#initialized?.();
    this.#initialized = undefined;
  }

  /** Called by the session. */
  ended(failure?: { readonly error: unknown }): void {
    const sink = this.#sink;
    if (sink === undefined) return;
    this.#sink = undefined;
    // A client that was too slow resumes from its last version; an error would make it list again.
    const isReported = failure !== undefined && !this.#end.aborted && !(failure.error instanceof WatchOverflowError);
    if (isReported) sink.part(Buffer.concat(this.#encoder.error(toStatus(failure.error))));
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

  #converted(batch: readonly ResourceEvent[]): Promise<readonly LargeView[] | undefined> | undefined {
    const conversion = converted(this.#resource, entriesOf(batch), this.#end);
    return conversion instanceof Promise ? conversion : undefined;
  }

  #send(batch: readonly ResourceEvent[], shared: boolean, held: LargeView[] = []): boolean {
    try {
      return this.#encode(batch, shared, held);
    } catch (error) {
      this.ended({ error });
      return false;
    }
  }

  /** Returns false if the sink accepts nothing more for now. */
  #encode(batch: readonly ResourceEvent[], shared: boolean, held: LargeView[]): boolean {
    if (batch.length === 0) return this.#sink !== undefined;
    const { form } = this.#encoder;
    if (form === undefined || !shared) return this.#passOn(pieces(holding(this.#parts(batch), held)));
    const run = this.#registry.watches.frames.run(batch, 0, form, this.#encoder);
    if (run.sizes.length < batch.length) return this.#passOn(holding(this.#runs(batch, form), held));
    this.#count(run.sizes);
    return this.#sink?.part(run.bytes) === true;
  }

  #count(sizes: readonly number[]): void {
    this.#series?.count.inc(sizes.length);
    for (const bytes of sizes) this.#series?.sizes.observe(bytes);
  }

  /** Passes parts to the sink; returns false if some are left or the sink accepts nothing more for now. */
  #passOn(parts: Iterator<Buffer>): boolean {
    this.#rest = parts;
    for (let next = parts.next(); next.done !== true; next = parts.next()) {
      if (this.#sink?.part(next.value) !== true) return false;
    }
    this.#rest = undefined;
    return true;
  }

  /** Encodes a batch in pieces that watches share. */
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

/** Refers to the views after the last part, so that they live until then. */
function* holding(parts: Iterable<Buffer>, held: LargeView[]): Generator<Buffer> {
  yield* parts;
  held.length = 0;
}

function isSmall(batch: readonly ResourceEvent[]): boolean {
  if (batch.length > maxSharedEvents) return false;
  let bytes = 0;
  for (const event of batch) if (event.type !== 'BOOKMARK') bytes += event.entry.size;
  return bytes <= maxSharedBytes;
}

function entriesOf(events: readonly ResourceEvent[]): Entry[] {
  return events.flatMap((event) => (event.type === 'BOOKMARK' ? [] : [event.entry]));
}
