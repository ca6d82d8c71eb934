/**
 * Counts what quotas limit, and gives back what is not in use any more.
 *
 * The API server adds to `status.used` in the same transaction in which it stores the object that takes it. So a status
 * may only be lowered by a count that has seen all objects up to the version of the quota that it replaces: an older one
 * may miss some, and there would seem to be room for what is not. Caches that lag behind are therefore passed over when
 * they say that there is more left, and the server is asked.
 */
import type { ResourceList } from '#api/core/v1/pod/resources.js';
import { resourcequotas } from '#api/core/v1/resources.gen.js';
import type { ResourceQuota } from '#api/core/v1/types.gen.js';
import { deadline } from '#apimachinery/async/deadline.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { ApiObject } from '#client/client.js';
import type { EventHandler, Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import { ItemExponentialRateLimiter } from '#client/workqueue/rate-limiter.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { watchServedResources } from '#controllers/framework/discovery.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { isOlder } from '#controllers/framework/written.js';
import { type Counter, Counters } from '#controllers/resourcequota/counters.js';
import { leavesMore, planQuota } from '#controllers/resourcequota/plan.js';
import { sameAmounts, usageOfAll } from '#quota/amounts.js';
import { isCounted, type QuotaEvaluator, scopesOf } from '#quota/evaluator.js';

export interface ResourceQuotaOptions {
  /** Quotas worked on at once. */
  readonly concurrency: number;
  /** Interval of counting everything anew; 0: never. */
  readonly syncPeriodMs: number;
}

/** How long the first list of a resource is waited for before a quota is shown without it. */
const syncPatienceMs = 5000;
/**
 * After so long what has begun to be counted is counted once more: servers that did not know the quota yet have let
 * objects through without counting them.
 */
const recountMs = 5000;
/** Pause before a quota that was charged meanwhile is counted again. */
const overtakenMs = 20;
/** Failures in a row do not keep a quota from being given back for longer than this. */
const maxBackoffMs = 5000;

export class ResourceQuotaController implements Controller {
  readonly name = 'resourcequota';
  readonly #context: ControllerContext;
  readonly #options: ResourceQuotaOptions;
  readonly #quotas: Informer<ResourceQuota>;
  readonly #counters: Counters;
  readonly #loop: ReconcileLoop;
  /** Version that this controller wrote, by key: nothing was charged between the count that it shows and it. */
  readonly #counted = new Map<string, string>();

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
        // Its status is what this controller and the servers write.
        onUpdate: (quota, old) => {
          if (!sameAmounts(quota.spec.hard ?? {}, old.spec.hard ?? {})) add(quota);
        },
        onDelete: (quota) => this.#counted.delete(keyOf(quota)),
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
      await this.#context.clock.sleep(syncPeriodMs, signal);
      if (signal.aborted) return;
      this.#addAll(() => true);
      try {
        await this.#counters.keep(
          this.#quotas.list().flatMap((quota) => Object.keys(quota.spec.hard ?? {})),
          signal,
        );
      } catch (err) {
        if (!signal.aborted) this.#loop.log.warn({ err }, 'Cannot tell yet which resources are still to be counted');
      }
    }
  }

  #addAll(isConcerned: (name: string) => boolean): void {
    for (const quota of this.#quotas.list()) {
      if (Object.keys(quota.spec.hard ?? {}).some(isConcerned)) this.#loop.queue.add(keyOf(quota));
    }
  }

  /** Creations are counted by the servers; what remains is whatever makes it less. */
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
    const known = this.#quotas.get(key);
    if (known === undefined) return done;
    const names = Object.keys(known.spec.hard ?? {});
    const counters = await this.#counting(names, signal);
    // It may have changed while caches were filled.
    const quota = this.#quotas.get(key);
    if (quota === undefined) return done;
    const usage: ResourceList = {};
    for (const counter of counters) Object.assign(usage, await this.#count(counter, quota));
    const { status, begins } = planQuota(quota, usage);
    if (status === undefined) return done;
    try {
      const written = await this.#context.client.resource(resourcequotas).updateStatus({ ...quota, status });
      this.#loop.written.wrote(key, this.#quotas, written);
      this.#counted.set(key, written.metadata.resourceVersion ?? '');
    } catch (error) {
      if (isNotFound(error)) return done;
      if (isConflict(error)) return requeueAfter(overtakenMs);
      throw error;
    }
    return begins ? requeueAfter(recountMs) : done;
  }

  /** Those whose caches are filled, or become so within a while; when the others are, the quota is worked on again. */
  async #counting(names: readonly string[], signal: AbortSignal): Promise<readonly Counter[]> {
    const counters = await this.#counters.counting(names, signal);
    const isFilled = ({ informer }: Counter) => informer.hasSynced();
    if (counters.every(isFilled)) return counters;
    const patience = deadline(this.#context.clock, syncPatienceMs, signal);
    const over = new Promise<void>((resolve) => {
      patience.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    try {
      await Promise.race([over, Promise.all(counters.map(({ filled }) => filled))]);
    } finally {
      patience.release();
    }
    return counters.filter(isFilled);
  }

  async #count({ type, evaluator, informer }: Counter, quota: ResourceQuota): Promise<ResourceList> {
    const { namespace = '', resourceVersion = '' } = quota.metadata;
    const names = Object.keys(quota.spec.hard ?? {}).filter((name) => evaluator.counts(name));
    const counting = { names, scopes: scopesOf(quota), nowMs: this.#context.clock.now() };
    // Before the objects are read, so that they are at least as new.
    const isBehind = isOlder(informer.lastVersion, resourceVersion);
    const counted = usageOfAll(evaluator, informer.list(namespace), counting);
    const isSure = !isBehind || this.#counted.get(keyOf(quota)) === resourceVersion;
    if (isSure || !leavesMore(quota, counted)) return counted;
    const { items } = await this.#context.client.resource(type).list({ namespace });
    return usageOfAll(evaluator, items, counting);
  }
}
