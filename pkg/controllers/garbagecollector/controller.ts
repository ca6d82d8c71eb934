/** Deletes objects whose owners are gone, and carries out deletions in the foreground and with orphans. */
import { deferred } from '#apimachinery/async/deferred.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import { ItemExponentialRateLimiter } from '#client/workqueue/rate-limiter.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { watchServedResources } from '#controllers/framework/discovery.js';
import { cachesSynced, ReconcileLoop } from '#controllers/framework/loop.js';
import { Collector } from '#controllers/garbagecollector/collector.js';
import { Graph } from '#controllers/garbagecollector/graph.js';
import { Monitors } from '#controllers/garbagecollector/monitors.js';

export interface GarbageCollectorOptions {
  /** Objects looked at at once. */
  readonly concurrency: number;
}

/** Changes of what the API serves come in groups: wait for the group. */
const refreshDelayMs = 200;
const refreshKey = 'resources';

/** How long the first lists of all resources are waited for. */
const patienceMs = 30_000;

export class GarbageCollector implements Controller {
  readonly name = 'garbagecollector';
  readonly #context: ControllerContext;
  readonly #graph: Graph;
  readonly #monitors: Monitors;
  readonly #deleting: ReconcileLoop;
  readonly #orphaning: ReconcileLoop;
  readonly #refreshing: ReconcileLoop;
  /** Resolved when it is known for the first time what there is to watch. */
  readonly #firstRefresh = deferred();

  constructor(context: ControllerContext, options: GarbageCollectorOptions) {
    this.#context = context;
    const { concurrency } = options;
    this.#graph = new Graph({
      attemptToDelete: ({ identity }) => this.#deleting.queue.add(identity.uid),
      attemptToOrphan: ({ identity }) => this.#orphaning.queue.add(identity.uid),
      invalidOwner: ({ identity }, owner) => {
        const { apiVersion, kind, namespace, name, uid } = identity;
        const message = `ownerRef [${owner.apiVersion}/${owner.kind}, namespace: ${namespace}, name: ${owner.name}, uid: ${owner.uid}] does not exist in namespace "${namespace}"`;
        const metadata = { name, uid, ...(namespace === '' ? {} : { namespace }) };
        context.events.record({ apiVersion, kind, metadata }, 'Warning', 'OwnerRefInvalidNamespace', message);
      },
    });
    this.#monitors = new Monitors(context, this.#graph);
    const collector = new Collector({
      context,
      graph: this.#graph,
      resourceOf: (apiVersion, kind) => this.#monitors.resourceOf(apiVersion, kind),
    });
    // Whole trees of objects go at once; a rate over all of them together would make that slow.
    const rateLimiter = () => new ItemExponentialRateLimiter<string>(5, 1_000_000);
    this.#deleting = new ReconcileLoop(context, {
      name: 'garbage_collector_attempt_to_delete',
      concurrency,
      rateLimiter: rateLimiter(),
      reconcile: (uid) => collector.attemptToDelete(uid),
    });
    this.#orphaning = new ReconcileLoop(context, {
      name: 'garbage_collector_attempt_to_orphan',
      concurrency,
      rateLimiter: rateLimiter(),
      reconcile: (uid) => collector.attemptToOrphan(uid),
    });
    this.#refreshing = new ReconcileLoop(context, {
      name: 'garbage_collector_resources',
      concurrency: 1,
      reconcile: (_key, signal) => this.#refresh(signal),
    });
  }

  /** Objects known, for tests and metrics. */
  get size(): number {
    return this.#graph.size;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { queue } = this.#refreshing;
    const stop = () => this.#firstRefresh.resolve();
    signal.addEventListener('abort', stop, { once: true });
    const unwatch = watchServedResources(this.#context.informers, () => queue.addAfter(refreshKey, refreshDelayMs));
    try {
      if (!(await cachesSynced(this.#context, signal))) return;
      queue.add(refreshKey);
      await Promise.all([this.#refreshing.work(signal), this.#collect(signal)]);
    } finally {
      unwatch();
      await this.#monitors.close();
    }
  }

  /** Begins when all is listed: before that, every object looks as if its owner were missing. */
  async #collect(signal: AbortSignal): Promise<void> {
    await this.#firstRefresh.promise;
    const patience = new AbortController();
    const aborted = AbortSignal.any([signal, patience.signal]);
    // One resource that never answers must not keep all garbage.
    const timer = this.#context.clock.setTimer(() => patience.abort(), patienceMs);
    await this.#monitors.synced(aborted);
    timer.cancel();
    await Promise.all([this.#deleting.work(signal), this.#orphaning.work(signal)]);
  }

  async #refresh(signal: AbortSignal): Promise<Outcome> {
    await this.#monitors.refresh(signal);
    this.#firstRefresh.resolve();
    return done;
  }
}
