/**
 * Counts the usage of quotas and lowers it when objects are deleted.
 *
 * The API server increases `status.used` in the transaction that stores an object. The controller may therefore lower a
 * status only from a count of all objects up to the quota's version; an older count may miss objects and allow too many.
 * When a lagging cache shows less usage, the controller lists the objects from the server.
 */

import type { ResourceList } from '#api/core/v1/pod/resources.js';
import { resourcequotas } from '#api/core/v1/resources.gen.js';
import type { ResourceQuota, ResourceQuotaStatus } from '#api/core/v1/types.gen.js';
import { deadline } from '#apimachinery/async/deadline.js';
import { upkeepClock } from '#apimachinery/clock.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import { compareQuantities } from '#apimachinery/quantity.js';
import type { ApiObject } from '#client/client.js';
import type { EventHandler, Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import { ItemExponentialRateLimiter } from '#client/workqueue/rate-limiter.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { watchServedResources } from '#controllers/framework/discovery.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { isOlder } from '#controllers/framework/written-objects.js';
import { type Counter, Counters } from '#controllers/resourcequota/counters.js';
import { onlyNamed, sameAmounts, usageOfAll } from '#quota/amounts.js';
import { isCounted, type QuotaEvaluator, scopesOf } from '#quota/evaluator.js';

export interface ResourceQuotaOptions {
  readonly concurrency: number;
  /** The interval between full recounts; 0: never. */
  readonly syncPeriodMs: number;
}

/** The timeout of a resource's first list, after which the status is written without it. */
const syncTimeoutMs = 5000;
/**
 * The delay of a second count of newly limited resources: servers that did not know the quota yet have admitted objects
 * without counting them.
 */
const recountMs = 5000;
/** The pause after a conflict with an admission that charged the quota. */
const conflictPauseMs = 20;
/** The maximum pause after failures. */
const maxBackoffMs = 5000;

export class ResourceQuotaController implements Controller {
  readonly name = 'resourcequota';
  readonly #context: ControllerContext;
  readonly #options: ResourceQuotaOptions;
  readonly #quotas: Informer<ResourceQuota>;
  readonly #counters: Counters;
  readonly #loop: ReconcileLoop;
  /** The version that this controller wrote, by key: no object was charged between the count and this version. */
  readonly #ownVersions = new Map<string, string>();

  constructor(context: ControllerContext, options: ResourceQuotaOptions) {
    this.#context = context;
    this.#options = options;
    this.#quotas = sharedInformer(context.informers, resourcequotas);
    this.#counters = new Counters({
      context,
      handlerOf: (counter) => this.#handlerOf(counter),
      filled: ({ evaluator }) => this.#addAll((name) => evaluator.counts(name)),
    });
    this.#loop = new ReconcileLoop(context, {
      name: 'resourcequota_primary',
      concurrency: options.concurrency,
      rateLimiter: new ItemExponentialRateLimiter<string>(5, maxBackoffMs),
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (quota: ResourceQuota) => this.#loop.queue.add(keyOf(quota));
    const watches = [
      this.#quotas.addHandler({
        onAdd: add,
        // Ignore status updates.
        onUpdate: (quota, old) => {
          if (!sameAmounts(quota.spec.hard ?? {}, old.spec.hard ?? {})) add(quota);
        },
        onDelete: (quota) => this.#ownVersions.delete(keyOf(quota)),
      }),
      watchServedResources(this.#context.informers, () => {
        this.#counters.forget();
        this.#addAll((name) => name.startsWith('count/'));
      }),
    ];
    try {
      await Promise.all([this.#loop.run(signal, watches), this.#countRegularly(signal)]);
    } finally {
      await this.#counters.close();
    }
  }

  async #countRegularly(signal: AbortSignal): Promise<void> {
    const { syncPeriodMs } = this.#options;
    if (syncPeriodMs === 0) return;
    for (;;) {
      await upkeepClock(this.#context.clock).sleep(syncPeriodMs, signal);
      if (signal.aborted) return;
      this.#addAll(() => true);
      try {
        await this.#counters.keep(
          this.#quotas.list().flatMap((quota) => Object.keys(quota.spec.hard ?? {})),
          signal,
        );
      } catch (err) {
        if (!signal.aborted) this.#loop.log.warn({ err }, 'discovery failed, unused counters are not stopped');
      }
    }
  }

  #addAll(isConcerned: (name: string) => boolean): void {
    for (const quota of this.#quotas.list()) {
      if (Object.keys(quota.spec.hard ?? {}).some(isConcerned)) this.#loop.queue.add(keyOf(quota));
    }
  }

  /** Handles updates and deletions; the API servers count creations. */
  #handlerOf({ evaluator }: Counter): EventHandler<ApiObject> {
    const changed = (object: ApiObject, next: ApiObject | undefined) => {
      for (const quota of this.#quotas.list(object.metadata.namespace)) {
        const before = this.#usageIn(quota, object, evaluator);
        const after = next === undefined ? {} : this.#usageIn(quota, next, evaluator);
        if (!sameAmounts(before, after)) this.#loop.queue.add(keyOf(quota));
      }
    };
    return {
      onUpdate: (object, old) => changed(old, object),
      onDelete: (object) => changed(object, undefined),
    };
  }

  #usageIn(quota: ResourceQuota, object: ApiObject, evaluator: QuotaEvaluator): ResourceList {
    return isCounted(evaluator, quota, object) ? evaluator.usage(object, this.#context.clock.now()) : {};
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const cached = this.#quotas.get(key);
    if (cached === undefined) return done;
    const names = Object.keys(cached.spec.hard ?? {});
    const counters = await this.#counting(names, signal);
    // The quota may have changed while caches were filled.
    const quota = this.#quotas.get(key);
    if (quota === undefined) return done;
    const usage: ResourceList = {};
    for (const counter of counters) Object.assign(usage, await this.#count(counter, quota));
    const { status, hasNewNames } = planQuota(quota, usage);
    if (status === undefined) return done;
    try {
      const written = await this.#context.client.resource(resourcequotas).updateStatus({ ...quota, status });
      this.#loop.written.wrote(key, this.#quotas, written);
      this.#ownVersions.set(key, written.metadata.resourceVersion ?? '');
    } catch (error) {
      if (isNotFound(error)) return done;
      if (isConflict(error)) return requeueAfter(conflictPauseMs);
      throw error;
    }
    return hasNewNames ? requeueAfter(recountMs) : done;
  }

  /** Counters whose caches are filled within the timeout. When others are filled later, the quota is enqueued again. */
  async #counting(names: readonly string[], signal: AbortSignal): Promise<readonly Counter[]> {
    const counters = await this.#counters.counting(names, signal);
    const isFilled = ({ informer }: Counter) => informer.hasSynced();
    if (counters.every(isFilled)) return counters;
    const timeout = deadline(this.#context.clock, syncTimeoutMs, signal);
    const expired = new Promise<void>((resolve) => {
      timeout.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    try {
      await Promise.race([expired, Promise.all(counters.map(({ filled }) => filled))]);
    } finally {
      timeout.release();
    }
    return counters.filter(isFilled);
  }

  async #count({ type, evaluator, informer }: Counter, quota: ResourceQuota): Promise<ResourceList> {
    const { namespace = '', resourceVersion = '' } = quota.metadata;
    const names = Object.keys(quota.spec.hard ?? {}).filter((name) => evaluator.counts(name));
    const counting = { names, scopes: scopesOf(quota), nowMs: this.#context.clock.now() };
    // Compare versions before reading the objects, so that these are at least as new.
    const isBehind = isOlder(informer.lastVersion, resourceVersion);
    const counted = usageOfAll(evaluator, informer.list(namespace), counting);
    const isCurrent = !isBehind || this.#ownVersions.get(keyOf(quota)) === resourceVersion;
    if (isCurrent || !lowersUsage(quota, counted)) return counted;
    const { items } = await this.#context.client.resource(type).list({ namespace });
    return usageOfAll(evaluator, items, counting);
  }
}

export interface QuotaPlan {
  /** The new status; absent when unchanged. */
  readonly status?: ResourceQuotaStatus;
  /** Whether a name is counted for the first time. */
  readonly hasNewNames: boolean;
}

/** `usage` has the counted names; other names keep their last usage. Rules of release 1.24 (pkg/controller/resourcequota). */
export function planQuota({ spec, status }: ResourceQuota, usage: ResourceList): QuotaPlan {
  const hard = spec.hard ?? {};
  const before = status?.used ?? {};
  const used = onlyNamed({ ...before, ...usage }, (name) => hard[name] !== undefined);
  const isUnchanged =
    status?.hard !== undefined &&
    status.used !== undefined &&
    sameAmounts(hard, status.hard) &&
    sameAmounts(used, status.used);
  const hasNewNames = Object.keys(used).some((name) => before[name] === undefined);
  return isUnchanged ? { hasNewNames: false } : { status: { hard, used }, hasNewNames };
}

/**
 * Whether a counted amount is lower than in the status. Only a lower amount needs a current count; a count that is too
 * high is corrected when an object is deleted.
 */
export function lowersUsage({ status }: ResourceQuota, counted: ResourceList): boolean {
  return Object.entries(counted).some(([name, amount]) => {
    const before = status?.used?.[name];
    return before === undefined || compareQuantities(amount, before) < 0;
  });
}
