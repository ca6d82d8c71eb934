/** Completes `ipFamilies` and `ipFamilyPolicy` from the request and the cluster's families. Pure. */

import type { Service, ServiceSpec } from '#api/core/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import { invalidValue, Strings } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { headlessIP, type IpFamily, isHeadless, needsClusterIP } from '#apiserver/allocators/service-fields.js';

const otherFamily: Record<IpFamily, IpFamily> = { IPv4: 'IPv6', IPv6: 'IPv4' };

/** `configured` are the cluster's families, primary first. Returns the request's failures. */
export function resolveFamilies(
  service: Draft<Service>,
  old: Service | undefined,
  configured: readonly IpFamily[],
): FieldFailure[] {
  const { spec } = service;
  if (spec === undefined || !needsClusterIP(service)) return [];
  if (old !== undefined && keepsPreference(service, old)) return [];
  const bare = isHeadless(service) && Object.keys(spec.selector ?? {}).length === 0;
  const families = [...(spec.ipFamilies ?? [])];
  // A Service without a selector gets its addresses from its owner, who may use any family.
  const usual = bare && old === undefined ? 'RequireDualStack' : 'SingleStack';
  const policy = spec.ipFamilyPolicy ?? usual;
  const released = old?.spec === undefined ? [] : releaseSecond(spec, families, { policy, before: old.spec });
  const failures = [
    ...released,
    ...countFailures(spec, families, policy),
    ...inferFamilies(spec, families, configured),
  ];
  if (failures.length > 0) return failures;
  const conflicts = bare ? [] : clusterFailures(families, policy, configured);
  if (conflicts.length > 0) return conflicts;
  const primary = (families[0] ?? configured[0] ?? 'IPv4') as IpFamily;
  if (families.length === 0) families.push(primary);
  const isDual = policy !== 'SingleStack' && (bare || configured.length > 1);
  if (isDual && families.length === 1) families.push(otherFamily[primary]);
  spec.ipFamilyPolicy = policy;
  spec.ipFamilies = families;
  return [];
}

const sameList = (a: readonly string[] = [], b: readonly string[] = []): boolean =>
  a.length === b.length && a.every((value, i) => value === b[i]);

/** A Service that prefers dual stack keeps its families when the cluster's change, unless its own fields change. */
function keepsPreference({ spec }: Service, { spec: before }: Service): boolean {
  return (
    spec?.ipFamilyPolicy === 'PreferDualStack' &&
    (before?.ipFamilyPolicy ?? 'PreferDualStack') === 'PreferDualStack' &&
    spec.type === before?.type &&
    sameList(spec.clusterIPs, before?.clusterIPs) &&
    sameList(spec.ipFamilies, before?.ipFamilies)
  );
}

/** A change to single stack drops an unchanged second address and family; otherwise they must not be removed. */
function releaseSecond(
  spec: Draft<ServiceSpec>,
  families: string[],
  { policy, before }: { readonly policy: string; readonly before: ServiceSpec },
): FieldFailure[] {
  const { clusterIPs = [] } = spec;
  if (policy === 'SingleStack') {
    if (sameList(clusterIPs, before.clusterIPs)) spec.clusterIPs = clusterIPs.slice(0, 1);
    if (sameList(families, before.ipFamilies)) families.splice(1);
    return [];
  }
  const must = "must be 'SingleStack' to release the secondary";
  const reduced = (now: readonly string[], old: readonly string[] = []): boolean =>
    now.length > 0 && now.length < old.length;
  return [
    ...(reduced(clusterIPs, before.clusterIPs) ? [invalidValue(policyPath, policy, `${must} cluster IP`)] : []),
    ...(reduced(families, before.ipFamilies) ? [invalidValue(policyPath, policy, `${must} IP family`)] : []),
  ];
}

const policyPath = FieldPath.of('spec', 'ipFamilyPolicy');
const severalNeed = "must be 'RequireDualStack' or 'PreferDualStack' when multiple";

function countFailures({ clusterIPs = [] }: ServiceSpec, families: readonly string[], policy: string): FieldFailure[] {
  if (policy !== 'SingleStack') return [];
  return [
    ...(clusterIPs.length === 2 ? [invalidValue(policyPath, policy, `${severalNeed} cluster IPs are specified`)] : []),
    ...(families.length === 2 ? [invalidValue(policyPath, policy, `${severalNeed} IP families are specified`)] : []),
  ];
}

/** Requested addresses determine missing families. */
function inferFamilies(
  { clusterIPs = [] }: ServiceSpec,
  families: string[],
  configured: readonly IpFamily[],
): FieldFailure[] {
  const path = FieldPath.of('spec', 'clusterIPs');
  const failures: FieldFailure[] = [];
  for (const [i, ip] of clusterIPs.entries()) {
    if (ip === headlessIP) break;
    if (i < families.length) continue;
    const family = ipFamily(ip) === 6 ? 'IPv6' : 'IPv4';
    if (configured.includes(family)) families.push(family);
    else
      failures.push(
        invalidValue(path.index(i), new Strings(clusterIPs), `${family} is not configured on this cluster`),
      );
  }
  return failures;
}

function clusterFailures(families: readonly string[], policy: string, configured: readonly string[]): FieldFailure[] {
  const path = FieldPath.of('spec', 'ipFamilies');
  const single = policy === 'RequireDualStack' && configured.length < 2;
  return [
    ...(single ? [invalidValue(policyPath, policy, 'this cluster is not configured for dual-stack services')] : []),
    ...families.flatMap((family, i) =>
      configured.includes(family) ? [] : [invalidValue(path.index(i), family, 'not configured on this cluster')],
    ),
  ];
}
