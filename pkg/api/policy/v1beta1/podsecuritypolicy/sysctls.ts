/** Kernel parameters that policies allow and forbid, by name or prefix. */
import { maxSysctlLength } from '#api/core/v1/pod/validation/security.js';
import type { PodSecurityPolicySpec } from '#api/policy/v1beta1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { forbiddenField, invalidValue } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

const segment = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const lastSegment = '([a-z0-9][-_a-z0-9]*)?[a-z0-9*]';
/** The pattern in messages. */
const pattern = `(${segment}\\.)*${lastSegment}`;

export function validateSysctlPatterns(spec: PodSecurityPolicySpec, path: FieldPath): FieldFailure[] {
  const { allowedUnsafeSysctls: allowed = [], forbiddenSysctls: forbidden = [] } = spec;
  const [allowedPath, forbiddenPath] = [path.child('allowedUnsafeSysctls'), path.child('forbiddenSysctls')];
  return [
    ...validatePatterns(allowed, allowedPath),
    ...validatePatterns(forbidden, forbiddenPath),
    ...validateOverlap(allowed, forbidden, allowedPath, forbiddenPath),
  ];
}

function validatePatterns(sysctls: readonly string[], path: FieldPath): FieldFailure[] {
  const failures = sysctls.flatMap((sysctl, i) => {
    if (sysctl === '') return [invalidValue(path.index(i), sysctl, 'empty sysctl not allowed')];
    if (isPattern(sysctl)) return [];
    const text = `must have at most ${maxSysctlLength} characters and match regex ${pattern}`;
    return [invalidValue(path.index(i), sysctl, text)];
  });
  if (sysctls.length > 1 && sysctls.some((sysctl) => sysctl.startsWith('*') && isPattern(sysctl))) {
    failures.push(forbiddenField(path.child('items'), "if '*' is present, must not specify other sysctls"));
  }
  return failures;
}

const segmentPattern = new RegExp(`^${segment}$`);
const lastSegmentPattern = new RegExp(`^${lastSegment}$`);

/** Matches part by part: a single expression could backtrack on long texts. */
function isPattern(sysctl: string): boolean {
  if (sysctl.length > maxSysctlLength) return false;
  const parts = sysctl.split('.');
  const last = parts.pop() ?? '';
  return lastSegmentPattern.test(last) && parts.every((part) => segmentPattern.test(part));
}

/** Names and prefixes (without the `*`). */
class Patterns {
  readonly #names = new Set<string>();
  readonly #prefixes = new Set<string>();

  constructor(sysctls: readonly string[]) {
    for (const sysctl of sysctls) {
      if (sysctl.endsWith('*')) this.#prefixes.add(sysctl.slice(0, -1));
      else this.#names.add(sysctl);
    }
  }

  /** An element that covers the sysctl completely. */
  covering(sysctl: string): string | undefined {
    const isPrefix = sysctl.endsWith('*');
    const text = isPrefix ? sysctl.slice(0, -1) : sysctl;
    if (!isPrefix && this.#names.has(text)) return text;
    for (let length = 0; length <= Math.min(text.length, maxSysctlLength); length++) {
      const prefix = text.slice(0, length);
      if (this.#prefixes.has(prefix)) return `${prefix}*`;
    }
    return undefined;
  }
}

/** One failure for each element that the other list covers; equal elements are reported once. */
function validateOverlap(
  allowed: readonly string[],
  forbidden: readonly string[],
  allowedPath: FieldPath,
  forbiddenPath: FieldPath,
): FieldFailure[] {
  const [allows, forbids] = [new Patterns(allowed), new Patterns(forbidden)];
  const reported = new Set<string>();
  const failures: FieldFailure[] = [];
  for (const [i, sysctl] of allowed.entries()) {
    const other = forbids.covering(sysctl);
    if (other === undefined) continue;
    reported.add(sysctl);
    failures.push(invalidValue(allowedPath.index(i), sysctl, `sysctl overlaps with ${other}`));
  }
  for (const [i, sysctl] of forbidden.entries()) {
    const other = reported.has(sysctl) ? undefined : allows.covering(sysctl);
    if (other === undefined) continue;
    failures.push(invalidValue(forbiddenPath.index(i), sysctl, `sysctl overlaps with ${other}`));
  }
  return failures;
}
