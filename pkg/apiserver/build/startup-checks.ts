/** The steps of a server's start, as health checks with the names of 1.24. */
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import type { HealthCheck } from '#apiserver/discovery/health.js';

export type StartupStep =
  /** The caches are filled and the authorizers know the roles. */
  | 'filled'
  /** The cache of definitions is filled. */
  | 'definitions'
  /** Roles, priority classes and priority levels exist. */
  | 'defaults'
  | 'authentication'
  /** The API's own Service has this server as an endpoint. */
  | 'service'
  /** The served versions are registered, or registration has timed out. */
  | 'registered';

/** Without 1.24's hooks for queues of priority and fairness, which this server does not have. */
function startHooks({ shortName }: Dialect): readonly (readonly [name: string, step: StartupStep])[] {
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

export class StartupChecks {
  readonly #done = new Set<StartupStep>();

  done(...steps: readonly StartupStep[]): void {
    for (const step of steps) this.#done.add(step);
  }

  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Until then, `/livez` takes steps that are not done for done. */
  readonly #graceEndMs: number;

  constructor(clock: Pick<Clock, 'monotonic'>, graceMs: number) {
    this.#clock = clock;
    this.#graceEndMs = clock.monotonic() + graceMs;
  }

  /** `isOver`: true when the start counts as finished regardless of the steps, such as while other workers serve. */
  checks(dialect: Dialect, isOver: () => boolean): HealthCheck[] {
    const check = (step: StartupStep) => async () => {
      if (!this.#done.has(step) && !isOver()) throw serviceUnavailable('not finished');
    };
    const patient = (step: StartupStep) => async () => {
      if (this.#clock.monotonic() >= this.#graceEndMs) await check(step)();
    };
    return startHooks(dialect).flatMap(([hook, step]) => {
      const names = [`poststarthook/${hook}`, ...(step === 'registered' ? ['autoregister-completion'] : [])];
      return names.flatMap((name): HealthCheck[] => [
        { name, endpoints: ['healthz', 'readyz'], check: check(step) },
        { name, endpoints: ['livez'], check: patient(step) },
      ]);
    });
  }
}
