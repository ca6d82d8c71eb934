/** Watches: a stream of changes as JSON lines or Protobuf frames, of objects, Tables or metadata. */

import type { Cancellation } from '#apimachinery/cancellation.js';
import { mediaTypeOf } from '#apimachinery/codec/negotiate.js';
import { isExpired } from '#apimachinery/errors/status.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { LazyAbort } from '#apiserver/http/lazy-abort.js';
import type { Negotiated, Transform } from '#apiserver/http/media-type.js';
import { pieces } from '#apiserver/http/parts-body.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';
import { watchRequest } from '#apiserver/registry/list-options.js';
import type { Operation } from '#apiserver/registry/operation.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import { onlyField, selection } from '#apiserver/registry/selection.js';
import type { WatchLimits } from '#apiserver/registry/watch-limits.js';
import { toStatus } from '#apiserver/representation/respond.js';
import { includeObject } from '#apiserver/representation/table.js';
import { type FrameEncoder, jsonFrames, protobufFrames, tableFrames } from '#apiserver/representation/watch-frames.js';
import { converted, type ServedResource, scopeOf } from '#apiserver/resources/served-resource.js';
import type { StrategyEnvironment } from '#apiserver/resources/strategy-context.js';
import { WatchOverflowError } from '#storage/cache/watcher.js';
import type { Entry, ReadVersion, ResourceEvent, ResourceWatch } from '#storage/resource-storage.js';

/** What watches use of the registry. */
type WatchContext = StrategyEnvironment &
  WatchLimits &
  Pick<RegistryContext, 'codec' | 'frames' | 'metrics' | 'random' | 'responder'>;

const watchTransforms: readonly Transform['kind'][] = ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'];

/** Why a watch ends that nobody wants any more; one for all, since making errors is not cheap. */
const watchOver = new Error('the watch is over');

/** A bookmark is asked for this long before a watch's time is over, so that the client can go on from there. */
const lastBookmarkMs = 2000;

/**
 * The answer to a watch. A server that cannot watch now (429, 504) says so at once; a version that is too old (410) and
 * everything later arrives as an ERROR event behind status 200, as clients of 1.24 expect it.
 */
export async function watchObjects(operation: Operation<WatchContext>): Promise<ApiResponse> {
  const { registry } = operation;
  const form = negotiateWatch(operation);
  const frames = await openWatch(operation, form);
  const media = mediaTypeOf(form.format, registry.dialect);
  const contentType = form.format === 'json' ? media : `${media};stream=watch`;
  return { status: 200, headers: { 'content-type': contentType }, body: frames };
}

/** The form that a watch is wanted in; 406 when there is none. */
export function negotiateWatch(operation: Operation<WatchContext>): Negotiated {
  const { registry, context, resource } = operation;
  const type = { apiVersion: resource.apiVersion, kind: resource.declaration.kind };
  const formats = registry.codec.hasProtobuf(type) ? (['json', 'protobuf'] as const) : (['json'] as const);
  return registry.responder.negotiate(context, watchTransforms, formats);
}

/** The frames of a watch, one buffer per batch of events. Throws 400 and 422 at once for bad options. */
export async function openWatch(operation: Operation<WatchContext>, form: Negotiated): Promise<AsyncIterable<Buffer>> {
  const { registry, context, resource } = operation;
  const { query, namespace } = context.info;
  const asked = watchRequest(registry.dialect, query);
  const { bookmarks, sendInitialEvents, timeoutMs } = asked;
  const match = selection(resource, context.info);
  const only = onlyField(resource, context.info);
  const encoder = encoderFor(operation, form);
  const lifetimeMs = timeoutMs ?? registry.minWatchTimeoutMs * (1 + registry.random());
  const scope = scopeOf(resource, namespace);
  const version = asked.skipInitialEvents
    ? await presentVersion(resource, scope, asked.version, context.cancellation)
    : asked.version;
  const end = new LazyAbort();
  const session = resource.storage.watch({
    scope,
    version,
    bookmarks,
    signal: end,
    ...(sendInitialEvents ? { sendInitialEvents } : {}),
    ...(match === undefined ? {} : { match }),
    ...(only === undefined ? {} : { only }),
  });
  const release = endWith([context.cancellation, registry.closing], end);
  try {
    await session.opened();
  } catch (error) {
    if (!isExpired(error)) {
      release();
      end.abort(watchOver);
      throw error;
    }
  }
  return run({
    release,
    registry,
    resource,
    info: context.info,
    session,
    end,
    lifetimeMs,
    bookmarks,
    encoder,
  });
}

/** Where a watch begins that wants what comes after the state that it could have had. */
async function presentVersion(
  resource: ServedResource,
  scope: string,
  version: ReadVersion,
  signal: Cancellation,
): Promise<ReadVersion> {
  const { revision } = await resource.storage.list({ scope, version, limit: 1, signal });
  return { kind: 'exact', revision };
}

function encoderFor(operation: Operation<WatchContext>, form: Negotiated): FrameEncoder {
  const { registry, context, resource } = operation;
  if (form.format === 'protobuf') return protobufFrames(registry, resource, form.transform);
  const { transform } = form;
  if (transform?.kind === 'Table') {
    return tableFrames(registry, resource, transform, includeObject(context.info.query));
  }
  return jsonFrames(registry, resource, transform);
}

/** Aborts `end` when one of the signals does; the result stops listening to them. */
function endWith(signals: readonly Cancellation[], end: LazyAbort): () => void {
  const release = () => {
    for (const signal of signals) signal.removeEventListener('abort', stop);
  };
  const stop = () => {
    release();
    end.abort(watchOver);
  };
  for (const signal of signals) signal.addEventListener('abort', stop, { once: true });
  if (signals.some((signal) => signal.aborted)) stop();
  return release;
}

interface Run {
  readonly registry: WatchContext;
  readonly resource: ServedResource;
  readonly release: () => void;
  readonly info: RequestInfo;
  readonly session: ResourceWatch;
  readonly end: LazyAbort;
  readonly lifetimeMs: number;
  readonly bookmarks: boolean;
  readonly encoder: FrameEncoder;
}

async function* run(watch: Run): AsyncGenerator<Buffer> {
  const { registry, session, end, lifetimeMs, encoder } = watch;
  const stop = () => end.abort(watchOver);
  const timer = registry.clock.setTimer(stop, lifetimeMs);
  const bookmark = watch.bookmarks
    ? registry.clock.setTimer(() => session.requestBookmark(), Math.max(0, lifetimeMs - lastBookmarkMs))
    : undefined;
  const closed = registry.metrics.watchOpened(watch.info);
  const { group, version } = watch.info;
  const sent = registry.metrics.watchEvents(group, version, watch.resource.declaration.kind);
  try {
    for await (const events of session) {
      if (watch.resource.conversion?.kind === 'remote') {
        const later = converted(watch.resource, entriesOf(events), end);
        if (later !== undefined) await later;
      }
      const [event] = events;
      const { form } = encoder;
      if (form === undefined || event === undefined || events.length > 1) {
        yield* pieces(partsOf(encoder, events, sent));
        continue;
      }
      const frame = registry.frames.bytes(event, form, () => encoder.event(event));
      sent(frame.length);
      yield frame;
    }
  } catch (error) {
    // A client that was too slow goes on from the last version that it has seen; an error would make it list again.
    if (end.aborted || error instanceof WatchOverflowError) return;
    yield Buffer.concat(encoder.error(toStatus(error)));
  } finally {
    closed();
    timer.cancel();
    bookmark?.cancel();
    watch.release();
    stop();
  }
}

function entriesOf(events: readonly ResourceEvent[]): Entry[] {
  return events.flatMap((event) => (event.type === 'BOOKMARK' ? [] : [event.entry]));
}

function* partsOf(
  encoder: FrameEncoder,
  events: readonly ResourceEvent[],
  sent: (bytes: number) => void,
): Generator<Buffer> {
  for (const event of events) {
    let bytes = 0;
    for (const part of encoder.event(event)) {
      bytes += part.length;
      yield part;
    }
    sent(bytes);
  }
}
