/** Metrics of Pod Security, named as in release 1.24. */
import type { Registry } from 'prom-client';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Mode } from '#apiserver/admission/podsecurity/policy/namespace-policy.js';
import type { Evaluation } from '#apiserver/admission/podsecurity/policy/verdict.js';
import { type LevelVersion, latestVersion } from '#apiserver/admission/podsecurity/standards/level.js';
import { PlainCounter } from '#daemon/metrics/plain-series.js';

/** The labels of a request. */
export interface RequestLabels {
  readonly operation: 'create' | 'update';
  readonly resource: 'pod' | 'controller';
  readonly subresource: string;
}

const requestLabels = ['request_operation', 'resource', 'subresource'] as const;
const operations = ['create', 'update'] as const;

export class PodSecurityMetrics {
  readonly #evaluations: PlainCounter;
  readonly #exemptions: PlainCounter;
  readonly #errors: PlainCounter;
  /** This server's own minor version; newer ones share a series. */
  readonly #minor: number;

  constructor(registry: Registry, { version }: Pick<Dialect, 'version'>) {
    this.#minor = Number(version.split('.')[1]);
    this.#evaluations = new PlainCounter(registry, {
      name: 'pod_security_evaluations_total',
      help: '[ALPHA] Number of policy evaluations that occurred, not counting ignored or exempt requests.',
      labelNames: ['decision', 'policy_level', 'policy_version', 'mode', ...requestLabels],
    });
    this.#exemptions = new PlainCounter(registry, {
      name: 'pod_security_exemptions_total',
      help: '[ALPHA] Number of exempt requests, not counting ignored or out of scope requests.',
      labelNames: requestLabels,
    });
    this.#errors = new PlainCounter(registry, {
      name: 'pod_security_errors_total',
      help: '[ALPHA] Number of errors preventing normal evaluation. Non-fatal errors may result in the latest restricted profile being used for evaluation.',
      labelNames: ['fatal', ...requestLabels],
    });
    // Series that 1.24 shows before the first request.
    for (const operation of operations) {
      this.#evaluations.labels('allow', 'privileged', latestVersion.text, 'enforce', operation, 'pod', '');
      for (const resource of ['pod', 'controller']) this.#exemptions.labels(operation, resource, '');
    }
  }

  evaluated({ mode, level, allowed }: Evaluation, { operation, resource, subresource }: RequestLabels): void {
    const version = this.#versionLabel(level);
    const decision = allowed ? 'allow' : 'deny';
    this.#evaluations
      .labels(decision, level.level, version, mode satisfies Mode, operation, resource, subresource)
      .inc();
  }

  exempted({ operation, resource, subresource }: RequestLabels): void {
    this.#exemptions.labels(operation, resource, subresource).inc();
  }

  /** `fatal`: the request could not be evaluated at all. */
  failed(fatal: boolean, { operation, resource, subresource }: RequestLabels): void {
    this.#errors.labels(String(fatal), operation, resource, subresource).inc();
  }

  #versionLabel({ level, version }: LevelVersion): string {
    // All versions of this level are equal.
    if (level === 'privileged' || version.text === latestVersion.text) return latestVersion.text;
    return version.minor > this.#minor ? 'future' : version.text;
  }
}
