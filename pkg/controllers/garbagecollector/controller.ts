/** Deletes objects without owners, and performs foreground and orphaning deletions. */

import { deferred } from '#apimachinery/async/deferred.js';
import { processClock } from '#apimachinery/clock.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import { ItemExponentialRateLimiter } from '#client/workqueue/rate-limiter.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { watchServedResources } from '#controllers/framework/discovery.js';
import { cachesSynced, ReconcileLoop } from '#controllers/framework/loop.js';
import { Collector } from '#controllers/garbagecollector/collector.js';
import { Graph } from '#controllers/garbagecollector/graph.js';
import { Monitors } from '#controllers/garbagecollector/monitors.js';

export interface GarbageCollectorOptions {
  readonly concurrency: number;
}

/** Batches changes of the served resources. */
const refreshDelayMs = 200;
const refreshKey = 'resources';

/** The timeout of the first lists of all resources. */
const firstListTimeoutMs = 30_000;

export class GarbageCollector implements Controller {
  readonly name = 'garbagecollector';
  readonly #context: ControllerContext;
  readonly #graph: Graph;
  readonly #monitors: Monitors;
  readonly #deleting: ReconcileLoop;
  readonly #orphaning: ReconcileLoop;
  readonly #refreshing: ReconcileLoop;
  /** Resolves after the first discovery of resources. */
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
    // No overall rate limit, because whole trees of objects are deleted at once.
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

  /** The number of objects in the graph, for tests and metrics. */
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

  /** Waits for all lists: before that, owners that exist are missing in the graph. */
  async #collect(signal: AbortSignal): Promise<void> {
    await this.#firstRefresh.promise;
    const timeout = new AbortController();
    const aborted = AbortSignal.any([signal, timeout.signal]);
    // One unavailable resource must not block garbage collection.
    const timer = processClock(this.#context.clock).setTimer(() => timeout.abort(), firstListTimeoutMs);
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
