import { inSteps, type Steps } from '#apimachinery/async/steps.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { mediaTypeOf } from '#apimachinery/codec/negotiate.js';
import { expired, isExpired, pathNotFound } from '#apimachinery/errors/status.js';
import { type Negotiated, type Transform, transforms } from '#apiserver/http/content-negotiation.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { VisibleNamespaces } from '#apiserver/http/visible-namespaces.js';
import { encodeContinue } from '#apiserver/registry/continue-token.js';
import { type ListRequest, listRequest } from '#apiserver/registry/list-options.js';
import type { Operation, RegistryContext } from '#apiserver/registry/operation.js';
import { selection } from '#apiserver/registry/selectors.js';
import type { CompressedLists, EncodedList } from '#apiserver/representation/compressed-lists.js';
import {
  compactParts,
  itemOf,
  jsonItems,
  type ListDocument,
  prettyParts,
  yamlParts,
} from '#apiserver/representation/list-document.js';
import { listNotAcceptable, partialJson } from '#apiserver/representation/partial-metadata.js';
import { protobufItems } from '#apiserver/representation/protobuf-items.js';
import { gzipHeaders, gzipThresholdBytes, partsResponse } from '#apiserver/representation/streaming.js';
import { includeObject, rowSteps, tableMembers } from '#apiserver/representation/table.js';
import type { LargeView } from '#apiserver/resources/large-views.js';
import {
  converted,
  jsonSteps,
  type ServedResource,
  scopeOf,
  spansNamespaces,
} from '#apiserver/resources/served-resource.js';
import { type StrategyEnvironment, strategyContext } from '#apiserver/resources/strategy-context.js';
import { largeBodyBytes, PartsBody, SeparatedParts } from '#http/server/body.js';
import type { Entry, ListResult } from '#storage/resource-storage.js';

/** The part of the registry that lists use. */
type ListContext = StrategyEnvironment &
  Pick<RegistryContext, 'codec' | 'compressed' | 'responder' | 'settings' | 'turns'>;

/** GET of a collection, with all combinations of specification 1, 4.6. */
export async function listObjects(operation: Operation<ListContext>): Promise<ApiResponse> {
  const { registry, context, resource } = operation;
  const form = negotiateList(operation);
  const { query, namespace } = context.info;
  const visible = visibleOf(operation);
  const scope = scopeOf(resource, namespace);
  const match = selection(resource, context.info);
  const paged = registry.gate('APIListChunking');
  const request = listRequest(registry.dialect, query, {
    scope,
    uncached: registry.settings.isUncached(resource),
    paged,
  });
  const result = await readPage(resource, { scope, request, match, visible, signal: context.signal });
  visible?.sent(result.revision);
  return listResponse(operation, { result, form, whole: match === undefined && visible === undefined });
}

/** The requested form; throws 406 if there is none. */
export function negotiateList(operation: Operation<ListContext>): Negotiated {
  const { registry, context } = operation;
  const formats = isBuiltIn(operation) ? (['json', 'yaml', 'protobuf'] as const) : (['json', 'yaml'] as const);
  return registry.responder.negotiate(context, transforms, formats);
}

/** What the request may see. Throws 404 for a resource without namespaces: it was replaced after the authorization. */
export function visibleOf({ context: { visible }, resource }: Operation<unknown>): VisibleNamespaces | undefined {
  if (visible !== undefined && !spansNamespaces(resource)) throw pathNotFound();
  return visible;
}

interface PageRequest {
  readonly scope: string;
  readonly request: ListRequest;
  readonly match: ((entry: Entry) => boolean) | undefined;
  readonly visible: VisibleNamespaces | undefined;
  readonly signal: AbortSignal;
}

/** Reads one page; an expired continue token gives 410 with a token for an inconsistent continuation. */
async function readPage(
  resource: ServedResource,
  { scope, request, match, visible, signal }: PageRequest,
): Promise<ListResult> {
  const { version, limit, token } = request;
  try {
    return await resource.storage.list({
      scope,
      version,
      limit,
      signal,
      ...(token === undefined ? {} : { startKey: token.startKey }),
      ...(match === undefined ? {} : { match }),
      ...(visible === undefined ? {} : { admits: (namespace: string) => visible.admits(namespace) }),
    });
  } catch (error) {
    if (token === undefined || !isExpired(error)) throw error;
    const next = encodeContinue({ revision: undefined, startKey: token.startKey });
    throw expired(
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
        'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
        'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
        'deleted between the time the first chunk was returned and now may show up in the list.',
      { continue: next },
    );
  }
}

function listMetadata({ gate }: Pick<ListContext, 'gate'>, result: ListResult): Record<string, unknown> {
  const metadata: Record<string, unknown> = { resourceVersion: String(result.revision) };
  if (result.nextKey !== undefined) {
    metadata['continue'] = encodeContinue({ revision: result.revision, startKey: result.nextKey });
    if (result.remaining !== undefined && gate('RemainingItemCount')) {
      metadata['remainingItemCount'] = result.remaining;
    }
  }
  return metadata;
}

export interface ListAnswer {
  readonly result: ListResult;
  readonly form: Negotiated;
  /** The page contains all objects of its range of keys. */
  readonly whole: boolean;
}

export async function listResponse(
  operation: Operation<ListContext>,
  { result, form, whole }: ListAnswer,
): Promise<ApiResponse> {
  const { registry, context, resource } = operation;
  const { format, transform, pretty } = form;
  if (transform?.kind === 'PartialObjectMetadata') throw listNotAcceptable(resource);
  const held = (await converted(resource, result.entries, context)) ?? [];
  const contentType = mediaTypeOf(format, registry.dialect);
  const gzip = registry.responder.compresses(context);
  const compressed = gzip && whole ? registry.compressed : undefined;
  const turns = registry.turns.bulk;
  const grows = held.length > 0 || (await mayGrow(resource, result.entries, { transform, turns }));
  if (format === 'protobuf') {
    const list = await protobufList(operation, { result, transform, turns });
    return encodedListResponse(list, { contentType, compressed, turns });
  }
  if (format === 'json' && !pretty && transform === undefined && !grows) {
    return encodedListResponse(jsonList(operation, result), { contentType, compressed, turns });
  }
  if (transform?.kind === 'PartialObjectMetadataList' && result.entries.length === 0) {
    return registry.responder.object(context, emptyPartialList(listMetadata(registry, result), transform), 200, form);
  }
  const document = listDocument(operation, { result, transform, held });
  const render = format === 'yaml' ? yamlParts : pretty ? prettyParts : compactParts;
  return partsResponse(render(document), { contentType, gzip, turns });
}

/**
 * True if entries have no JSON of this version of about the size of what is stored; such lists are encoded in steps. Throws 500
 * before the first byte is sent if an entry grows too large.
 */
async function mayGrow(
  resource: ServedResource,
  entries: readonly Entry[],
  { transform, turns }: { readonly transform: Transform | undefined; readonly turns: Pick<TurnQueue, 'pause'> },
): Promise<boolean> {
  const { conversion } = resource;
  const requiresBounds = conversion?.kind === 'in process' ? conversion.requireBounded : undefined;
  if (requiresBounds === undefined || transform?.kind === 'PartialObjectMetadataList') return false;
  let grows = false;
  for (const entry of entries) {
    requiresBounds(entry);
    if (!grows && transform === undefined) {
      const view = inSteps(jsonSteps(resource, entry), () => turns.pause());
      grows = (view instanceof Promise ? await view : view) !== undefined;
    }
    const wait = turns.pause();
    if (wait !== undefined) await wait;
  }
  return grows;
}

/** 1.24 leaves `items` null if there is nothing to reduce to metadata. */
function emptyPartialList(metadata: object, { kind, group, version }: Transform): object {
  return { kind, apiVersion: `${group}/${version}`, metadata, items: null };
}

const nextItem = Buffer.from(',{');
const nothing = Buffer.alloc(0);
const jsonTail = Buffer.from(']}\n');

function jsonHead({ registry, resource }: Operation<ListContext>, result: ListResult) {
  const metadata = listMetadata(registry, result);
  return {
    kind: listKind(resource),
    apiVersion: resource.apiVersion,
    // Custom lists of 1.24 are untyped and keep the empty `continue`.
    metadata: resource.edition === undefined ? metadata : { continue: '', ...metadata },
  };
}

function listKind({ listKind: own, declaration }: ServedResource): string {
  return own ?? `${declaration.kind}List`;
}

function isBuiltIn({ registry, resource }: Operation<ListContext>): boolean {
  const { apiVersion, declaration } = resource;
  return registry.codec.hasProtobuf({ apiVersion, kind: declaration.kind });
}

function jsonList(operation: Operation<ListContext>, result: ListResult): EncodedList {
  const { resource } = operation;
  const { entries } = result;
  const head = JSON.stringify(jsonHead(operation, result)).slice(0, -1);
  return {
    form: `json ${resource.apiVersion}`,
    head: Buffer.from(`${head},"items":[${entries.length === 0 ? '' : '{'}`),
    entries,
    ...jsonItems(resource, isBuiltIn(operation)),
    separator: nextItem,
    tail: jsonTail,
  };
}

interface ProtobufAnswer {
  readonly result: ListResult;
  readonly transform: Transform | undefined;
  readonly turns: Pick<TurnQueue, 'pause'>;
}

/** The message begins with its length, so all items are encoded before the first byte is sent. */
async function protobufList(
  { registry, resource }: Operation<ListContext>,
  { result, transform, turns }: ProtobufAnswer,
): Promise<EncodedList> {
  const { codec } = registry;
  const { name, itemOf } = protobufItems(codec, resource, transform);
  let size = 0;
  for (const entry of result.entries) {
    size += itemOf(entry).length;
    const wait = turns.pause();
    if (wait !== undefined) await wait;
  }
  const type =
    transform === undefined
      ? { apiVersion: resource.apiVersion, kind: `${resource.declaration.kind}List` }
      : { apiVersion: `${transform.group}/${transform.version}`, kind: transform.kind };
  return {
    form: name,
    ...codec.protobufListEnds(type, listMetadata(registry, result), size),
    entries: result.entries,
    skipped: 0,
    bytesOf: itemOf,
    separator: nothing,
  };
}

interface DocumentOptions {
  readonly result: ListResult;
  readonly transform: Transform | undefined;
  /** Converted entries that must stay at hand until the document is read. */
  readonly held: readonly LargeView[];
}

function listDocument(operation: Operation<ListContext>, { result, transform, held }: DocumentOptions): ListDocument {
  const { registry, context, resource } = operation;
  const metadata = listMetadata(registry, result);
  if (transform?.kind === 'Table') {
    const options = {
      transform,
      include: includeObject(context.info.query),
      context: strategyContext(registry),
    };
    const items = encodeEach(result.entries, held, (entry) => rowSteps(resource, entry, options));
    return { head: tableMembers(resource, transform, metadata), itemsName: 'rows', items };
  }
  if (transform !== undefined) {
    const head = { kind: transform.kind, apiVersion: `${transform.group}/${transform.version}`, metadata };
    const items = encodeEach(result.entries, held, function* (entry) {
      yield;
      return partialJson(resource, entry, transform);
    });
    return { head, itemsName: 'items', items };
  }
  const { skipped, bytesOf } = jsonItems(resource, isBuiltIn(operation));
  return {
    head: jsonHead(operation, result),
    itemsName: 'items',
    items: encodeEach(result.entries, held, function* (entry) {
      const view = yield* jsonSteps(resource, entry);
      return itemOf(view?.bytes.subarray() ?? bytesOf(entry), skipped);
    }),
  };
}

/** The items, and undefined where other work may run. */
function encodeEach(
  entries: readonly Entry[],
  held: readonly LargeView[],
  stepsOf: (entry: Entry) => Steps<Buffer>,
): Iterable<Buffer | undefined> {
  return {
    *[Symbol.iterator]() {
      // Referred to after the last item, so that it lives until then.
      const views = [...held];
      try {
        for (const entry of entries) {
          yield yield* stepsOf(entry);
          yield undefined;
        }
      } finally {
        views.length = 0;
      }
    },
  };
}

interface EncodedListOptions {
  readonly contentType: string;
  /** Cache of compressed blocks; absent if the client accepts no gzip or a selector filters the list. */
  readonly compressed: CompressedLists | undefined;
  /** Lets other requests run between many objects. */
  readonly turns: Pick<TurnQueue, 'pause'>;
}

async function encodedListResponse(
  list: EncodedList,
  { contentType, compressed, turns }: EncodedListOptions,
): Promise<ApiResponse> {
  const headers: Record<string, string> = { 'content-type': contentType };
  const { head, entries, bytesOf, skipped, separator, tail } = list;
  const itemAt = (index: number) => bytesOf(entries[index] as Entry);
  const parts = new SeparatedParts({ head, count: entries.length, itemAt, skipped, separator, tail });
  // Do not measure a large list to the end: measuring every object twice costs as much as copying it.
  const upTo = compressed === undefined ? largeBodyBytes : gzipThresholdBytes;
  const length = await parts.lengthUpTo(upTo, turns);
  if (length < gzipThresholdBytes) return { status: 200, headers, body: parts.joined(length) };
  if (compressed !== undefined) {
    return { status: 200, headers: { ...headers, ...gzipHeaders }, body: compressed.body(list) };
  }
  const isLarge = length >= largeBodyBytes;
  return { status: 200, headers, body: new PartsBody(parts, isLarge ? { isLarge } : { length }) };
}
