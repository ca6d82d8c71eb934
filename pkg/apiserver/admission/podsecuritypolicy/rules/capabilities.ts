/** Which capabilities a policy gives, takes and allows. Source: 1.24, pkg/security/podsecuritypolicy/capabilities. */
import type { Capabilities } from '#api/core/v1/types.gen.js';
import type { PodSecurityPolicySpec } from '#api/policy/v1beta1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { goNil, invalidValue, Strings } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

const everyCapability = '*';

/** With what the policy gives and takes; the same object if that changes nothing. */
export function withCapabilities(
  { defaultAddCapabilities = [], requiredDropCapabilities = [] }: PodSecurityPolicySpec,
  own: Capabilities | undefined,
): Capabilities | undefined {
  const [add, drop] = [new Set(own?.add), new Set(own?.drop)];
  const allAdded = new Set([...defaultAddCapabilities.filter((name) => !drop.has(name)), ...add]);
  const allDropped = new Set([...requiredDropCapabilities, ...drop]);
  if (allAdded.size === add.size && allDropped.size === drop.size) return own;
  return {
    ...(allAdded.size > 0 && { add: [...allAdded].sort() }),
    ...(allDropped.size > 0 && { drop: [...allDropped].sort() }),
  };
}

export function capabilityFailures(
  { defaultAddCapabilities = [], requiredDropCapabilities = [], allowedCapabilities = [] }: PodSecurityPolicySpec,
  own: Capabilities | undefined,
  path: FieldPath,
): FieldFailure[] {
  if (own === undefined) {
    if (defaultAddCapabilities.length === 0 && requiredDropCapabilities.length === 0) return [];
    return [invalidValue(path, undefined, 'required capabilities are not set on the securityContext')];
  }
  if (allowedCapabilities.includes(everyCapability)) return [];
  const mayAdd = new Set([...defaultAddCapabilities, ...allowedCapabilities]);
  const dropped = new Set(own.drop);
  const shown = own.drop === undefined ? goNil('[]core.Capability') : new Strings(own.drop, 'core.Capability');
  return [
    ...(own.add ?? [])
      .filter((name) => !mayAdd.has(name))
      .map((name) => invalidValue(path.child('add'), name, 'capability may not be added')),
    ...requiredDropCapabilities
      .filter((name) => !dropped.has(name))
      .map((name) => invalidValue(path.child('drop'), shown, `${name} is required to be dropped but was not found`)),
  ];
}
