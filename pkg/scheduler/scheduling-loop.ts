/**
 * The scheduler at work: informers → queue → decision → assume → bind. One pod is decided at a time; bindings run
 * beside it. A loop runs once: whoever leads again begins with a new one, which knows nothing of the old.
 */

import type { Registry } from 'prom-client';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import { type Clock, formatTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import type { EventRecorder } from '#client/events/recorder.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import type { Informer, InformerFactory } from '#client/informer/informer.js';
import { dropManagedFields } from '#client/informer/transforms.js';
import type { Logger } from '#daemon/log/logger.js';
import { apiBinder, type Binder } from '#scheduler/binder.js';
import { Cluster } from '#scheduler/cluster/cluster.js';
import { type ClusterEvent, differ } from '#scheduler/cluster/events.js';
import { LiveObjects } from '#scheduler/cluster/live-objects.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import { type PodInfo, podInfo } from '#scheduler/cluster/pod-info.js';
import { Algorithm } from '#scheduler/decision/algorithm.js';
import { FitError } from '#scheduler/framework/fit-error.js';
import type { Reservation } from '#scheduler/framework/plugin.js';
import type { Profile } from '#scheduler/framework/profile.js';
import type { PluginStatus, SchedulerMetrics, SchedulerState } from '#scheduler/metrics/metrics.js';
import { defaultProfile } from '#scheduler/plugins/profiles.js';
import { Evictions } from '#scheduler/preemption/evictions.js';
import { Preemption } from '#scheduler/preemption/preemption.js';
import { Nominator } from '#scheduler/queue/nominator.js';
import { type QueuedPod, SchedulingQueue } from '#scheduler/queue/scheduling-queue.js';

export interface SchedulingLoopOptions {
  client: Client;
  /** Caches shared with others, which whoever made them starts. Absent: the scheduler has its own. */
  informers?: InformerFactory;
  /** Where the loop's own caches count. */
  readonly registry?: Registry;
  recorder: EventRecorder;
  dialect: Dialect;
  clock: Clock;
  random: () => number;
  log: Logger;
  metrics: SchedulerMetrics;
  profiles?: readonly Profile[];
  binder?: Binder;
  maxUnschedulableMs?: number;
  initialBackoffMs?: number;
  maxBackoffMs?: number;
  /** 0 or absent: by the size of the cluster. */
  percentageOfNodesToScore?: number;
  /** Bindings under way at once; further decisions wait. */
  maxBindings?: number;
}

export class SchedulingLoop {
  readonly #options: SchedulingLoopOptions;
  readonly #profiles: ReadonlyMap<string, Profile>;
  readonly #cluster: Cluster;
  readonly #objects: LiveObjects;
  readonly #queue: SchedulingQueue;
  readonly #algorithm: Algorithm;
  readonly #nominator = new Nominator();
  readonly #preemption: Preemption;
  readonly #evictions: Evictions;
  /** Bindings, evictions and reports under way. */
  readonly #writes = new Set<Promise<void>>();
  /** Bindings that wait for volumes. */
  readonly #waiting = new Set<Promise<void>>();
  readonly #stopped = new AbortController();
  readonly #binder: Binder;
  readonly #informers: InformerFactory;
  readonly #pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;

  constructor(options: SchedulingLoopOptions) {
    this.#options = options;
    const profiles = options.profiles ?? [defaultProfile(options.dialect)];
    this.#profiles = new Map(profiles.map((profile) => [profile.schedulerName, profile]));
    this.#queue = new SchedulingQueue({
      clock: options.clock,
      onIncoming: (queue, event) => options.metrics.incoming(queue, event),
      ...(options.maxUnschedulableMs === undefined ? {} : { maxUnschedulableMs: options.maxUnschedulableMs }),
      ...(options.initialBackoffMs === undefined ? {} : { initialBackoffMs: options.initialBackoffMs }),
      ...(options.maxBackoffMs === undefined ? {} : { maxBackoffMs: options.maxBackoffMs }),
    });
    this.#binder = options.binder ?? apiBinder(options.client);
    const { client, clock, random, log } = options;
    this.#informers =
      options.informers ??
      new SharedInformerFactory({
        client,
        clock,
        random,
        log,
        transform: dropManagedFields,
        ...(options.registry === undefined ? {} : { metrics: options.registry }),
      });
    this.#objects = new LiveObjects(this.#informers, options.dialect);
    this.#cluster = new Cluster(options.dialect, this.#objects);
    this.#algorithm = new Algorithm({
      cluster: this.#cluster,
      nominator: this.#nominator,
      random,
      percentageOfNodesToScore: options.percentageOfNodesToScore ?? 0,
      clock,
      times: options.metrics,
    });
    this.#preemption = new Preemption({ cluster: this.#cluster, nominator: this.#nominator, random });
    this.#evictions = new Evictions({ client, recorder: options.recorder, nominator: this.#nominator, log });
    this.#pods = this.#informers.informer(pods);
    this.#nodes = this.#informers.informer(nodes);
  }

  /** Works until `stop` aborts; calls `synced` when its caches are filled. Rejects when the work cannot go on. */
  async run(stop: AbortSignal, synced: () => void): Promise<void> {
    const removeNodes = this.#nodes.addHandler({
      onAdd: (node) => this.#nodeSeen(node),
      onUpdate: (node) => this.#nodeSeen(node),
      onDelete: (node) => this.#cluster.removeNode(node.metadata.name ?? ''),
    });
    const removePods = this.#pods.addHandler({
      onAdd: (pod) => this.#podSeen(pod, undefined),
      onUpdate: (pod, old) => this.#podSeen(pod, old),
      onDelete: (pod) => this.#podDeleted(pod),
    });
    const removeStorage = this.#objects.storage.follow((event) => this.#queue.notify([event]));
    const removeObjects = this.#objects.follow(() => {
      this.#cluster.epoch++;
    });
    const { metrics } = this.#options;
    metrics.observe(() => this.#state());
    const onStop = () => this.#queue.close();
    stop.addEventListener('abort', onStop, { once: true });
    const ended = new AbortController();
    const own = this.#options.informers === undefined ? this.#informers : undefined;
    const informing = own?.start(AbortSignal.any([stop, ended.signal]));
    // Awaited below; until then a failure must not count as unhandled.
    informing?.catch(() => undefined);
    try {
      await this.#informers.waitForSync(stop);
      synced();
      for (let pod = await this.#queue.next(); pod !== undefined; pod = await this.#queue.next()) {
        await this.#schedule(pod);
      }
    } catch (error) {
      if (!stop.aborted) throw error;
    } finally {
      metrics.observe(undefined);
      removePods();
      removeNodes();
      removeObjects();
      removeStorage();
      onStop();
      this.#stopped.abort();
      await Promise.all([...this.#writes, ...this.#waiting]);
      stop.removeEventListener('abort', onStop);
      ended.abort();
      await informing;
    }
  }

  async #schedule(queued: QueuedPod): Promise<void> {
    const { pod } = queued.info;
    const { clock, metrics, log } = this.#options;
    const profile = this.#profiles.get(pod.spec.schedulerName ?? '');
    if (profile === undefined || this.#current(queued) === undefined) return this.#queue.done(queued);
    const started = clock.monotonic();
    try {
      const { node } = this.#algorithm.schedule(queued.info, profile);
      metrics.decided(clock.monotonic() - started);
      const reservations = this.#reserve(queued.info, node, profile);
      this.#cluster.assume(queued.info, node.name);
      this.#nominator.remove(queued.info.uid);
      const bind = () => this.#bind(queued, node.name, started, reservations);
      if (reservations.length === 0) await this.#start(queued, bind());
      else this.#bindWhenReady(queued, reservations, bind);
    } catch (error) {
      if (error instanceof FitError) {
        await this.#start(queued, this.#unschedulable(queued, profile, error));
        metrics.attempt('unschedulable', profile.schedulerName, clock.monotonic() - started);
      } else {
        log.error({ err: error, namespace: pod.metadata.namespace, name: pod.metadata.name }, 'scheduling failed');
        metrics.attempt('error', profile.schedulerName, clock.monotonic() - started);
        this.#queue.reject(queued, new Set(), this.#current(queued));
      }
    }
  }

  /** What the gauges tell. */
  #state(): SchedulerState {
    const rejected = new Map<string, { plugin: string; profile: string; pods: number }>();
    for (const { info, rejectedBy } of this.#queue.waiting()) {
      const profile = info.pod.spec.schedulerName ?? '';
      for (const plugin of rejectedBy) {
        const key = `${profile} ${plugin}`;
        const known = rejected.get(key);
        rejected.set(key, { plugin, profile, pods: (known?.pods ?? 0) + 1 });
      }
    }
    return {
      pending: this.#queue.sizes,
      unschedulable: [...rejected.values()],
      cache: this.#cluster.sizes,
      bindings: this.#writes.size,
    };
  }

  /** Goes on beside the work, and waits only when too much is under way. */
  async #start(queued: QueuedPod, work: Promise<void>): Promise<void> {
    const write = work
      .catch((error: unknown) => {
        const { namespace, name } = queued.info.pod.metadata;
        this.#options.log.error({ err: error, namespace, name }, 'a write of the scheduler ended unexpectedly');
      })
      .finally(() => this.#writes.delete(write));
    this.#writes.add(write);
    if (this.#writes.size >= (this.#options.maxBindings ?? 64)) await Promise.race(this.#writes);
  }

  /** What plugins need before the binding; all of it or nothing. */
  #reserve(info: PodInfo, node: NodeInfo, profile: Profile): Reservation[] {
    const { client, clock } = this.#options;
    const handle = { client, clock, cluster: this.#cluster };
    const reservations: Reservation[] = [];
    try {
      for (const { point: reserve } of profile.reserves) {
        const reservation = reserve(info, node, handle);
        if (reservation !== undefined) reservations.push(reservation);
      }
    } catch (error) {
      for (const reservation of reservations) reservation.release();
      throw error;
    }
    return reservations;
  }

  /** Pods that wait for what was reserved do not count among the writes under way: that may take minutes. */
  #bindWhenReady(queued: QueuedPod, reservations: readonly Reservation[], bind: () => Promise<void>): void {
    const ready = async () => {
      for (const reservation of reservations) {
        try {
          await reservation.preBind(this.#stopped.signal);
        } catch (error) {
          throw new Error(`running PreBind plugin "${reservation.plugin}": ${messageOf(error)}`, { cause: error });
        }
      }
    };
    const waiting = ready()
      .then(bind, (error: unknown) => this.#notReady(queued, reservations, error))
      .catch((error: unknown) =>
        this.#options.log.error({ err: error, pod: queued.info.key }, 'binding ended unexpectedly'),
      )
      .finally(() => this.#waiting.delete(waiting));
    this.#waiting.add(waiting);
  }

  #notReady(queued: QueuedPod, reservations: readonly Reservation[], error: unknown): void {
    const { log, metrics, recorder } = this.#options;
    for (const reservation of reservations) reservation.release();
    this.#cluster.forget(queued.info.uid);
    this.#queue.reject(queued, new Set(), this.#current(queued));
    this.#queue.notify(['AssignedPodDelete']);
    if (this.#stopped.signal.aborted) return;
    const { pod } = queued.info;
    metrics.attempt('error', pod.spec.schedulerName ?? '', 0);
    log.warn({ err: error, pod: queued.info.key }, 'pod is not ready to be bound');
    recorder.record(pod, 'Warning', 'FailedScheduling', messageOf(error));
  }

  async #bind(queued: QueuedPod, node: string, started: number, reservations: readonly Reservation[]): Promise<void> {
    const { clock, log, metrics, recorder } = this.#options;
    const { pod } = queued.info;
    const { namespace, name } = pod.metadata;
    const profileName = pod.spec.schedulerName ?? '';
    const bindStarted = clock.monotonic();
    const bindEnded = (status: PluginStatus) =>
      metrics.extensionPoint('Bind', status, profileName, clock.monotonic() - bindStarted);
    try {
      await this.#binder.bind(pod, node);
      bindEnded('Success');
      this.#queue.done(queued);
      metrics.attempt('scheduled', profileName, clock.monotonic() - started);
      metrics.bound(queued.attempts, clock.monotonic() - queued.firstSeen);
      recorder.record(pod, 'Normal', 'Scheduled', `Successfully assigned ${namespace}/${name} to ${node}`);
    } catch (error) {
      bindEnded('Error');
      for (const reservation of reservations) reservation.release();
      this.#cluster.forget(queued.info.uid);
      this.#queue.reject(queued, new Set(), this.#current(queued));
      this.#queue.notify(['AssignedPodDelete']);
      if (isNotFound(error)) return;
      metrics.attempt('error', profileName, clock.monotonic() - started);
      if (isConflict(error)) return;
      log.warn({ err: error, namespace, name, node }, 'binding failed');
      recorder.record(pod, 'Warning', 'FailedScheduling', `binding rejected: ${messageOf(error)}`);
    }
  }

  async #unschedulable(queued: QueuedPod, profile: Profile, error: FitError): Promise<void> {
    const { pod } = queued.info;
    const { clock, log, recorder } = this.#options;
    const events = new Set<ClusterEvent>(['NodeAdd']);
    for (const plugin of error.plugins) for (const event of profile.events.get(plugin) ?? []) events.add(event);
    const { info } = queued;
    const current = this.#current(queued);
    const room = current === undefined || error.nodeCount === 0 ? undefined : this.#makeRoom(info, profile);
    this.#queue.reject(queued, events, current, error.plugins);
    const message = room?.message === undefined ? error.message : `${error.message} preemption: ${room.message}`;
    recorder.record(pod, 'Warning', 'FailedScheduling', message);
    const now = formatTime(clock.now());
    const node = room?.node === undefined ? {} : { nominatedNode: room.node };
    try {
      await this.#binder.reportUnschedulable(pod, { reason: 'Unschedulable', message, now, ...node });
    } catch (failure) {
      // The condition is information only; the pod stays queued, and the next try reports again.
      if (!isNotFound(failure)) {
        log.warn({ err: failure, namespace: pod.metadata.namespace, name: pod.metadata.name }, 'condition not written');
      }
    }
    await room?.made;
  }

  /** `node`: where room is being made, empty: nowhere any more, absent: as before; `message`: why not. */
  #makeRoom(info: PodInfo, profile: Profile): { node?: string; message?: string; made?: Promise<void> } {
    const { metrics } = this.#options;
    if (profile.preemption === undefined) return {};
    metrics.preempting();
    const found = this.#preemption.find(info, this.#algorithm.plan(info, profile).filters, profile.preemption);
    if ('message' in found) {
      if (!found.final) return { message: found.message };
      this.#nominator.remove(info.uid);
      return { node: '', message: found.message };
    }
    metrics.preempted(found.victims.pods.length);
    const displaced = this.#preemption.displaced(info, found.node.name);
    this.#nominator.add(info, found.node.name);
    return { node: found.node.name, made: this.#evictions.carryOut(info, found, displaced) };
  }

  /** The pod as the API shows it now, undefined when there is nothing left to schedule. */
  #current(queued: QueuedPod): Pod | undefined {
    const pod = this.#pods.get(queued.info.key);
    if (pod === undefined || !this.#waits(pod) || this.#cluster.isAssumed(pod.metadata.uid ?? '')) return undefined;
    return pod;
  }

  /** True for pods that this scheduler has to place. */
  #waits(pod: Pod): boolean {
    return (
      (pod.spec.nodeName ?? '') === '' &&
      pod.metadata.deletionTimestamp === undefined &&
      !isFinished(pod) &&
      this.#profiles.has(pod.spec.schedulerName ?? '')
    );
  }

  #podSeen(pod: Pod, old: Pod | undefined): void {
    if (old !== undefined && old.metadata.uid !== pod.metadata.uid) this.#podDeleted(old);
    if ((pod.spec.nodeName ?? '') !== '') {
      if (old !== undefined && (old.spec.nodeName ?? '') === '') this.#queue.remove(pod);
      return this.#boundPod(pod, old);
    }
    if (!this.#waits(pod)) {
      this.#nominator.remove(pod.metadata.uid ?? '');
      return this.#queue.remove(pod);
    }
    this.#nominated(pod, old);
    if (this.#cluster.isAssumed(pod.metadata.uid ?? '')) return;
    if (old === undefined || !this.#waits(old)) this.#queue.add(pod);
    else this.#queue.update(pod, JSON.stringify(pod.spec) !== JSON.stringify(old.spec));
  }

  #boundPod(pod: Pod, old: Pod | undefined): void {
    this.#nominator.remove(pod.metadata.uid ?? '');
    if (!isFinished(pod)) {
      this.#cluster.setPod(pod);
      const news = (old?.spec.nodeName ?? '') === '' || differ(pod.metadata.labels, old?.metadata.labels);
      if (news) this.#assigned(podInfo(pod));
      return;
    }
    this.#cluster.removePod(pod.metadata.uid ?? '');
    this.#queue.notify(['AssignedPodDelete']);
  }

  /** Nominations outlive the scheduler in the pods' statuses. */
  #nominated(pod: Pod, old: Pod | undefined): void {
    const node = pod.status?.nominatedNodeName ?? '';
    if (node === (old?.status?.nominatedNodeName ?? '')) return;
    if (node === '') this.#nominator.remove(pod.metadata.uid ?? '');
    else this.#nominator.add(podInfo(pod), node);
  }

  /** Helps those whose required affinity is about such a pod. */
  #assigned(pod: PodInfo): void {
    const { namespaceLabels } = this.#objects;
    this.#queue.notify(['AssignedPodAdd'], ({ terms }) =>
      terms.requiredAffinity.some((term) => term.matches(pod, namespaceLabels)),
    );
  }

  #podDeleted(pod: Pod): void {
    this.#nominator.remove(pod.metadata.uid ?? '');
    this.#queue.remove(pod);
    this.#cluster.removePod(pod.metadata.uid ?? '');
    if ((pod.spec.nodeName ?? '') !== '') this.#queue.notify(['AssignedPodDelete']);
  }

  #nodeSeen(node: Node): void {
    const events = this.#cluster.setNode(node);
    if (events.length > 0) this.#queue.notify(events);
  }
}

function isFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}
