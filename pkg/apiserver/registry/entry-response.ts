/** The response with one stored object, in the requested form. */
import type { ApiObjectShape } from '#api/meta/object.js';
import { andThen, inSteps, type MaybePromise } from '#apimachinery/async/steps.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { type Negotiated, type Transform, transforms } from '#apiserver/http/content-negotiation.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { pauseOf } from '#apiserver/registry/write-steps.js';
import { objectNotAcceptable, partialJson } from '#apiserver/representation/partial-metadata.js';
import { includeObject, rowSteps, tableHead } from '#apiserver/representation/table.js';
import {
  converted,
  jsonOf,
  jsonSteps,
  objectSteps,
  type ServedResource,
} from '#apiserver/resources/served-resource.js';
import { strategyContext } from '#apiserver/resources/strategy-context.js';
import { objectAttributes, type Tracer } from '#daemon/tracing/tracer.js';
import type { Entry } from '#storage/resource-storage.js';

interface Annotated {
  readonly registry: { readonly tracer?: Pick<Tracer, 'annotate'> | undefined };
  readonly resource: Pick<ServedResource, 'qualified'>;
}

/** Adds the object's identity to the request's trace span. */
export function annotateSpan({ registry, resource }: Annotated, entry: Entry): void {
  registry.tracer?.annotate(() => {
    const { group, resource: name } = resource.qualified;
    const { metadata } = entry.object() as ApiObjectShape;
    const resourceVersion = String(entry.revision);
    return objectAttributes(group === '' ? name : `${name}.${group}`, { ...metadata, resourceVersion });
  });
}

const newline = Buffer.from('\n');

/** The requested form; negotiated before any work, so that 406 has no side effects. */
export function negotiateObject(operation: Operation): Negotiated {
  const { registry, context, resource } = operation;
  const type = { apiVersion: resource.apiVersion, kind: resource.declaration.kind };
  const formats = registry.codec.hasProtobuf(type)
    ? (['json', 'yaml', 'protobuf'] as const)
    : (['json', 'yaml'] as const);
  return registry.responder.negotiate(context, transforms, formats);
}

export interface EntryAnswer {
  readonly entry: Entry;
  readonly form: Negotiated;
  readonly status?: number;
}

export function entryResponse(operation: Operation, answer: EntryAnswer): MaybePromise<ApiResponse> {
  const { context, resource } = operation;
  const { entry, form } = answer;
  annotateSpan(operation, entry);
  const { conversion } = resource;
  if (conversion === undefined) return respond(operation, answer);
  const isRead = form.format === 'json' && !form.pretty && form.transform === undefined;
  const steps = conversion.kind === 'in process' && isRead && jsonSteps(resource, entry);
  const ready = steps ? inSteps(steps, pauseOf(operation, entry)) : converted(resource, [entry], context);
  return andThen(ready, () => respond(operation, answer));
}

function respond(operation: Operation, { entry, form, status = 200 }: EntryAnswer): MaybePromise<ApiResponse> {
  const { context, resource } = operation;
  const { responder } = operation.registry;
  const { format, pretty, transform } = form;
  if (transform?.kind === 'PartialObjectMetadataList') throw objectNotAcceptable(resource);
  if (format === 'json' && !pretty) {
    if (transform === undefined && resource.conversion === undefined) {
      return responder.bytes(context, entry.line(), 'json', status);
    }
    const json = transform === undefined ? jsonOf(resource, entry) : transformedJson(operation, entry, transform);
    return andThen(json, (bytes) => responder.bytes(context, Buffer.concat([bytes, newline]), 'json', status));
  }
  const object: MaybePromise<object> =
    transform === undefined
      ? inSteps(objectSteps(resource, entry), pauseOf(operation, entry))
      : andThen(transformedJson(operation, entry, transform), (json) => parseJSONText(json.toString()) as object);
  return andThen(object, (whole) => responder.object(context, whole, status, form));
}

function transformedJson(operation: Operation, entry: Entry, transform: Transform): MaybePromise<Buffer> {
  const { registry, context, resource } = operation;
  if (transform.kind !== 'Table') return partialJson(resource, entry, transform);
  const options = {
    transform,
    include: includeObject(context.info.query),
    context: strategyContext(registry),
  };
  const head = tableHead(resource, transform, { resourceVersion: String(entry.revision) });
  const row = inSteps(rowSteps(resource, entry, options), pauseOf(operation, entry));
  return andThen(row, (bytes) => Buffer.concat([Buffer.from(head), bytes, Buffer.from(']}')]));
}
