/** Specs that many pods share are frozen, and found valid once. */
import type { PodOptions } from '#api/core/v1/pod/validation/options.js';
import { type PodSpecRules, validatePodSpec } from '#api/core/v1/pod/validation/spec.js';
import type { PodSpec } from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import { none } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** Under which rules a frozen spec has been found valid, by the dialect's name of its domain of labels and the options. */
const validUnder = oncePer((_spec: PodSpec) => new Set<string>());

/** As `validatePodSpec`. */
export function validateSpecOnce(spec: PodSpec, rules: PodSpecRules, path: FieldPath): readonly FieldFailure[] {
  if (!Object.isFrozen(spec) || !holdsForAnyName(spec)) return validatePodSpec(spec, rules, path);
  const valid = validUnder(spec);
  const key = keyOf(rules);
  if (valid.has(key)) return none;
  const failures = validatePodSpec(spec, rules, path);
  if (failures.length === 0) valid.add(key);
  return failures;
}

/** Claims of ephemeral volumes are named after the pod. */
function holdsForAnyName({ volumes = [] }: PodSpec): boolean {
  for (const volume of volumes) if (volume.ephemeral !== undefined) return false;
  return true;
}

function keyOf({ dialect, options }: PodSpecRules): string {
  let key = dialect.labelDomain;
  for (const name of Object.keys(options) as (keyof PodOptions)[]) key += options[name] ? '+' : '-';
  return key;
}
