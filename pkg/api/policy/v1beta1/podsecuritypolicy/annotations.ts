/** Rules of the annotations by which pod security policies speak of profiles. */
import { validateAppArmorProfile, validateSeccompProfile } from '#api/core/v1/pod/validation/annotations.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const path = FieldPath.of('metadata', 'annotations');
/** Allows any profile. */
const anyProfile = '*';

export function validatePolicyAnnotations(
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
