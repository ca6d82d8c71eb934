/** One stored object as an answer, in the form that the request asks for. */
import type { NowOrLater } from '#apimachinery/now-or-later.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { Negotiated, Transform } from '#apiserver/http/media-type.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import { partialJson } from '#apiserver/representation/partial.js';
import { includeObject, rowJson, tableHead } from '#apiserver/representation/table.js';
import { converted, jsonOf, objectOf, type ServedResource } from '#apiserver/resources/served-resource.js';
import { strategyContext } from '#apiserver/resources/strategy-context.js';
import type { Entry } from '#storage/resource-storage.js';

const objectTransforms: readonly Transform['kind'][] = ['Table', 'PartialObjectMetadata'];

const newline = Buffer.from('\n');

/** The form asked for; settled before any work is done, so that 406 has no side effects. */
export function negotiateObject(
  registry: RegistryContext,
  context: RequestContext,
  resource: ServedResource,
): Negotiated {
  const type = { apiVersion: resource.apiVersion, kind: resource.declaration.kind };
  const formats = registry.codec.hasProtobuf(type)
    ? (['json', 'yaml', 'protobuf'] as const)
    : (['json', 'yaml'] as const);
  return registry.responder.negotiate(context, objectTransforms, formats);
}

export interface EntryAnswer {
  readonly resource: ServedResource;
  readonly entry: Entry;
  readonly form: Negotiated;
  readonly status?: number;
}

export function entryResponse(
  registry: RegistryContext,
  context: RequestContext,
  answer: EntryAnswer,
): NowOrLater<ApiResponse> {
  const later = converted(answer.resource, [answer.entry], context);
  return later === undefined
    ? respond(registry, context, answer)
    : later.then(() => respond(registry, context, answer));
}

function respond(
  registry: RegistryContext,
  context: RequestContext,
  { resource, entry, form, status = 200 }: EntryAnswer,
): NowOrLater<ApiResponse> {
  const { responder } = registry;
  const { format, pretty, transform } = form;
  if (format === 'json' && !pretty) {
    if (transform === undefined && resource.conversion === undefined) {
      return responder.bytes(context, entry.line(), 'json', status);
    }
    const json =
      transform === undefined
        ? jsonOf(resource, entry)
        : transformedJson(registry, context, resource, entry, transform);
    return responder.bytes(context, Buffer.concat([json, newline]), 'json', status);
  }
  const object: object =
    transform === undefined
      ? objectOf(resource, entry)
      : (JSON.parse(transformedJson(registry, context, resource, entry, transform).toString()) as object);
  return responder.object(context, object, status, form);
}

function transformedJson(
  registry: RegistryContext,
  context: RequestContext,
  resource: ServedResource,
  entry: Entry,
  transform: Transform,
): Buffer {
  if (transform.kind !== 'Table') return partialJson(resource, entry, transform);
  const options = {
    transform,
    include: includeObject(context.info.query),
    context: strategyContext(registry),
  };
  const head = tableHead(resource, transform, { resourceVersion: String(entry.revision) });
  return Buffer.concat([Buffer.from(head), rowJson(resource, entry, options), Buffer.from(']}')]);
}
