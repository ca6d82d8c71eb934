import { validateAppArmorProfile, validateSeccompProfile } from '#api/core/v1/pod/validation/annotations.js';
import { validatePolicySpec } from '#api/policy/v1beta1/podsecuritypolicy/validation.js';
import { podsecuritypolicies } from '#api/policy/v1beta1/resources.gen.js';
import type { PodSecurityPolicy } from '#api/policy/v1beta1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { FieldPath } from '#apimachinery/validation/path.js';

export const podSecurityPolicyStrategy: Strategy<PodSecurityPolicy> = kindStrategy<PodSecurityPolicy>(
  podsecuritypolicies,
  {
    deletionAnswer: 'object',
    validate: ({ metadata, spec }, { dialect }) => [
      ...validatePolicyAnnotations(metadata.annotations, dialect),
      ...validatePolicySpec(spec),
    ],
    cells: ({ metadata, spec }) => [
      metadata.name ?? '',
      String(spec.privileged ?? false),
      (spec.allowedCapabilities ?? []).join(','),
      spec.seLinux?.rule ?? '',
      spec.runAsUser?.rule ?? '',
      spec.fsGroup?.rule ?? '',
      spec.supplementalGroups?.rule ?? '',
      spec.readOnlyRootFilesystem ?? false,
      (spec.volumes ?? []).join(','),
    ],
  },
);

const path = FieldPath.of('metadata', 'annotations');
/** Allows any profile. */
const anyProfile = '*';

/** Rules of annotations with profiles. */
function validatePolicyAnnotations(
  annotations: Readonly<Record<string, string>> = {},
  { labelDomain }: Dialect,
): FieldFailure[] {
  const [appArmor, seccomp] = [`apparmor.security.beta.${labelDomain}`, `seccomp.security.alpha.${labelDomain}`];
  const failures: FieldFailure[] = [];
  const check = (key: string, one: (text: string, at: FieldPath) => Iterable<FieldFailure>) => {
    const text = annotations[key] ?? '';
    if (text !== '') failures.push(...one(text, path.key(key)));
  };
  const each = (text: string) => text.split(',');
  check(`${appArmor}/defaultProfileName`, (text, at) => validateAppArmorProfile(text, text, at));
  check(`${appArmor}/allowedProfileNames`, (text, at) =>
    each(text).flatMap((profile) => validateAppArmorProfile(profile, text, at)),
  );
  check(`${seccomp}/defaultProfileName`, validateSeccompProfile);
  check(`${seccomp}/allowedProfileNames`, (text, at) =>
    each(text).flatMap((profile) => (profile === anyProfile ? [] : validateSeccompProfile(profile, at))),
  );
  return failures;
}
