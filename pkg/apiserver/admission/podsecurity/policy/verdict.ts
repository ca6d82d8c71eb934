/** The verdict on one pod under the policy of its namespace, in 1.24's words. Pure. */
import type { FieldFailure } from '#apimachinery/errors/status.js';
import type { Mode, Policy } from '#apiserver/admission/podsecurity/policy/namespace-policy.js';
import type { CheckedPod, Violation } from '#apiserver/admission/podsecurity/standards/check.js';
import { shownViolations, violationsOf } from '#apiserver/admission/podsecurity/standards/evaluation.js';
import { type LevelVersion, sameLevel, shownLevel } from '#apiserver/admission/podsecurity/standards/level.js';

/** An evaluation that 1.24 counts: each one for `enforce`, and violations of the other modes. */
export interface Evaluation {
  readonly mode: Mode;
  readonly level: LevelVersion;
  readonly allowed: boolean;
}

export interface Verdict {
  /** Why the pod is refused; absent: it is allowed. */
  readonly refusal?: string;
  readonly warning?: string;
  /** Audit annotations, by their names without prefix. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly evaluations: readonly Evaluation[];
}

/** `enforced`: false for templates of workloads, which are only audited and warned about. */
export function verdictOn(
  pod: CheckedPod,
  policy: Policy,
  { enforced, failures }: { readonly enforced: boolean; readonly failures: readonly FieldFailure[] },
): Verdict {
  const annotations: Record<string, string> = {};
  if (failures.length > 0) annotations['error'] = `Failed to parse policy: ${aggregated(failures)}`;
  const evaluations: Evaluation[] = [];
  const past: { readonly level: LevelVersion; readonly violations: readonly Violation[] }[] = [];
  const evaluate = (mode: Mode): readonly Violation[] => {
    const level = policy[mode];
    const violations = past.find((one) => sameLevel(one.level, level))?.violations ?? violationsOf(pod, level);
    past.push({ level, violations });
    const allowed = violations.length === 0;
    if (mode === 'enforce' || !allowed) evaluations.push({ mode, level, allowed });
    return violations;
  };
  const shown = (mode: Mode, violations: readonly Violation[]) =>
    `PodSecurity "${shownLevel(policy[mode])}": ${shownViolations(violations)}`;

  let refusal: string | undefined;
  if (enforced) {
    annotations['enforce-policy'] = shownLevel(policy.enforce);
    const violations = evaluate('enforce');
    if (violations.length > 0) refusal = `violates ${shown('enforce', violations)}`;
  }
  const audited = evaluate('audit');
  if (audited.length > 0) annotations['audit-violations'] = `would violate ${shown('audit', audited)}`;
  if (refusal !== undefined) return { refusal, annotations, evaluations };
  const warned = evaluate('warn');
  if (warned.length === 0) return { annotations, evaluations };
  return { warning: `would violate ${shown('warn', warned)}`, annotations, evaluations };
}

/** Like Go's aggregate of errors: one as it is, several in brackets. */
function aggregated(failures: readonly FieldFailure[]): string {
  const texts = [...new Set(failures.map(({ field, message }) => `${field}: ${message}`))];
  return texts.length === 1 ? texts.join('') : `[${texts.join(', ')}]`;
}
