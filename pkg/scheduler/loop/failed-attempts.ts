/** Handles failed attempts: tries preemption, queues the pod until an event could help, and reports the reason. */
import { type Clock, formatTime } from '#apimachinery/clock.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { EventRecorder } from '#client/events/recorder.js';
import { isTermOver } from '#client/leaderelection/term-over.js';
import type { Logger } from '#daemon/log/logger.js';
import type { ClusterEvent } from '#scheduler/cluster/events.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Algorithm } from '#scheduler/decision/algorithm.js';
import type { Consultation } from '#scheduler/decision/extenders.js';
import { type MeasureStep, measureExtensions, measureSteps } from '#scheduler/decision/measure-step.js';
import type { FitError } from '#scheduler/framework/fit-error.js';
import { type Handle, isRoom, type PostFilterResult, type PreemptionArgs } from '#scheduler/framework/plugin.js';
import type { Profile } from '#scheduler/framework/profile.js';
import type { Binder, UnschedulableReport } from '#scheduler/loop/binder.js';
import type { ClusterFeed } from '#scheduler/loop/cluster-feed.js';
import type { SchedulerMetrics } from '#scheduler/metrics/metrics.js';
import type { Evictions } from '#scheduler/preemption/evictions.js';
import { chooseCandidate, type Preemption, reviewByExtenders } from '#scheduler/preemption/preemption.js';
import type { Nominator } from '#scheduler/queue/nominator.js';
import type { QueuedPod, SchedulingQueue } from '#scheduler/queue/scheduling-queue.js';

export interface FailedAttemptsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly recorder: EventRecorder;
  readonly metrics: SchedulerMetrics;
  readonly binder: Binder;
  readonly handle: Handle;
  readonly feed: ClusterFeed;
  readonly queue: SchedulingQueue;
  readonly algorithm: Algorithm;
  readonly nominator: Nominator;
  readonly preemption: Preemption;
  readonly evictions: Evictions;
  /** The extenders that are interested in the pod; undefined: none. */
  readonly consultation: (pod: PodInfo) => Consultation | undefined;
  /** Called when a write is refused because this process no longer leads. */
  readonly onTermOver: () => void;
}

/** `node`: the nominated node; empty: clear the nomination; absent: keep it. `message`: why preemption failed. */
export interface Room extends PostFilterResult {
  /** Settles when the evictions have been requested. */
  readonly evicted?: Promise<void>;
}

export class FailedAttempts {
  readonly #options: FailedAttemptsOptions;

  constructor(options: FailedAttemptsOptions) {
    this.#options = options;
  }

  /** Runs the PostFilter plugins for a pod that no node can take. No other pod may be decided on until it resolves. */
  async makeRoom(queued: QueuedPod, profile: Profile, error: FitError): Promise<Room> {
    const { log } = this.#options;
    try {
      return await this.#makeRoom(queued, profile, error);
    } catch (err) {
      log.error({ err, pod: queued.info.key }, 'PostFilter failed');
      return noRoom;
    }
  }

  /** Queues a pod that no node can take. The pod is queued at once; resolves when the reason has been reported. */
  async unschedulable(queued: QueuedPod, profile: Profile, error: FitError, room: Room): Promise<void> {
    const { feed, queue } = this.#options;
    queue.reject(queued, eventsOf(profile, error.plugins), feed.current(queued), error.plugins);
    await this.#report(queued, 'Unschedulable', error.afterPreemption(room.message), room.node);
    await room.evicted;
  }

  /** Queues a pod that a plugin rejected on its chosen node. Resolves like `unschedulable`. */
  async rejected(queued: QueuedPod, profile: Profile, plugin: string, message: string): Promise<void> {
    const { feed, queue } = this.#options;
    const by = new Set([plugin].filter((name) => name !== ''));
    queue.reject(queued, eventsOf(profile, by), feed.current(queued), by);
    await this.#report(queued, 'Unschedulable', message, undefined);
  }

  /** Queues a pod whose attempt hit an error; it is retried after its back-off. Resolves like `unschedulable`. */
  async failed(queued: QueuedPod, message: string): Promise<void> {
    const { feed, queue } = this.#options;
    const current = feed.current(queued);
    queue.reject(queued, new Set(), current);
    if (current !== undefined) await this.#report(queued, 'SchedulerError', message, undefined);
  }

  /** Queues the pod, if it still needs scheduling, for a retry after its back-off; reports nothing. */
  retry(queued: QueuedPod): void {
    this.#options.queue.reject(queued, new Set(), this.#options.feed.current(queued));
  }

  async #report(
    { info: { key, pod } }: QueuedPod,
    reason: UnschedulableReport['reason'],
    message: string,
    nominatedNode: string | undefined,
  ): Promise<void> {
    const { binder, clock, log, onTermOver, recorder } = this.#options;
    recorder.record(pod, 'Warning', 'FailedScheduling', message);
    const now = formatTime(clock.now());
    const node = nominatedNode === undefined ? {} : { nominatedNode };
    try {
      await binder.reportUnschedulable(pod, { reason, message, now, ...node });
    } catch (failure) {
      // The condition is information only: the pod stays queued, and the next attempt reports again.
      if (isTermOver(failure)) onTermOver();
      else if (!isNotFound(failure))
        log.warn({ err: failure, pod: key }, 'cannot write PodScheduled condition: the next attempt writes it');
    }
  }

  async #makeRoom(queued: QueuedPod, profile: Profile, error: FitError): Promise<Room> {
    const { clock, feed, handle, metrics, nominator } = this.#options;
    if (error.nodeCount === 0 || profile.postFilters.length === 0 || feed.current(queued) === undefined) return noRoom;
    const started = clock.monotonic();
    let room: Room = noRoom;
    for (const { plugin, point } of profile.postFilters) {
      const result =
        typeof point === 'function'
          ? ((await point(queued.info, error, handle)) ?? noRoom)
          : await this.#measured(plugin, (step) => this.#preempt(queued.info, profile, error, point, step));
      room = { ...room, ...result };
      if (isRoom(room)) break;
    }
    if (isRoom(room)) nominator.add(queued.info, room.node);
    const status = isRoom(room) ? 'Success' : 'Unschedulable';
    metrics.extensionPoint('PostFilter', status, profile.schedulerName, clock.monotonic() - started);
    return room;
  }

  /** Measures the built-in preemption; other PostFilter plugins are measured by their profile. */
  async #measured(plugin: string, preempt: (step: MeasureStep | undefined) => Promise<Room>): Promise<Room> {
    const { clock, metrics } = this.#options;
    const recorder = metrics.callRecorder();
    const started = clock.monotonic();
    const room = await preempt(measureSteps(recorder, clock));
    const status = isRoom(room) ? 'Success' : 'Unschedulable';
    recorder?.executed(plugin, 'PostFilter', status, clock.monotonic() - started);
    return room;
  }

  async #preempt(
    info: PodInfo,
    profile: Profile,
    { unresolvableNodes }: FitError,
    args: PreemptionArgs,
    step: MeasureStep | undefined,
  ): Promise<Room> {
    const { algorithm, consultation, evictions, metrics, nominator, preemption } = this.#options;
    metrics.preempting();
    const { filters } = algorithm.plan(info, profile);
    const ineligible = preemption.ineligible(info, filters);
    if (ineligible !== undefined) return { message: ineligible };
    const attempt = preemption.attempt(
      info,
      filters,
      args,
      unresolvableNodes,
      measureExtensions(step, profile.filters),
    );
    const extenders = consultation(info);
    const reviewed =
      extenders === undefined || attempt.candidates.length === 0
        ? attempt
        : {
            candidates: await reviewByExtenders(info, attempt.candidates, extenders),
            message: 'no candidate node for preemption',
          };
    const candidate = chooseCandidate(reviewed);
    if ('message' in candidate) {
      if (!candidate.final) return { message: candidate.message };
      nominator.remove(info.uid);
      return { node: '', message: candidate.message };
    }
    metrics.preempted(candidate.victims.pods.length);
    const displaced = preemption.displaced(info, candidate.node.name);
    return { node: candidate.node.name, evicted: evictions.carryOut(info, candidate, displaced) };
  }
}

const noRoom: Room = {};

/** The events that could make the pod schedulable after these plugins rejected it. */
function eventsOf(profile: Profile, plugins: ReadonlySet<string>): ReadonlySet<ClusterEvent> {
  const events = new Set<ClusterEvent>(['NodeAdd']);
  for (const plugin of plugins) for (const event of profile.events.get(plugin) ?? []) events.add(event);
  return events;
}
