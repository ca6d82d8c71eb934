/**
 * Computes what an object adds to the quotas of its namespace, and whether they have room for it. Pure. Rules and words of
 * release 1.24 (apiserver/pkg/admission/plugin/resourcequota/controller.go, CheckRequest).
 */
import type { ResourceList } from '#api/core/v1/pod/resources.js';
import type { ResourceQuota, ScopedResourceSelectorRequirement } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { quantitySign } from '#apimachinery/quantity.js';
import { addLists, increaseOf, namesAbove, onlyNamed, printAmounts } from '#quota/amounts.js';
import { isCounted, type QuotaEvaluator, scopesOf } from '#quota/evaluator.js';

export interface QuotaRequest {
  readonly evaluator: QuotaEvaluator;
  /** The object to be written. */
  readonly object: ApiObjectShape;
  /** The stored object; absent for a new one. */
  readonly old?: ApiObjectShape | undefined;
  readonly nowMs: number;
  /** Resources that may be used only if a quota covers them. */
  readonly limited: LimitedByDefault;
}

/** The part of the configured limits that concerns the object's resource. */
export interface LimitedByDefault {
  /** Parts of the limited names. */
  readonly names: readonly string[];
  readonly scopes: readonly ScopedResourceSelectorRequirement[];
}

/** A quota with its usage after the write. */
export interface Charge {
  readonly quota: ResourceQuota;
  readonly used: ResourceList;
}

export type Verdict = { readonly charges: readonly Charge[] } | { readonly refused: string };

const nothing: Verdict = { charges: [] };

export function checkQuotas(quotas: readonly ResourceQuota[], request: QuotaRequest): Verdict {
  const { evaluator, object, old, nowMs } = request;
  const counting = quotas.filter((quota) => isCounted(evaluator, quota, object));
  for (const quota of counting) {
    const refused = unprepared(quota, request);
    if (refused !== undefined) return { refused };
  }
  const usage = evaluator.usage(object, nowMs);
  const oldUsage = old === undefined ? {} : evaluator.usage(old, nowMs);
  const increase = increaseOf(usage, oldUsage);
  const increases = counting.flatMap((quota) => {
    // An object that enters a quota's scope by a change counts in full.
    const wasCounted = old !== undefined && isCounted(evaluator, quota, old);
    const delta = old === undefined || wasCounted ? increase : increaseOf(usage, {});
    return Object.keys(delta).length === 0 ? [] : [{ quota, delta }];
  });
  if (counting.length > 0 ? increases.length === 0 : Object.keys(increase).length === 0) return nothing;
  const uncovered = notCovered(quotas, counting, { usage, request });
  if (uncovered !== undefined) return { refused: uncovered };
  const charges: Charge[] = [];
  for (const { quota, delta } of increases) {
    const charge = chargeOf(quota, delta);
    if (typeof charge === 'string') return { refused: charge };
    if (charge !== undefined) charges.push(charge);
  }
  return { charges };
}

/** The reason why the quota cannot be checked yet. */
function unprepared({ metadata, status }: ResourceQuota, { evaluator, object }: QuotaRequest): string | undefined {
  const names = Object.keys(status?.hard ?? {}).filter((name) => evaluator.counts(name));
  const missing = evaluator.missing(object, names);
  if (missing !== undefined) return `failed quota: ${metadata.name}: ${missing}`;
  const used = status?.used ?? {};
  if (names.every((name) => used[name] !== undefined)) return undefined;
  return `status unknown for quota: ${metadata.name}, resources: ${names.sort().join(',')}`;
}

/** The charge; a text explains why it exceeds the quota; undefined if the quota does not limit it. */
function chargeOf(quota: ResourceQuota, delta: ResourceList): Charge | string | undefined {
  const { hard = {}, used = {} } = quota.status ?? {};
  const requested = onlyNamed(delta, (name) => hard[name] !== undefined);
  if (Object.keys(requested).length === 0) return undefined;
  const total = addLists(used, requested);
  const exceeded = namesAbove(
    onlyNamed(total, (name) => name in requested),
    hard,
  );
  if (exceeded.length === 0) return { quota, used: total };
  const print = (list: ResourceList) => printAmounts(onlyNamed(list, (name) => exceeded.includes(name)));
  const amounts = `requested: ${print(requested)}, used: ${print(used)}, limited: ${print(hard)}`;
  return `exceeded quota: ${quota.metadata.name}, ${amounts}`;
}

/** The reason why an object is refused that uses something that requires a quota and has none. */
function notCovered(
  quotas: readonly ResourceQuota[],
  counting: readonly ResourceQuota[],
  { usage, request }: { readonly usage: ResourceList; readonly request: QuotaRequest },
): string | undefined {
  const { evaluator, object, limited } = request;
  const names = Object.keys(usage).filter((name) => {
    return quantitySign(usage[name] ?? '0') > 0 && limited.names.some((part) => name.includes(part));
  });
  const bare = names.filter((name) => !counting.some((quota) => quota.status?.hard?.[name] !== undefined));
  if (bare.length > 0) return `insufficient quota to consume: ${bare.sort().join(',')}`;
  const within = (scope: ScopedResourceSelectorRequirement) => evaluator.isWithin(object, scope);
  const covered = new Set(
    quotas.flatMap((quota) =>
      scopesOf(quota)
        .filter(within)
        .map(({ scopeName }) => scopeName),
    ),
  );
  const bareScopes = limited.scopes.filter((scope) => within(scope) && !covered.has(scope.scopeName));
  if (bareScopes.length === 0) return undefined;
  const printed = bareScopes.map(
    ({ scopeName, operator, values = [] }) => `{${scopeName} ${operator} [${values.join(' ')}]}`,
  );
  return `insufficient quota to match these scopes: [${printed.join(' ')}]`;
}

export interface LimitedResource {
  /** Name of the group; empty for core. */
  readonly apiGroup: string;
  readonly resource: string;
  /** Parts of the names under which quotas count the resource. */
  readonly matchContains: readonly string[];
  readonly matchScopes: readonly ScopedResourceSelectorRequirement[];
}

/** The configured limits of one resource. As in 1.24, scopes apply whatever resource they were configured for. */
export function limitedByDefault(
  limited: readonly LimitedResource[],
  group: string,
  resource: string,
): LimitedByDefault {
  const concerned = limited.filter((each) => each.apiGroup === group && each.resource === resource);
  return {
    names: concerned.flatMap(({ matchContains }) => matchContains),
    scopes: limited.flatMap(({ matchScopes }) => matchScopes),
  };
}
