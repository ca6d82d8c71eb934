/** Watches: streams of changes as JSON lines or Protobuf frames, of objects, Tables or metadata. */

import { type Cancellation, LazyAbort } from '#apimachinery/cancellation.js';
import { mediaTypeOf } from '#apimachinery/codec/negotiate.js';
import { isExpired } from '#apimachinery/errors/status.js';
import { type Negotiated, transforms } from '#apiserver/http/content-negotiation.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { visibleOf } from '#apiserver/registry/list.js';
import { watchRequest } from '#apiserver/registry/list-options.js';
import type { Operation, RegistryContext } from '#apiserver/registry/operation.js';
import { onlyField, selection, selectionName } from '#apiserver/registry/selectors.js';
import { WatchBody, type WatchBodyContext } from '#apiserver/registry/watch-body.js';
import { includeObject } from '#apiserver/representation/table.js';
import { type FrameEncoder, jsonFrames, protobufFrames, tableFrames } from '#apiserver/representation/watch-events.js';
import { checkName, type ServedResource, scopeOf } from '#apiserver/resources/served-resource.js';
import { VisibleWatch } from '#apiserver/visibility/visible-watch.js';
import type { ReadVersion } from '#storage/resource-storage.js';

/** Dependencies of opening a watch, besides those of its body. */
type WatchContext = WatchBodyContext & Pick<RegistryContext, 'codec' | 'random' | 'responder' | 'watches'>;

/**
 * Responds to a watch. If the server cannot watch now (429, 504), the response says so; a version that is too old (410) and
 * later failures arrive as an ERROR event after status 200, as clients of 1.24 expect.
 */
export async function watchObjects(operation: Operation<WatchContext>): Promise<ApiResponse> {
  const { registry } = operation;
  const form = negotiateWatch(operation);
  const body = await openWatch(operation, form);
  const media = mediaTypeOf(form.format, registry.dialect);
  const contentType = form.format === 'json' ? media : `${media};stream=watch`;
  return { status: 200, headers: { 'content-type': contentType }, body };
}

/** The requested form; throws 406 if there is none. */
export function negotiateWatch(operation: Operation<WatchContext>): Negotiated {
  const { registry, context, resource } = operation;
  const type = { apiVersion: resource.apiVersion, kind: resource.declaration.kind };
  const formats = registry.codec.hasProtobuf(type) ? (['json', 'protobuf'] as const) : (['json'] as const);
  return registry.responder.negotiate(context, transforms, formats);
}

/** The body of a watch. Throws 400 and 422 at once for invalid options. */
export async function openWatch(operation: Operation<WatchContext>, form: Negotiated): Promise<WatchBody> {
  const { registry, context, resource } = operation;
  const { query, namespace, name, address } = context.info;
  if (address.named) checkName(name);
  const request = watchRequest(registry.dialect, query);
  const { bookmarks, sendInitialEvents, timeoutMs } = request;
  const match = selection(resource, context.info);
  const only = onlyField(resource, context.info);
  const encoder = encoderFor(operation, form);
  const lifetimeMs = timeoutMs ?? randomLifetimeMs(registry);
  const scope = scopeOf(resource, namespace);
  const version = request.skipInitialEvents
    ? await presentVersion(resource, scope, request.version, context.cancellation)
    : request.version;
  const end = new LazyAbort();
  const all = resource.storage.watch({
    scope,
    version,
    bookmarks,
    signal: end,
    ...(sendInitialEvents ? { sendInitialEvents } : {}),
    ...(match === undefined ? {} : { match, selection: selectionName(resource, context.info) }),
    ...(only === undefined ? {} : { only }),
  });
  const visible = visibleOf(operation);
  // A watch that skips its initial events has nothing to resume from.
  const since =
    request.skipInitialEvents || sendInitialEvents || version.kind !== 'exact' ? undefined : version.revision;
  const session =
    visible === undefined
      ? all
      : new VisibleWatch({
          ...{ visible, session: all, match, since, bookmarks, signal: end, storage: resource.storage },
          pause: () => registry.turns.bulk.pause(),
        });
  const { cancellation, info, initialized } = context;
  const body = new WatchBody({
    registry,
    resource,
    session,
    end,
    lifetimeMs,
    bookmarks,
    encoder,
    info,
    cancellation,
    initialized,
  });
  try {
    await session.opened();
  } catch (error) {
    // The definition may have changed meanwhile: then this watch ends at once, as open watches do.
    if (!isExpired(error) && !end.aborted) {
      body.stop();
      throw error;
    }
  }
  return body;
}

/** Whole seconds: Node.js keeps timers of equal length in one list, so other lengths cost a list each. */
function randomLifetimeMs({ watches, random }: Pick<WatchContext, 'watches' | 'random'>): number {
  const ms = watches.minTimeoutMs * (1 + random());
  return watches.minTimeoutMs < 1000 ? ms : Math.floor(ms / 1000) * 1000;
}

/** The current version, for a watch that skips its initial events. */
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
  const { format, transform } = form;
  const make = () => (format === 'protobuf' ? protobufFrames : jsonFrames)(registry, resource, transform);
  if (transform === undefined) return registry.watches.frames.encoder(resource, format, make);
  if (transform.kind !== 'Table' || format === 'protobuf') return make();
  return tableFrames(registry, resource, transform, includeObject(context.info.query));
}
