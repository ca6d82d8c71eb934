/** Which SELinux contexts a policy allows. Source: 1.24, pkg/security/podsecuritypolicy/selinux/mustrunas.go. */
import type { SELinuxOptions } from '#api/core/v1/types.gen.js';
import type { SELinuxStrategyOptions } from '#api/policy/v1beta1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { invalidValue, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** The context that pods must have; undefined if any is allowed. */
export function requiredContext({ rule, seLinuxOptions }: SELinuxStrategyOptions): SELinuxOptions | undefined {
  return rule === 'MustRunAs' ? seLinuxOptions : undefined;
}

export function selinuxFailures(
  policy: SELinuxStrategyOptions,
  actual: SELinuxOptions | undefined,
  path: FieldPath,
): FieldFailure[] {
  const expected = requiredContext(policy);
  if (expected === undefined) return [];
  if (actual === undefined) return [required(path)];
  return (['level', 'role', 'type', 'user'] as const).flatMap((name) => {
    const [should, is] = [expected[name] ?? '', actual[name] ?? ''];
    const isEqual = name === 'level' ? sameLevel(should, is) : should === is;
    return isEqual ? [] : [invalidValue(path.child(name), is, `must be ${should}`)];
  });
}

/** Categories may be in any order: `s0:c6,c0` is `s0:c0,c6`. */
function sameLevel(a: string, b: string): boolean {
  return a === b || (a.includes(':') && b.includes(':') && inOrder(a) === inOrder(b));
}

function inOrder(level: string): string {
  const colon = level.indexOf(':');
  const categories = level.slice(colon + 1).split(',');
  return `${level.slice(0, colon)}:${categories.sort().join(',')}`;
}
