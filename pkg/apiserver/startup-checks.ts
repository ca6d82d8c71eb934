/** The steps of a server's start, as health checks by the names that they have in 1.24. */
import type { Dialect } from '#apimachinery/dialect.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import type { HealthCheck } from '#apiserver/discovery/health.js';

export type StartupStep =
  /** Caches are filled and the authorizers know the roles. */
  | 'filled'
  /** Definitions are followed. */
  | 'definitions'
  /** Roles, priority classes and priority levels exist. */
  | 'defaults'
  | 'authentication'
  /** The API's own Service leads here. */
  | 'service'
  /** Versions that are served are registered, or have been given up for now. */
  | 'registered';

/** Those of priority and fairness that queue requests are missing: nothing here does. */
function hooksOf({ shortName }: Dialect): readonly (readonly [name: string, step: StartupStep])[] {
  return [
    [`start-${shortName}-apiserver-admission-initializer`, 'filled'],
    ['generic-apiserver-start-informers', 'filled'],
    ['start-apiextensions-informers', 'definitions'],
    ['start-apiextensions-controllers', 'definitions'],
    ['crd-informer-synced', 'definitions'],
    ['bootstrap-controller', 'service'],
    ['rbac/bootstrap-roles', 'defaults'],
    ['scheduling/bootstrap-system-priority-classes', 'defaults'],
    ['priority-and-fairness-config-producer', 'defaults'],
    ['start-cluster-authentication-info-controller', 'authentication'],
    [`start-${shortName}-aggregator-informers`, 'filled'],
    ['apiservice-registration-controller', 'filled'],
    ['apiservice-status-available-controller', 'filled'],
    [`${shortName}-apiserver-autoregistration`, 'registered'],
    ['apiservice-openapi-controller', 'filled'],
    ['apiservice-openapiv3-controller', 'filled'],
  ];
}

const endpoints = ['healthz', 'livez', 'readyz'] as const;

export class StartupChecks {
  readonly #done = new Set<StartupStep>();

  done(...steps: readonly StartupStep[]): void {
    for (const step of steps) this.#done.add(step);
  }

  /** `isOver`: the start counts as over, whatever the steps are, such as where other workers serve meanwhile. */
  checks(dialect: Dialect, isOver: () => boolean): HealthCheck[] {
    const check = (step: StartupStep) => async () => {
      if (!this.#done.has(step) && !isOver()) throw serviceUnavailable('not finished');
    };
    return hooksOf(dialect).flatMap(([name, step]) => {
      const hook = { name: `poststarthook/${name}`, endpoints, check: check(step) };
      const completion = { name: 'autoregister-completion', endpoints, check: check(step) };
      return step === 'registered' ? [hook, completion] : [hook];
    });
  }
}
