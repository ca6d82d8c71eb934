/** Options of a delete request: its body, or its query when it has none. */
import { badRequest, type FieldFailure } from '#apimachinery/errors/status.js';
import { addAll, invalidValue, notSupported } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import type { RequestContext } from '#apiserver/http/context.js';
import { flag, integer } from '#apiserver/http/request-info.js';
import { type BodyReader, bodyEncoding } from '#apiserver/registry/body.js';
import { invalidOptions } from '#apiserver/registry/request-errors.js';
import { dryRunFailures } from '#apiserver/registry/write-options.js';

export type PropagationPolicy = 'Orphan' | 'Background' | 'Foreground';

export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: PropagationPolicy;
  readonly orphanDependents?: boolean;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

const kind = 'DeleteOptions';

const policies = ['Foreground', 'Background', 'Orphan'] as const satisfies readonly PropagationPolicy[];

/** Throws 400 and 422. */
export function deleteOptions(reader: BodyReader, context: RequestContext): DeleteOptions {
  const raw = context.request.body.length > 0 ? fromBody(reader, context) : fromQuery(context.info.query);
  const grace = raw['gracePeriodSeconds'];
  const policy = raw['propagationPolicy'];
  const orphan = raw['orphanDependents'];
  if (grace !== undefined && (typeof grace !== 'number' || !Number.isSafeInteger(grace))) {
    throw badRequest('gracePeriodSeconds must be an integer');
  }
  const dryRuns = stringsOf(raw['dryRun'], context.info.query);
  const known = policies.find((one) => one === policy);
  const failures: FieldFailure[] = [];
  const path = FieldPath.of('propagationPolicy');
  if (policy !== undefined && orphan !== undefined) {
    failures.push(invalidValue(path, policy, 'orphanDependents and deletionPropagation cannot be both set'));
  }
  if (policy !== undefined && known === undefined) failures.push(notSupported(path, policy, [...policies, 'nil']));
  addAll(failures, dryRunFailures(dryRuns));
  if (failures.length > 0) throw invalidOptions(reader.dialect, kind, failures);
  const preconditions = raw['preconditions'];
  return {
    dryRun: dryRuns.includes('All'),
    ...(grace === undefined ? {} : { gracePeriodSeconds: grace }),
    ...(known === undefined ? {} : { propagationPolicy: known }),
    ...(typeof orphan === 'boolean' ? { orphanDependents: orphan } : {}),
    ...(typeof preconditions === 'object' && preconditions !== null ? { preconditions } : {}),
  };
}

function stringsOf(value: unknown, query: URLSearchParams): string[] {
  const own = Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
  return [...own, ...query.getAll('dryRun')];
}

function fromBody(reader: BodyReader, context: RequestContext): Record<string, unknown> {
  const encoding = bodyEncoding(reader, context);
  const { object } = reader.codec.decode(
    context.request.body,
    encoding,
    { apiVersion: 'v1', kind },
    { validation: 'Ignore' },
  );
  context.audit?.requestedValue(object);
  return object as unknown as Record<string, unknown>;
}

function fromQuery(query: URLSearchParams): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  const grace = integer(query, 'gracePeriodSeconds');
  if (grace !== undefined) options['gracePeriodSeconds'] = grace;
  const policy = query.get('propagationPolicy');
  if (policy !== null && policy !== '') options['propagationPolicy'] = policy;
  if (query.has('orphanDependents')) options['orphanDependents'] = flag(query, 'orphanDependents');
  return options;
}
