/** Requests as the fake API parses them. */
import { parseFieldSelector } from '#apimachinery/selectors/fields.js';
import { parseLabelSelector } from '#apimachinery/selectors/label-parser.js';
import type { ApiObject } from '#client/client.js';

/** A parsed request. */
export interface FakeCall {
  readonly verb: 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';
  /** Plural name. */
  readonly resource: string;
  readonly subresource: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly body: unknown;
}

/** Describes a call as `create pods/status ns/name`. */
export function describe(call: FakeCall): string {
  const resource = call.subresource === undefined ? call.resource : `${call.resource}/${call.subresource}`;
  const body = call.body as { metadata?: { name?: string; generateName?: string } } | undefined;
  const name = call.name ?? body?.metadata?.name ?? body?.metadata?.generateName ?? '';
  return `${call.verb} ${resource} ${call.namespace === undefined ? name : `${call.namespace}/${name}`}`.trim();
}

/** The verb of an HTTP request. */
export function verbOf(method: string, name: string | undefined, query: URLSearchParams): FakeCall['verb'] {
  switch (method) {
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === undefined ? 'deletecollection' : 'delete';
    default:
      if (query.get('watch') === 'true') return 'watch';
      return name === undefined ? 'list' : 'get';
  }
}

/** Whether an object is in the scope of a list or watch. */
export function selects(query: URLSearchParams, namespace: string | undefined): (object: ApiObject) => boolean {
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '');
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    labels.matches(object.metadata.labels ?? {}) &&
    fields.matches(Object.fromEntries(fields.terms.map(({ field }) => [field, fieldAt(object, field)])));
}

function fieldAt(object: unknown, path: string): string | undefined {
  let value = object;
  for (const part of path.split('.')) {
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[part] : undefined;
  }
  return value === undefined ? undefined : String(value);
}

/** The fields of DeleteOptions that the fake supports. */
export function deleteOptions(body: unknown): { uid?: string; resourceVersion?: string; graceSeconds?: number } {
  const { preconditions, gracePeriodSeconds } = (body ?? {}) as {
    preconditions?: { uid?: string; resourceVersion?: string };
    gracePeriodSeconds?: number;
  };
  return { ...preconditions, ...(gracePeriodSeconds === undefined ? {} : { graceSeconds: gracePeriodSeconds }) };
}
