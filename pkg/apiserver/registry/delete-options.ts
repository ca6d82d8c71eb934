/** Options of a delete request: its body, or its query when it has none. */
import { badRequest, invalid } from '#apimachinery/errors/status.js';
import type { RequestContext } from '#apiserver/http/context.js';
import { flag } from '#apiserver/http/request-info.js';
import { bodyEncoding } from '#apiserver/registry/body.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import { parseDryRun } from '#apiserver/registry/write-options.js';

export type PropagationPolicy = 'Orphan' | 'Background' | 'Foreground';

export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: PropagationPolicy;
  readonly orphanDependents?: boolean;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

const kind = 'DeleteOptions';

/** Throws 400 and 422. */
export function deleteOptions(registry: RegistryContext, context: RequestContext): DeleteOptions {
  const raw = context.request.body.length > 0 ? fromBody(registry, context) : fromQuery(context.info.query);
  const grace = raw['gracePeriodSeconds'];
  const policy = raw['propagationPolicy'];
  const orphan = raw['orphanDependents'];
  if (grace !== undefined && (typeof grace !== 'number' || !Number.isSafeInteger(grace))) {
    throw badRequest('gracePeriodSeconds must be an integer');
  }
  if (policy !== undefined && policy !== 'Orphan' && policy !== 'Background' && policy !== 'Foreground') {
    const message = `Unsupported value: ${JSON.stringify(policy)}: supported values: "Background", "Foreground", "Orphan", "nil"`;
    throw refused('propagationPolicy', 'NotSupported', message);
  }
  if (policy !== undefined && orphan !== undefined) {
    const message = `Invalid value: ${JSON.stringify(policy)}: orphanDependents and deletionPropagation cannot be both set`;
    throw refused('propagationPolicy', 'Invalid', message);
  }
  const preconditions = raw['preconditions'];
  return {
    dryRun: parseDryRun(stringsOf(raw['dryRun'], context.info.query), kind),
    ...(grace === undefined ? {} : { gracePeriodSeconds: grace }),
    ...(policy === undefined ? {} : { propagationPolicy: policy }),
    ...(typeof orphan === 'boolean' ? { orphanDependents: orphan } : {}),
    ...(typeof preconditions === 'object' && preconditions !== null ? { preconditions } : {}),
  };
}

function refused(field: string, reason: string, message: string) {
  return invalid({ group: '', kind }, '', [{ field, reason: `FieldValue${reason}`, message }]);
}

function stringsOf(value: unknown, query: URLSearchParams): string[] {
  const own = Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
  return [...own, ...query.getAll('dryRun')];
}

function fromBody(registry: RegistryContext, context: RequestContext): Record<string, unknown> {
  const encoding = bodyEncoding(registry, context);
  const { object } = registry.codec.decode(context.request.body, encoding, { apiVersion: 'v1', kind }, 'Ignore');
  return object as unknown as Record<string, unknown>;
}

function fromQuery(query: URLSearchParams): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  const grace = query.get('gracePeriodSeconds');
  if (grace !== null && grace !== '') options['gracePeriodSeconds'] = Number(grace);
  const policy = query.get('propagationPolicy');
  if (policy !== null && policy !== '') options['propagationPolicy'] = policy;
  if (query.has('orphanDependents')) options['orphanDependents'] = flag(query, 'orphanDependents');
  return options;
}
