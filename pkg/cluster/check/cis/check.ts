/** Checks of a cluster's safety: rows of a table, each judged by itself. Pure. */

export type Outcome =
  | 'pass'
  | 'fail'
  /** A person has to decide; the text has what was observed. */
  | 'review'
  | 'not applicable';

export interface Finding {
  readonly id: string;
  readonly title: string;
  readonly outcome: Outcome;
  /** The evidence, or the reason why the check does not apply. */
  readonly why: string;
  /** A way to pass; empty where there is nothing to do. */
  readonly remedy: string;
}

export interface Check<Facts> {
  /** Number of the recommendation in the benchmark. */
  readonly id: string;
  readonly title: string;
  /** The benchmark leaves the decision to people: a problem is for review. */
  readonly isManual?: true;
  /** The problem that was observed; undefined when the recommendation is followed. */
  readonly problem?: (facts: Facts) => string | undefined;
  /** Why the check does not apply; undefined: it applies. */
  readonly exempt?: string | ((facts: Facts) => string | undefined);
  readonly remedy?: string;
}

/** The findings in the order of the rows. */
export function findingsOf<Facts>(checks: readonly Check<Facts>[], facts: Facts): Finding[] {
  return checks.map((check) => findingOf(check, facts));
}

function findingOf<Facts>(check: Check<Facts>, facts: Facts): Finding {
  const { id, title, isManual, problem, exempt, remedy = '' } = check;
  const reason = typeof exempt === 'function' ? exempt(facts) : exempt;
  if (reason !== undefined) return { id, title, outcome: 'not applicable', why: reason, remedy: '' };
  const why = problem?.(facts);
  if (why === undefined) return { id, title, outcome: 'pass', why: '', remedy: '' };
  return { id, title, outcome: isManual === true ? 'review' : 'fail', why, remedy };
}
