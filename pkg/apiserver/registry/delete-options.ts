/** Options of a delete request: from its body, or from its query if it has none. */
import { inSteps } from '#apimachinery/async/steps.js';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { type FieldFailure, statusOf, unclassified } from '#apimachinery/errors/status.js';
import { addAll, invalidValue, notSupported } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { type RequestContext, warn } from '#apiserver/http/request-context.js';
import { flag, integer } from '#apiserver/http/request-info.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { invalidOptions } from '#apiserver/registry/request-errors.js';
import { type BodyReader, bodyEncoding, dryRunFailures, requireDryRuns } from '#apiserver/registry/write-request.js';
import { pauseOf } from '#apiserver/registry/write-steps.js';

export type PropagationPolicy = 'Orphan' | 'Background' | 'Foreground';

export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds?: number | bigint;
  readonly propagationPolicy?: PropagationPolicy;
  readonly orphanDependents?: boolean;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

const kind = 'DeleteOptions';

const policies = ['Foreground', 'Background', 'Orphan'] as const satisfies readonly PropagationPolicy[];

/** The options of a request that deletes a resource's objects. Adds the kind's warning if the client chose no propagation. */
export async function deleteOptionsFor({ registry, context, resource }: Operation): Promise<DeleteOptions> {
  requireDryRuns(registry, context.info);
  const options = await deleteOptions(registry, context);
  const { deletionWarning } = resource.strategy;
  const isSaid = options.propagationPolicy !== undefined || options.orphanDependents !== undefined;
  if (deletionWarning !== undefined && !isSaid) warn(context, deletionWarning);
  return options;
}

/** Throws 400 for an unreadable query, 500 for an unreadable body (as 1.24 does), and 422 for invalid values. */
async function deleteOptions(reader: BodyReader, context: RequestContext): Promise<DeleteOptions> {
  const raw = context.request.body.length > 0 ? await fromBody(reader, context) : fromQuery(context.info.query);
  const grace = raw['gracePeriodSeconds'];
  const policy = raw['propagationPolicy'];
  const orphan = raw['orphanDependents'];
  // With a body, the query's `dryRun` counts as well (specification 1, 4.7); 1.24 ignores it there.
  const dryRuns = [...stringsOf(raw['dryRun']), ...context.info.query.getAll('dryRun')];
  const supportedPolicy = policies.find((one) => one === policy);
  requireValid(reader.dialect, { policy, orphan, dryRuns });
  const preconditions = raw['preconditions'];
  return {
    dryRun: dryRuns.includes('All'),
    ...(typeof grace === 'number' ? { gracePeriodSeconds: grace } : {}),
    ...(supportedPolicy === undefined ? {} : { propagationPolicy: supportedPolicy }),
    ...(typeof orphan === 'boolean' ? { orphanDependents: orphan } : {}),
    ...(typeof preconditions === 'object' && preconditions !== null ? { preconditions } : {}),
  };
}

/** Throws 422 for unsupported or conflicting values. */
export function requireValid(
  dialect: Dialect,
  { policy, orphan, dryRuns }: { policy: unknown; orphan: unknown; dryRuns: readonly string[] },
): void {
  const failures: FieldFailure[] = [];
  const path = FieldPath.of('propagationPolicy');
  if (policy !== undefined && orphan !== undefined) {
    failures.push(invalidValue(path, policy, 'orphanDependents and deletionPropagation cannot be both set'));
  }
  if (policy !== undefined && !policies.some((one) => one === policy)) {
    failures.push(notSupported(path, policy, [...policies, 'nil']));
  }
  addAll(failures, dryRunFailures(dryRuns));
  if (failures.length > 0) throw invalidOptions(dialect, kind, failures);
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}

async function fromBody(reader: BodyReader, context: RequestContext): Promise<Record<string, unknown>> {
  const object = await read(reader, context);
  context.audit?.requestedValue(object);
  return object as unknown as Record<string, unknown>;
}

async function read(reader: BodyReader, context: RequestContext): Promise<object> {
  const encoding = bodyEncoding(reader, context);
  const { body, yamlFault } = context.request;
  const type = { apiVersion: 'v1', kind };
  try {
    const steps = reader.codec.decodeSteps(body, encoding, type, { validation: 'Ignore', yamlFault });
    return (await inSteps(steps, pauseOf({ registry: reader, context }))).object;
  } catch (error) {
    if (statusOf(error)?.code !== 400) throw error;
    // 1.24 passes on its decoder's error, which is not a Status.
    const { cause } = error as Error;
    throw unclassified(messageOf(cause instanceof DecodeError ? cause : error), error);
  }
}

function fromQuery(query: URLSearchParams): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  const grace = integer(query, 'gracePeriodSeconds');
  if (grace !== undefined) options['gracePeriodSeconds'] = grace;
  const policy = query.get('propagationPolicy');
  if (policy !== null) options['propagationPolicy'] = policy;
  if (query.has('orphanDependents')) options['orphanDependents'] = flag(query, 'orphanDependents');
  const preconditions: Record<string, string> = {};
  for (const name of ['uid', 'resourceVersion']) {
    const value = query.get(name) ?? '';
    if (value !== '') preconditions[name] = value;
  }
  if (Object.keys(preconditions).length > 0) options['preconditions'] = preconditions;
  return options;
}
