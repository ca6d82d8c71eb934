/** What becomes of a pod that fits nowhere: it tries to make room, waits for what could help, and is told why. */
import { type Clock, formatTime } from '#apimachinery/clock.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { EventRecorder } from '#client/events/recorder.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Binder } from '#scheduler/binder.js';
import type { ClusterEvent } from '#scheduler/cluster/events.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { ClusterFeed } from '#scheduler/cluster-feed.js';
import type { Algorithm } from '#scheduler/decision/algorithm.js';
import type { FitError } from '#scheduler/framework/fit-error.js';
import type { Profile } from '#scheduler/framework/profile.js';
import type { SchedulerMetrics } from '#scheduler/metrics/metrics.js';
import type { Evictions } from '#scheduler/preemption/evictions.js';
import type { Preemption } from '#scheduler/preemption/preemption.js';
import type { Nominator } from '#scheduler/queue/nominator.js';
import type { QueuedPod, SchedulingQueue } from '#scheduler/queue/scheduling-queue.js';

export interface FailedTriesOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly recorder: EventRecorder;
  readonly metrics: SchedulerMetrics;
  readonly binder: Binder;
  readonly feed: ClusterFeed;
  readonly queue: SchedulingQueue;
  readonly algorithm: Algorithm;
  readonly nominator: Nominator;
  readonly preemption: Preemption;
  readonly evictions: Evictions;
}

/** `node`: where room is being made, empty: nowhere any more, absent: as before; `message`: why not. */
interface Room {
  readonly node?: string;
  readonly message?: string;
  /** Settles when those who have to go were told. */
  readonly made?: Promise<void>;
}

export class FailedTries {
  readonly #options: FailedTriesOptions;

  constructor(options: FailedTriesOptions) {
    this.#options = options;
  }

  /** Resolves when the API server knows; the pod is back in the queue before that. */
  async unschedulable(queued: QueuedPod, profile: Profile, error: FitError): Promise<void> {
    const { feed, queue } = this.#options;
    const events = new Set<ClusterEvent>(['NodeAdd']);
    for (const plugin of error.plugins) for (const event of profile.events.get(plugin) ?? []) events.add(event);
    const current = feed.current(queued);
    const room = current === undefined || error.nodeCount === 0 ? {} : this.#makeRoom(queued.info, profile);
    queue.reject(queued, events, current, error.plugins);
    const message = room.message === undefined ? error.message : `${error.message} preemption: ${room.message}`;
    await this.#report(queued, message, room.node);
    await room.made;
  }

  async #report({ info: { key, pod } }: QueuedPod, message: string, nominatedNode: string | undefined): Promise<void> {
    const { binder, clock, log, recorder } = this.#options;
    recorder.record(pod, 'Warning', 'FailedScheduling', message);
    const now = formatTime(clock.now());
    const node = nominatedNode === undefined ? {} : { nominatedNode };
    try {
      await binder.reportUnschedulable(pod, { reason: 'Unschedulable', message, now, ...node });
    } catch (failure) {
      // The condition is information only; the pod stays queued, and the next try reports again.
      if (!isNotFound(failure)) log.warn({ err: failure, pod: key }, 'condition not written');
    }
  }

  #makeRoom(info: PodInfo, profile: Profile): Room {
    const { algorithm, evictions, metrics, nominator, preemption } = this.#options;
    if (profile.preemption === undefined) return {};
    metrics.preempting();
    const found = preemption.find(info, algorithm.plan(info, profile).filters, profile.preemption);
    if ('message' in found) {
      if (!found.final) return { message: found.message };
      nominator.remove(info.uid);
      return { node: '', message: found.message };
    }
    metrics.preempted(found.victims.pods.length);
    const displaced = preemption.displaced(info, found.node.name);
    nominator.add(info, found.node.name);
    return { node: found.node.name, made: evictions.carryOut(info, found, displaced) };
  }
}
