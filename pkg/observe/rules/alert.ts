/** What an alert is made of; see `rules.ts` for the form in which Prometheus reads it, `runbooks.ts` for people. */

export type Severity = 'critical' | 'warning' | 'info';

export interface Alert {
  readonly name: string;
  /** As `promql.ts` describes. */
  readonly expr: string;
  /** How long that has to be so, as Prometheus writes it; absent: not at all. */
  readonly for?: string;
  /** `critical`: somebody gets up. `warning`: before it is critical. `info`: for whoever looks. */
  readonly severity: Severity;
  /** Further labels, which tell alerts of one name apart. */
  readonly labels?: Readonly<Record<string, string>>;
  /** One line. May have Prometheus's `{{ $labels.x }}` and `{{ $value }}`. */
  readonly summary: string;
  readonly description: string;
  readonly runbook: Runbook;
}

/** The same for all alerts of one name. */
export interface Runbook {
  readonly meaning: string;
  /** Commands, one a line. */
  readonly look: readonly string[];
  readonly act: string;
}
