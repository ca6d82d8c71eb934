/** Which kernel parameters a policy allows. Source: 1.24, pkg/security/podsecuritypolicy/sysctl/mustmatchpatterns.go. */
import type { Sysctl } from '#api/core/v1/types.gen.js';
import type { PodSecurityPolicySpec } from '#api/policy/v1beta1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { forbiddenField } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

/** Parameters that concern only their own pod. */
const safe: ReadonlySet<string> = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
]);

const path = FieldPath.of('pod', 'spec', 'securityContext').child('sysctls');

export function sysctlFailures(
  { allowedUnsafeSysctls = [], forbiddenSysctls = [] }: PodSecurityPolicySpec,
  sysctls: readonly Sysctl[] = [],
): FieldFailure[] {
  return sysctls.flatMap(({ name }, i) => {
    const quotedName = JSON.stringify(name);
    if (matchesAny(name, forbiddenSysctls)) {
      return [forbiddenField(path.index(i), `sysctl ${quotedName} is not allowed`)];
    }
    if (safe.has(name) || matchesAny(name, allowedUnsafeSysctls)) return [];
    return [forbiddenField(path.index(i), `unsafe sysctl ${quotedName} is not allowed`)];
  });
}

/** A pattern may end with `*`. */
function matchesAny(name: string, patterns: readonly string[]): boolean {
  return patterns.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one));
}
