import { mediaTypeOf } from '#apimachinery/codec/negotiate.js';
import { badRequest, expired, isExpired } from '#apimachinery/errors/status.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { Negotiated, Transform } from '#apiserver/http/media-type.js';
import { acceptsGzip } from '#apiserver/http/respond.js';
import { encodeContinue } from '#apiserver/registry/continue-token.js';
import { type ListRequest, listRequest } from '#apiserver/registry/list-options.js';
import { type RegistryContext, strategyContext } from '#apiserver/registry/registry-context.js';
import { selection } from '#apiserver/registry/selection.js';
import { jsonOf, type ServedResource, scopeOf } from '#apiserver/registry/served-resource.js';
import { partialJson } from '#apiserver/representation/partial.js';
import { protobufMessageOf } from '#apiserver/representation/protobuf-message.js';
import { partsResponse } from '#apiserver/representation/streaming.js';
import { includeObject, rowJson, tableHead } from '#apiserver/representation/table.js';
import type { Entry, ListResult } from '#storage/resource-storage.js';

const listTransforms: readonly Transform['kind'][] = ['Table', 'PartialObjectMetadataList'];

/** GET of a collection: the whole matrix of specification 1, 4.6. */
export async function listObjects(
  registry: RegistryContext,
  context: RequestContext,
  resource: ServedResource,
): Promise<ApiResponse> {
  const type = { apiVersion: resource.apiVersion, kind: resource.declaration.kind };
  const formats = registry.codec.hasProtobuf(type)
    ? (['json', 'yaml', 'protobuf'] as const)
    : (['json', 'yaml'] as const);
  const form = registry.responder.negotiate(context, listTransforms, formats);
  const { query, namespace, name } = context.info;
  const scope = scopeOf(resource, namespace);
  const match = selection(resource, query, name);
  const request = listRequest(query, scope);
  const result = await readPage(resource, scope, request, match, context.signal);
  return listResponse(registry, context, resource, result, form);
}

/** One page; an expired continue token gives 410 with a token for an inconsistent continuation. */
async function readPage(
  resource: ServedResource,
  scope: string,
  request: ListRequest,
  match: ((entry: Entry) => boolean) | undefined,
  signal: AbortSignal,
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

/** `metadata` of a list. */
export function listMetadata(result: ListResult): Record<string, unknown> {
  const metadata: Record<string, unknown> = { resourceVersion: String(result.revision) };
  if (result.nextKey !== undefined) {
    metadata['continue'] = encodeContinue({ revision: result.revision, startKey: result.nextKey });
    if (result.remaining !== undefined) metadata['remainingItemCount'] = result.remaining;
  }
  return metadata;
}

function listResponse(
  registry: RegistryContext,
  context: RequestContext,
  resource: ServedResource,
  result: ListResult,
  form: Negotiated,
): ApiResponse | Promise<ApiResponse> {
  const { format, transform, pretty } = form;
  const gzip = acceptsGzip(context.request);
  if (format === 'protobuf') {
    if (transform !== undefined) throw badRequest(`${transform.kind} has no Protobuf form here`);
    const type = { apiVersion: resource.apiVersion, kind: `${resource.declaration.kind}List` };
    const items = result.entries.map((entry) => protobufMessageOf(registry.codec, resource, entry));
    const parts = registry.codec.protobufList(type, listMetadata(result), items);
    return partsResponse(parts, mediaTypeOf('protobuf', registry.dialect), gzip);
  }
  const parts = jsonListParts(registry, context, resource, result, transform);
  if (format === 'json' && !pretty) return partsResponse(parts, mediaTypeOf('json', registry.dialect), gzip);
  const value = JSON.parse(Buffer.concat([...parts]).toString()) as object;
  return registry.responder.object(context, value, 200, form);
}

const comma = Buffer.from(',');
const listEnd = Buffer.from(']}\n');

function* jsonListParts(
  registry: RegistryContext,
  context: RequestContext,
  resource: ServedResource,
  result: ListResult,
  transform: Transform | undefined,
): Generator<Buffer> {
  const metadata = listMetadata(result);
  let item: (entry: Entry) => Buffer = (entry) => jsonOf(resource, entry);
  if (transform?.kind === 'Table') {
    const options = { transform, include: includeObject(context.info.query), context: strategyContext(registry) };
    item = (entry) => rowJson(resource, entry, options);
    yield Buffer.from(tableHead(resource, transform, metadata));
  } else if (transform !== undefined) {
    item = (entry) => partialJson(resource, entry, transform);
    yield listHead('PartialObjectMetadataList', `${transform.group}/${transform.version}`, metadata);
  } else {
    yield listHead(`${resource.declaration.kind}List`, resource.apiVersion, metadata);
  }
  let first = true;
  for (const entry of result.entries) {
    if (!first) yield comma;
    first = false;
    yield item(entry);
  }
  yield listEnd;
}

function listHead(kind: string, apiVersion: string, metadata: object): Buffer {
  return Buffer.from(`{"kind":"${kind}","apiVersion":"${apiVersion}","metadata":${JSON.stringify(metadata)},"items":[`);
}
