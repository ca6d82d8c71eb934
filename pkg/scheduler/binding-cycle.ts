/** From the decision to the binding, beside further decisions: reserve, assume, make ready, bind; or take all back. */
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { EventRecorder } from '#client/events/recorder.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Binder } from '#scheduler/binder.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { ClusterFeed } from '#scheduler/cluster-feed.js';
import type { Handle, Reservation } from '#scheduler/framework/plugin.js';
import type { Profile } from '#scheduler/framework/profile.js';
import type { PluginStatus, SchedulerMetrics } from '#scheduler/metrics/metrics.js';
import type { Nominator } from '#scheduler/queue/nominator.js';
import type { QueuedPod, SchedulingQueue } from '#scheduler/queue/scheduling-queue.js';
import type { Writes } from '#scheduler/writes.js';

export interface BindingCycleOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly recorder: EventRecorder;
  readonly metrics: SchedulerMetrics;
  readonly handle: Handle;
  readonly binder: Binder;
  readonly cluster: Cluster;
  readonly feed: ClusterFeed;
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  readonly writes: Writes;
  /** The scheduler stops. */
  readonly stopped: AbortSignal;
}

export class BindingCycle {
  readonly #options: BindingCycleOptions;

  constructor(options: BindingCycleOptions) {
    this.#options = options;
  }

  /**
   * For a pod that is to come to the node. Resolves when the next pod can be decided; rejects when a plugin cannot
   * reserve what the pod needs. `started`: when the try began; ms.
   */
  async start(queued: QueuedPod, node: NodeInfo, profile: Profile, started: number): Promise<void> {
    const { cluster, nominator, writes } = this.#options;
    const { info } = queued;
    const reservations = this.#reserve(info, node, profile);
    cluster.assume(info, node.name);
    nominator.remove(info.uid);
    const bind = () => this.#bind(queued, node.name, started, reservations);
    if (reservations.length === 0) return writes.start(info.key, bind());
    writes.startWaiting(info.key, this.#bindWhenReady(queued, reservations, bind));
  }

  /** What plugins need before the binding; all of it or nothing. */
  #reserve(info: PodInfo, node: NodeInfo, profile: Profile): Reservation[] {
    const reservations: Reservation[] = [];
    try {
      for (const { point: reserve } of profile.reserves) {
        const reservation = reserve(info, node, this.#options.handle);
        if (reservation !== undefined) reservations.push(reservation);
      }
    } catch (error) {
      for (const reservation of reservations) reservation.release();
      throw error;
    }
    return reservations;
  }

  /** Pods that wait for what was reserved do not count among the writes under way: that may take minutes. */
  async #bindWhenReady(
    queued: QueuedPod,
    reservations: readonly Reservation[],
    bind: () => Promise<void>,
  ): Promise<void> {
    try {
      for (const reservation of reservations) await this.#preBind(reservation);
    } catch (error) {
      return this.#notReady(queued, reservations, error);
    }
    await bind();
  }

  async #preBind(reservation: Reservation): Promise<void> {
    try {
      await reservation.preBind(this.#options.stopped);
    } catch (error) {
      throw new Error(`running PreBind plugin "${reservation.plugin}": ${messageOf(error)}`, { cause: error });
    }
  }

  #notReady(queued: QueuedPod, reservations: readonly Reservation[], error: unknown): void {
    const { log, metrics, recorder, stopped } = this.#options;
    this.#takeBack(queued, reservations);
    if (stopped.aborted) return;
    const { pod } = queued.info;
    metrics.attempt('error', pod.spec.schedulerName ?? '', 0);
    log.warn({ err: error, pod: queued.info.key }, 'pod is not ready to be bound');
    recorder.record(pod, 'Warning', 'FailedScheduling', messageOf(error));
  }

  #takeBack(queued: QueuedPod, reservations: readonly Reservation[]): void {
    const { cluster, feed, queue } = this.#options;
    for (const reservation of reservations) reservation.release();
    cluster.forget(queued.info.uid);
    queue.reject(queued, new Set(), feed.current(queued));
    queue.notify(['AssignedPodDelete']);
  }

  async #bind(queued: QueuedPod, node: string, started: number, reservations: readonly Reservation[]): Promise<void> {
    const { binder, clock, log, metrics, queue, recorder } = this.#options;
    const { pod } = queued.info;
    const { namespace, name } = pod.metadata;
    const profileName = pod.spec.schedulerName ?? '';
    const bindStarted = clock.monotonic();
    const bindEnded = (status: PluginStatus) =>
      metrics.extensionPoint('Bind', status, profileName, clock.monotonic() - bindStarted);
    try {
      await binder.bind(pod, node);
      bindEnded('Success');
      queue.done(queued);
      metrics.attempt('scheduled', profileName, clock.monotonic() - started);
      metrics.bound(queued.attempts, clock.monotonic() - queued.firstSeen);
      recorder.record(pod, 'Normal', 'Scheduled', `Successfully assigned ${namespace}/${name} to ${node}`);
    } catch (error) {
      bindEnded('Error');
      this.#takeBack(queued, reservations);
      if (isNotFound(error)) return;
      metrics.attempt('error', profileName, clock.monotonic() - started);
      if (isConflict(error)) return;
      log.warn({ err: error, namespace, name, node }, 'binding failed');
      recorder.record(pod, 'Warning', 'FailedScheduling', `binding rejected: ${messageOf(error)}`);
    }
  }
}
