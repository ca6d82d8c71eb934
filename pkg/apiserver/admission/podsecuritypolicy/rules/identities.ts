/** Which users and groups a policy allows. Source: 1.24, pkg/security/podsecuritypolicy/{user,group}. */
import type { IDRange, RunAsUserStrategyOptions } from '#api/policy/v1beta1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { GoValue, goNil, invalidValue, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

export type Id = number | bigint;

interface IdRule {
  readonly rule?: string;
  readonly ranges?: readonly IDRange[];
}

/** False for a rule that 1.24 does not know or that lacks its ranges: such a policy is left out. */
export function isGroupRule({ rule, ranges = [] }: IdRule): boolean {
  return rule === 'RunAsAny' || ((rule === 'MustRunAs' || rule === 'MayRunAs') && ranges.length > 0);
}

/** See `isGroupRule`. */
export function isUserRule({ rule, ranges = [] }: IdRule): boolean {
  return rule === 'RunAsAny' || rule === 'MustRunAsNonRoot' || (rule === 'MustRunAs' && ranges.length > 0);
}

/** The user or group for pods and containers that name none; undefined if any is allowed. */
export function defaultId({ rule, ranges = [] }: IdRule): Id | undefined {
  return rule === 'MustRunAs' ? ranges[0]?.min : undefined;
}

function isWithin(id: Id, ranges: readonly IDRange[]): boolean {
  return ranges.some(({ min, max }) => id >= min && id <= max);
}

/** In Go's syntax: `[{1 10} {20 30}]`. */
function rangesText(ranges: readonly IDRange[]): string {
  return `[${ranges.map(({ min, max }) => `{${min} ${max}}`).join(' ')}]`;
}

export function groupFailures(
  { rule, ranges = [] }: IdRule,
  groups: readonly Id[] | undefined,
  path: FieldPath,
): FieldFailure[] {
  if (rule === 'RunAsAny') return [];
  const shown = groups === undefined ? goNil('[]int64') : new GoValue(() => `[]int64{${groups.join(', ')}}`);
  if (groups === undefined || groups.length === 0) {
    const why = 'unable to validate empty groups against required ranges';
    return rule === 'MustRunAs' ? [invalidValue(path, shown, why)] : [];
  }
  return groups
    .filter((group) => !isWithin(group, ranges))
    .map((group) => invalidValue(path, shown, `group ${group} must be in the ranges: ${rangesText(ranges)}`));
}

/** What applies to a container: its own fields, or else those of its pod. */
export interface UserFields {
  readonly runAsUser?: Id | undefined;
  readonly runAsNonRoot?: boolean | undefined;
}

/** `path`: of the container's security context. */
export function userFailures(
  { rule, ranges = [] }: RunAsUserStrategyOptions,
  { runAsUser, runAsNonRoot }: UserFields,
  path: FieldPath,
): FieldFailure[] {
  const user = path.child('runAsUser');
  if (rule === 'MustRunAs') {
    if (runAsUser === undefined) return [required(user)];
    if (isWithin(runAsUser, ranges)) return [];
    return [invalidValue(user, runAsUser, `must be in the ranges: ${rangesText(ranges)}`)];
  }
  if (rule !== 'MustRunAsNonRoot') return [];
  const nonRoot = path.child('runAsNonRoot');
  if (runAsNonRoot === undefined && runAsUser === undefined) return [required(nonRoot, 'must be true')];
  if (runAsNonRoot === false) return [invalidValue(nonRoot, runAsNonRoot, 'must be true')];
  const isRoot = runAsUser !== undefined && Number(runAsUser) === 0;
  return isRoot ? [invalidValue(user, runAsUser, 'running with the root UID is forbidden')] : [];
}
