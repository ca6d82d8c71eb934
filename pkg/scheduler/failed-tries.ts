/** What becomes of a pod that fits nowhere: it tries to make room, waits for what could help, and is told why. */
import { type Clock, formatTime } from '#apimachinery/clock.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { EventRecorder } from '#client/events/recorder.js';
import { isTermOver } from '#client/leaderelection/term-over.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Binder, UnschedulableReport } from '#scheduler/binder.js';
import type { ClusterEvent } from '#scheduler/cluster/events.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { ClusterFeed } from '#scheduler/cluster-feed.js';
import type { Algorithm } from '#scheduler/decision/algorithm.js';
import type { Consultation } from '#scheduler/decision/extenders.js';
import { type MeasureStep, measureExtensions, measureSteps } from '#scheduler/decision/measure-step.js';
import type { FitError } from '#scheduler/framework/fit-error.js';
import { type Handle, isRoom, type PostFilterResult, type PreemptionArgs } from '#scheduler/framework/plugin.js';
import type { Profile } from '#scheduler/framework/profile.js';
import type { SchedulerMetrics } from '#scheduler/metrics/metrics.js';
import type { Evictions } from '#scheduler/preemption/evictions.js';
import { candidatesOfExtenders } from '#scheduler/preemption/extenders.js';
import { chosen, type Preemption } from '#scheduler/preemption/preemption.js';
import type { Nominator } from '#scheduler/queue/nominator.js';
import type { QueuedPod, SchedulingQueue } from '#scheduler/queue/scheduling-queue.js';

export interface FailedTriesOptions {
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
  /** With the extenders that are interested in the pod; undefined: there are none. */
  readonly consultation: (pod: PodInfo) => Consultation | undefined;
  /** A write was refused because this process does not lead any more. */
  readonly onTermOver: () => void;
}

/** `node`: where room is being made, empty: nowhere any more, absent: as before; `message`: why not. */
export interface Room extends PostFilterResult {
  /** Settles when those who have to go were told. */
  readonly made?: Promise<void>;
}

export class FailedTries {
  readonly #options: FailedTriesOptions;

  constructor(options: FailedTriesOptions) {
    this.#options = options;
  }

  /** Makes room for a pod that no node can take. Until it resolves no other pod may be decided. */
  async makeRoom(queued: QueuedPod, profile: Profile, error: FitError): Promise<Room> {
    const { log } = this.#options;
    try {
      return await this.#makeRoom(queued, profile, error);
    } catch (err) {
      log.error({ err, pod: queued.info.key }, 'looking for room by other means failed');
      return noRoom;
    }
  }

  /** No node can take the pod. Resolves when the API server knows; the pod is back in the queue before that. */
  async unschedulable(queued: QueuedPod, profile: Profile, error: FitError, room: Room): Promise<void> {
    const { feed, queue } = this.#options;
    queue.reject(queued, helpful(profile, error.plugins), feed.current(queued), error.plugins);
    await this.#report(queued, 'Unschedulable', error.afterPreemption(room.message), room.node);
    await room.made;
  }

  /** A plugin does not want the pod on the node that was found. As above. */
  async refused(queued: QueuedPod, profile: Profile, plugin: string, message: string): Promise<void> {
    const { feed, queue } = this.#options;
    const by = new Set([plugin].filter((name) => name !== ''));
    queue.reject(queued, helpful(profile, by), feed.current(queued), by);
    await this.#report(queued, 'Unschedulable', message, undefined);
  }

  /** Something went wrong; the pod is tried again after its back-off. As above. */
  async erred(queued: QueuedPod, message: string): Promise<void> {
    const { feed, queue } = this.#options;
    const current = feed.current(queued);
    queue.reject(queued, new Set(), current);
    if (current !== undefined) await this.#report(queued, 'SchedulerError', message, undefined);
  }

  /** Tried again after its back-off, without a word: if it is still there. */
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
      // The condition is information only; the pod stays queued, and the next try reports again.
      if (isTermOver(failure)) onTermOver();
      else if (!isNotFound(failure)) log.warn({ err: failure, pod: key }, 'condition not written');
    }
  }

  async #makeRoom(queued: QueuedPod, profile: Profile, error: FitError): Promise<Room> {
    const { clock, feed, handle, metrics, nominator } = this.#options;
    if (error.nodeCount === 0 || profile.postFilters.length === 0 || feed.current(queued) === undefined) return noRoom;
    const started = clock.monotonic();
    let room: Room = noRoom;
    for (const { plugin, point } of profile.postFilters) {
      const found =
        typeof point === 'function'
          ? ((await point(queued.info, error, handle)) ?? noRoom)
          : await this.#measured(plugin, (step) => this.#preempt(queued.info, profile, error, point, step));
      room = { ...room, ...found };
      if (isRoom(room)) break;
    }
    if (isRoom(room)) nominator.add(queued.info, room.node);
    const status = isRoom(room) ? 'Success' : 'Unschedulable';
    metrics.extensionPoint('PostFilter', status, profile.schedulerName, clock.monotonic() - started);
    return room;
  }

  /** The others are measured where they are called from. */
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
    { hopeless }: FitError,
    args: PreemptionArgs,
    step: MeasureStep | undefined,
  ): Promise<Room> {
    const { algorithm, consultation, evictions, metrics, nominator, preemption } = this.#options;
    metrics.preempting();
    const { filters } = algorithm.plan(info, profile);
    const ineligible = preemption.ineligible(info, filters);
    if (ineligible !== undefined) return { message: ineligible };
    const attempt = preemption.attempt(info, filters, args, hopeless, measureExtensions(step, profile.filters));
    const consulted = consultation(info);
    const left =
      consulted === undefined || attempt.candidates.length === 0
        ? attempt
        : {
            candidates: await candidatesOfExtenders(info, attempt.candidates, consulted),
            message: 'no candidate node for preemption',
          };
    const found = chosen(left);
    if ('message' in found) {
      if (!found.final) return { message: found.message };
      nominator.remove(info.uid);
      return { node: '', message: found.message };
    }
    metrics.preempted(found.victims.pods.length);
    const displaced = preemption.displaced(info, found.node.name);
    return { node: found.node.name, made: evictions.carryOut(info, found, displaced) };
  }
}

const noRoom: Room = {};

/** The events that could help a pod that these plugins refused. */
function helpful(profile: Profile, plugins: ReadonlySet<string>): ReadonlySet<ClusterEvent> {
  const events = new Set<ClusterEvent>(['NodeAdd']);
  for (const plugin of plugins) for (const event of profile.events.get(plugin) ?? []) events.add(event);
  return events;
}
