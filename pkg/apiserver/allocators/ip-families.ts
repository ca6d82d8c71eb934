/** Fills `ipFamilies` and `ipFamilyPolicy` from what the client asked for and what the cluster has. Pure. */
import type { Service } from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import { headlessIP, type IpFamily, isHeadless, needsClusterIP } from '#apiserver/allocators/service-fields.js';

const otherFamily: Record<IpFamily, IpFamily> = { IPv4: 'IPv6', IPv6: 'IPv4' };

/** `configured` are the cluster's families, the primary one first. Returns what is wrong with the request. */
export function resolveFamilies(
  service: Service,
  old: Service | undefined,
  configured: readonly IpFamily[],
): FieldFailure[] {
  const { spec } = service;
  if (spec === undefined || !needsClusterIP(service)) return [];
  const bare = isHeadless(service) && Object.keys(spec.selector ?? {}).length === 0;
  const failures = bare ? [] : conflicts(service, configured);
  if (failures.length > 0) return failures;
  const given = (spec.clusterIPs ?? []).filter((ip) => ip !== '' && ip !== headlessIP);
  const families = [...(spec.ipFamilies ?? [])];
  // Addresses that are asked for decide the families that are left open.
  for (const [i, ip] of given.entries()) families[i] ??= ipFamily(ip) === 6 ? 'IPv6' : 'IPv4';
  const primary = (families[0] ?? configured[0] ?? 'IPv4') as IpFamily;
  if (families.length === 0) families.push(primary);
  if (spec.ipFamilyPolicy === undefined) {
    // Nobody fills the addresses of such a Service but its owner, who may use any family.
    if (bare && old === undefined) spec.ipFamilyPolicy = 'RequireDualStack';
    else spec.ipFamilyPolicy = families.length > 1 ? 'RequireDualStack' : 'SingleStack';
  }
  const wantsBoth =
    spec.ipFamilyPolicy !== 'SingleStack' &&
    (configured.length > 1 || (bare && spec.ipFamilyPolicy === 'RequireDualStack'));
  if (wantsBoth && families.length === 1) families.push(otherFamily[primary]);
  if (spec.ipFamilyPolicy === 'SingleStack') families.splice(1);
  spec.ipFamilies = families;
  return [];
}

function conflicts({ spec = {} }: Service, configured: readonly IpFamily[]): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const known: readonly string[] = configured;
  for (const [i, family] of (spec.ipFamilies ?? []).entries())
    if (!known.includes(family))
      failures.push({
        field: `spec.ipFamilies[${i}]`,
        reason: 'FieldValueInvalid',
        message: `Invalid value: ${JSON.stringify(family)}: not configured on this cluster`,
      });
  if (spec.ipFamilyPolicy === 'RequireDualStack' && configured.length < 2)
    failures.push({
      field: 'spec.ipFamilyPolicy',
      reason: 'FieldValueInvalid',
      message: 'Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
    });
  const { ipFamilyPolicy = 'SingleStack' } = spec;
  if (ipFamilyPolicy === 'SingleStack' && (spec.ipFamilies ?? []).length > 1)
    failures.push({
      field: 'spec.ipFamilyPolicy',
      reason: 'FieldValueInvalid',
      message: `Invalid value: "SingleStack": must be RequireDualStack or PreferDualStack when multiple IP families are specified`,
    });
  return failures;
}
