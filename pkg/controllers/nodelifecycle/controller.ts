/** Notices nodes that fall silent, says so in their conditions, taints and pods, and evicts pods from them. */
import { leases as leaseType } from '#api/coordination/v1/resources.gen.js';
import type { Lease } from '#api/coordination/v1/types.gen.js';
import { getNodeCondition } from '#api/core/v1/node/conditions.js';
import { isPodReady, setPodCondition } from '#api/core/v1/pod/conditions.js';
import { nodes as nodeType, pods as podType } from '#api/core/v1/resources.gen.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyFor } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { indexByNode, podsOfNode, sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import {
  type GracePeriods,
  type Health,
  observeHealth,
  observeRenewal,
  readinessOf,
  silentAt,
  silentConditions,
} from '#controllers/nodelifecycle/health.js';
import { missingLabels } from '#controllers/nodelifecycle/labels.js';
import { countEvictions, registerZones } from '#controllers/nodelifecycle/metrics.js';
import { evictionDueMs, PodEvictor, type SeenReadiness } from '#controllers/nodelifecycle/pod-evictor.js';
import { TaintManager } from '#controllers/nodelifecycle/taint-manager.js';
import { type Eviction, needsLeave, planTaints } from '#controllers/nodelifecycle/taints.js';
import { type Leave, type ZoneOptions, Zones, zoneOf } from '#controllers/nodelifecycle/zones.js';

export interface NodeLifecycleOptions {
  readonly grace: GracePeriods;
  /**
   * How long a node's trouble is watched before its pods are evicted: when many nodes fall silent at the same time,
   * that is noticed for one after the other, and the last of them may show that the trouble is not theirs.
   */
  readonly monitorPeriodMs: number;
  readonly zones: ZoneOptions;
  /** Pods leave nodes because of taints; else once a node has not been ready for `podEvictionTimeoutMs`. */
  readonly taintManager: boolean;
  readonly podEvictionTimeoutMs: number;
}

/** Between looks at the pods of a node that is lost, whatever the options say. */
const shortestLookMs = 100;

/** Nodes worked on at once. */
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
  readonly #readiness = new Map<string, SeenReadiness>();
  /** Nodes whose pods were told to go, and which have not been ready since: without a taint manager. */
  readonly #emptied = new Set<string>();
  /** Node → the transition of its readiness that its pods have been told. */
  readonly #told = new Map<string, string>();

  constructor(context: ControllerContext, options: NodeLifecycleOptions) {
    this.#context = context;
    this.#options = options;
    this.#zones = new Zones(options.zones);
    this.#nodes = sharedInformer(context.informers, nodeType);
    this.#pods = sharedInformer(context.informers, podType);
    // Of all namespaces: the garbage collector looks at the same.
    this.#leases = sharedInformer(context.informers, leaseType);
    indexByNode(this.#pods);
    this.#evictor = new PodEvictor(context, this.#pods);
    this.#taintManager = options.taintManager ? new TaintManager(context) : undefined;
    this.#loop = new ReconcileLoop(context, {
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
    // A renewal is no news: it only moves the deadline, which is looked up when the old one has come.
    const renewed = (lease: Lease) => {
      if (lease.metadata.namespace !== this.#context.dialect.namespaces.nodeLease) return;
      const name = lease.metadata.name ?? '';
      // A node that is not known yet is noted together with its lease.
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
    this.#told.delete(name);
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
    // The first node that is heard again shows that the others could not be heard, not that they were silent.
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
    const silentInMs = silentAt(health, node, this.#options.grace) - clock.monotonic();
    if (silentInMs <= 0) {
      const conditions = silentConditions(dialect, node, clock.now());
      // The cache will show the new conditions and call again.
      if (conditions !== undefined) {
        await this.#write(() =>
          this.#context.client.resource(nodeType).updateStatus({ ...node, status: { ...node.status, conditions } }),
        );
        return done;
      }
    }
    const waitMs = await this.#taint(node);
    await this.#tellPods(node);
    const evictInMs = this.#options.taintManager ? undefined : await this.#evict(node, health);
    const due = [silentInMs, waitMs, evictInMs].filter((ms): ms is number => ms !== undefined && ms > 0);
    return due.length === 0 ? done : requeueAfter(Math.min(...due));
  }

  async #label(node: Node): Promise<void> {
    const { client, dialect } = this.#context;
    const labels = missingLabels(dialect, node);
    if (Object.keys(labels).length === 0) return;
    const { name = '' } = node.metadata;
    await this.#write(() => client.resource(nodeType).patch(name, { metadata: { labels } }, { type: 'merge' }));
  }

  /** Milliseconds until the zone may give leave to evict, undefined when that is not waited for. */
  async #taint(node: Node): Promise<number | undefined> {
    const { clock, client, dialect } = this.#context;
    let eviction: Eviction = this.#zones.allDisrupted ? 'suspended' : 'wait';
    let waitMs: number | undefined;
    if (eviction === 'wait' && this.#options.taintManager && needsLeave(dialect, node)) {
      const leave = this.#leave(node.metadata.name ?? '');
      if (leave.kind === 'allowed') eviction = 'allowed';
      if (leave.kind === 'wait') waitMs = leave.ms;
    }
    const taints = planTaints(dialect, node, eviction, clock.now());
    if (taints === undefined) return waitMs;
    await this.#write(() => client.resource(nodeType).update({ ...node, spec: { ...node.spec, taints } }));
    if (eviction === 'allowed') countEvictions(this.#context.metrics, zoneOf(dialect, node), 1);
    return waitMs;
  }

  /** Milliseconds until the next look at the node's pods, undefined when there is none to be taken. */
  async #evict(node: Node, health: Health): Promise<number | undefined> {
    const name = node.metadata.name ?? '';
    const { podEvictionTimeoutMs, monitorPeriodMs } = this.#options;
    const seen = this.#readiness.get(name);
    const dueMs = seen && evictionDueMs(seen, health, podEvictionTimeoutMs);
    if (dueMs === undefined || this.#zones.allDisrupted) {
      this.#emptied.delete(name);
      return undefined;
    }
    const waitMs = dueMs - this.#context.clock.monotonic();
    if (waitMs > 0) return waitMs;
    if (!this.#emptied.has(name)) {
      const leave = this.#leave(name);
      if (leave.kind !== 'allowed') return leave.kind === 'wait' ? leave.ms : undefined;
    }
    const isFirst = !this.#emptied.has(name);
    this.#emptied.add(name);
    await this.#evictor.evictFrom(node);
    if (isFirst) countEvictions(this.#context.metrics, zoneOf(this.#context.dialect, node), 1);
    // Whatever comes to the node meanwhile goes, too.
    return Math.max(monitorPeriodMs, shortestLookMs);
  }

  #leave(name: string): Leave {
    const nowMs = this.#context.clock.monotonic();
    const watchedMs = nowMs - (this.#readiness.get(name)?.sinceMs ?? nowMs);
    const leftMs = this.#options.monitorPeriodMs - watchedMs;
    return leftMs > 0 ? { kind: 'wait', ms: leftMs } : this.#zones.leave(name, nowMs);
  }

  /**
   * Pods of a node that is lost are not ready, so that no service sends them anything. An agent that says itself that its
   * node is not ready says what its pods are, too.
   */
  async #tellPods(node: Node): Promise<void> {
    const name = node.metadata.name ?? '';
    const ready = getNodeCondition(node.status, 'Ready');
    if (ready?.status !== 'Unknown') {
      this.#told.delete(name);
      return;
    }
    const transition = `${ready.status} ${ready.lastTransitionTime ?? ''}`;
    // A node that still reports may say otherwise of its pods afterwards; that is not ours to fight.
    if (this.#told.get(name) === transition) return;
    if (!this.#told.has(name)) {
      const message = `Node ${name} status is now: NodeNotReady`;
      this.#context.events.record(node, 'Normal', 'NodeNotReady', message);
    }
    await Promise.all(
      podsOfNode(this.#pods, name)
        .filter(isPodReady)
        .map((pod) => this.#markNotReady(pod)),
    );
    this.#told.set(name, transition);
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
