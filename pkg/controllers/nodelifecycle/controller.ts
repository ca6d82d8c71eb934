/** Detects nodes that stop reporting, updates their conditions, taints and pods, and evicts their pods. */
import { leases as leaseType } from '#api/coordination/v1/resources.gen.js';
import type { Lease } from '#api/coordination/v1/types.gen.js';
import { getNodeCondition } from '#api/core/v1/node/conditions.js';
import { isPodReady, setPodCondition } from '#api/core/v1/pod/conditions.js';
import { nodes as nodeType, pods as podType } from '#api/core/v1/resources.gen.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import { formatTime, watchdogClock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyFor } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { indexByNode, podsOfNode, sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import {
  type GracePeriods,
  graceEndMs,
  type Health,
  observeHealth,
  observeRenewal,
  readinessOf,
  unknownConditions,
} from '#controllers/nodelifecycle/health.js';
import { countEvictions, registerZones } from '#controllers/nodelifecycle/metrics.js';
import { evictionDueMs, type ObservedReadiness, PodEvictor } from '#controllers/nodelifecycle/pod-evictor.js';
import { TaintManager } from '#controllers/nodelifecycle/taint-manager.js';
import { type Eviction, needsPermit, planTaints } from '#controllers/nodelifecycle/taints.js';
import { type EvictionPermit, type ZoneOptions, Zones, zoneOf } from '#controllers/nodelifecycle/zones.js';

export interface NodeLifecycleOptions {
  readonly grace: GracePeriods;
  /**
   * The delay before a failed node's pods are evicted. When many nodes stop reporting, they are detected one by one, and
   * the last ones may show that the network is the cause.
   */
  readonly monitorPeriodMs: number;
  readonly zones: ZoneOptions;
  /** Evict pods by taints; otherwise after a node was not ready for `podEvictionTimeoutMs`. */
  readonly taintManager: boolean;
  readonly podEvictionTimeoutMs: number;
}

/** The minimum interval between evictions from one node. */
const minEvictionIntervalMs = 100;

const concurrency = 8;

export class NodeLifecycleController implements Controller {
  readonly name = 'nodelifecycle';
  readonly #context: ControllerContext;
  readonly #options: NodeLifecycleOptions;
  readonly #nodes: Informer<Node>;
  readonly #leases: Informer<Lease>;
  readonly #pods: Informer<Pod>;
  readonly #loop: ReconcileLoop;
  readonly #taintManager: TaintManager | undefined;
  readonly #zones: Zones;
  readonly #health = new Map<string, Health>();
  readonly #evictor: PodEvictor;
  readonly #readiness = new Map<string, ObservedReadiness>();
  /** Nodes whose pods were evicted without a taint manager, and which have not been ready since. */
  readonly #emptied = new Set<string>();
  /** The transition of each node's readiness for which its pods were marked as not ready. */
  readonly #markedTransitions = new Map<string, string>();

  constructor(context: ControllerContext, options: NodeLifecycleOptions) {
    this.#context = context;
    this.#options = options;
    this.#zones = new Zones(options.zones);
    this.#nodes = sharedInformer(context.informers, nodeType);
    this.#pods = sharedInformer(context.informers, podType);
    // All namespaces, because the garbage collector shares this cache.
    this.#leases = sharedInformer(context.informers, leaseType);
    indexByNode(this.#pods);
    this.#evictor = new PodEvictor(context, this.#pods);
    this.#taintManager = options.taintManager ? new TaintManager(context) : undefined;
    // Its own delays wait for heartbeats to be missed.
    const watching = { ...context, clock: watchdogClock(context.clock) };
    this.#loop = new ReconcileLoop(watching, {
      name: 'node_lifecycle_controller',
      concurrency,
      reconcile: (name) => this.#reconcile(name),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const observe = (node: Node) => {
      this.#observe(node);
      this.#loop.queue.add(node.metadata.name ?? '');
    };
    // A renewal only moves the deadline, which is checked when the old deadline passes.
    const renewed = (lease: Lease) => {
      if (lease.metadata.namespace !== this.#context.dialect.namespaces.nodeLease) return;
      const name = lease.metadata.name ?? '';
      // A new node is recorded together with its lease.
      const health = this.#health.get(name);
      if (health !== undefined) this.#health.set(name, observeRenewal(health, lease, this.#context.clock.monotonic()));
    };
    const watches = [
      registerZones(this.#context.metrics, this.#zones),
      this.#nodes.addHandler({ onAdd: observe, onUpdate: observe, onDelete: (node) => this.#forget(node) }),
      this.#leases.addHandler({ onAdd: renewed, onUpdate: renewed }),
    ];
    await Promise.all([this.#loop.run(signal, watches), this.#taintManager?.run(signal)]);
  }

  #observe(node: Node): void {
    const { dialect } = this.#context;
    const name = node.metadata.name ?? '';
    const readiness = readinessOf(node);
    this.#note(node, this.#leases.get(keyFor(dialect.namespaces.nodeLease, name)));
    if (this.#readiness.get(name)?.readiness !== readiness) {
      this.#readiness.set(name, { readiness, sinceMs: this.#context.clock.monotonic() });
    }
    const zone = zoneOf(dialect, node);
    this.#zoneChanged(() => this.#zones.set(name, zone, readiness));
    countEvictions(this.#context.metrics, zone, 0);
  }

  #forget(node: Node): void {
    const name = node.metadata.name ?? '';
    this.#health.delete(name);
    this.#markedTransitions.delete(name);
    this.#readiness.delete(name);
    this.#emptied.delete(name);
    this.#zoneChanged(() => this.#zones.remove(name));
  }

  #note(node: Node, lease: Lease | undefined): void {
    const name = node.metadata.name ?? '';
    const { clock } = this.#context;
    const now = { wallMs: clock.now(), monotonicMs: clock.monotonic() };
    this.#health.set(name, observeHealth(this.#health.get(name), node, lease, now));
  }

  #zoneChanged(change: () => readonly string[]): void {
    const wasDisrupted = this.#zones.allDisrupted;
    const affected = change();
    const now = this.#context.clock.monotonic();
    // When the first node reports again, the network was the cause: restart the grace period of all nodes.
    if (wasDisrupted && !this.#zones.allDisrupted) {
      for (const [name, health] of this.#health) this.#health.set(name, { ...health, seenMs: now });
    }
    for (const name of affected) this.#loop.queue.add(name);
  }

  async #reconcile(name: string): Promise<Outcome> {
    const { clock, dialect } = this.#context;
    const node = this.#nodes.get(name);
    const health = this.#health.get(name);
    if (node === undefined || health === undefined) return done;
    await this.#label(node);
    const graceLeftMs = graceEndMs(health, node, this.#options.grace) - clock.monotonic();
    if (graceLeftMs <= 0) {
      const conditions = unknownConditions(dialect, node, clock.now());
      // The update of the conditions enqueues the node again.
      if (conditions !== undefined) {
        await this.#write(() =>
          this.#context.client.resource(nodeType).updateStatus({ ...node, status: { ...node.status, conditions } }),
        );
        return done;
      }
    }
    const waitMs = await this.#taint(node);
    await this.#markPods(node);
    const evictInMs = this.#options.taintManager ? undefined : await this.#evict(node, health);
    const due = [graceLeftMs, waitMs, evictInMs].filter((ms): ms is number => ms !== undefined && ms > 0);
    return due.length === 0 ? done : requeueAfter(Math.min(...due));
  }

  async #label(node: Node): Promise<void> {
    const { client, dialect } = this.#context;
    const labels = missingLabels(dialect, node);
    if (Object.keys(labels).length === 0) return;
    const { name = '' } = node.metadata;
    await this.#write(() => client.resource(nodeType).patch(name, { metadata: { labels } }, { type: 'merge' }));
  }

  /** Milliseconds until the zone's rate may allow the eviction; undefined when none is pending. */
  async #taint(node: Node): Promise<number | undefined> {
    const { clock, client, dialect } = this.#context;
    let eviction: Eviction = this.#zones.allDisrupted ? 'suspended' : 'wait';
    let waitMs: number | undefined;
    if (eviction === 'wait' && this.#options.taintManager && needsPermit(dialect, node)) {
      const permit = this.#requestEviction(node.metadata.name ?? '');
      if (permit.kind === 'allowed') eviction = 'allowed';
      if (permit.kind === 'wait') waitMs = permit.ms;
    }
    const taints = planTaints(dialect, node, eviction, clock.now());
    if (taints === undefined) return waitMs;
    await this.#write(() => client.resource(nodeType).update({ ...node, spec: { ...node.spec, taints } }));
    if (eviction === 'allowed') countEvictions(this.#context.metrics, zoneOf(dialect, node), 1);
    return waitMs;
  }

  /** Milliseconds until the next eviction from the node; undefined when none is pending. */
  async #evict(node: Node, health: Health): Promise<number | undefined> {
    const name = node.metadata.name ?? '';
    const { podEvictionTimeoutMs, monitorPeriodMs } = this.#options;
    const readiness = this.#readiness.get(name);
    const dueMs = readiness && evictionDueMs(readiness, health, podEvictionTimeoutMs);
    if (dueMs === undefined || this.#zones.allDisrupted) {
      this.#emptied.delete(name);
      return undefined;
    }
    const waitMs = dueMs - this.#context.clock.monotonic();
    if (waitMs > 0) return waitMs;
    if (!this.#emptied.has(name)) {
      const permit = this.#requestEviction(name);
      if (permit.kind !== 'allowed') return permit.kind === 'wait' ? permit.ms : undefined;
    }
    const isFirst = !this.#emptied.has(name);
    this.#emptied.add(name);
    await this.#evictor.evictFrom(node);
    if (isFirst) countEvictions(this.#context.metrics, zoneOf(this.#context.dialect, node), 1);
    // Evict pods that arrive later, too.
    return Math.max(monitorPeriodMs, minEvictionIntervalMs);
  }

  #requestEviction(name: string): EvictionPermit {
    const nowMs = this.#context.clock.monotonic();
    const elapsedMs = nowMs - (this.#readiness.get(name)?.sinceMs ?? nowMs);
    const leftMs = this.#options.monitorPeriodMs - elapsedMs;
    return leftMs > 0 ? { kind: 'wait', ms: leftMs } : this.#zones.requestEviction(name, nowMs);
  }

  /**
   * Marks the pods of a lost node as not ready, so that services do not send them traffic. A node agent that reports a node
   * as not ready reports its pods itself.
   */
  async #markPods(node: Node): Promise<void> {
    const name = node.metadata.name ?? '';
    const ready = getNodeCondition(node.status, 'Ready');
    if (ready?.status !== 'Unknown') {
      this.#markedTransitions.delete(name);
      return;
    }
    const transition = `${ready.status} ${ready.lastTransitionTime ?? ''}`;
    // Mark once per transition: do not overwrite later reports of the node agent.
    if (this.#markedTransitions.get(name) === transition) return;
    if (!this.#markedTransitions.has(name)) {
      const message = `Node ${name} status is now: NodeNotReady`;
      this.#context.events.record(node, 'Normal', 'NodeNotReady', message);
    }
    await Promise.all(
      podsOfNode(this.#pods, name)
        .filter(isPodReady)
        .map((pod) => this.#markNotReady(pod)),
    );
    this.#markedTransitions.set(name, transition);
  }

  async #markNotReady(pod: Pod): Promise<void> {
    const { client, clock, events } = this.#context;
    const ready = pod.status?.conditions?.find((condition) => condition.type === 'Ready');
    const status = setPodCondition(pod.status, { ...ready, type: 'Ready', status: 'False' }, formatTime(clock.now()));
    await this.#write(() => client.resource(podType).updateStatus({ ...pod, status }));
    events.record(pod, 'Warning', 'NodeNotReady', 'Node is not ready');
  }

  async #write(call: () => Promise<unknown>): Promise<void> {
    try {
      await call();
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** The beta labels that older clients use, copied from the stable labels. Rules of release 1.24. Pure. */
export function missingLabels({ labels: names }: Dialect, { metadata }: Node): Record<string, string> {
  const missing: Record<string, string> = {};
  for (const [stable, beta] of [
    [names.os, names.betaOS],
    [names.arch, names.betaArch],
  ] as const) {
    const value = metadata.labels?.[stable];
    if (value !== undefined && metadata.labels?.[beta] !== value) missing[beta] = value;
  }
  return missing;
}
