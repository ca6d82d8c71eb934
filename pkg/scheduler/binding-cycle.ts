/** From the decision to the binding, beside further decisions: reserve, assume, wait, make ready, bind; or take all back. */
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { EventRecorder } from '#client/events/recorder.js';
import { isTermOver } from '#client/leaderelection/term-over.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { FailedTries } from '#scheduler/failed-tries.js';
import type { Handle, Reservation } from '#scheduler/framework/plugin.js';
import type { Profile } from '#scheduler/framework/profile.js';
import type { Refused, WaitingPods } from '#scheduler/framework/waiting-pods.js';
import type { AttemptResult, ExtensionPoint, SchedulerMetrics } from '#scheduler/metrics/metrics.js';
import type { Nominator } from '#scheduler/queue/nominator.js';
import type { QueuedPod, SchedulingQueue } from '#scheduler/queue/scheduling-queue.js';
import type { TracedTry, TryOutcome } from '#scheduler/traced-try.js';
import type { UnseenBindings } from '#scheduler/unseen-bindings.js';
import type { Writes } from '#scheduler/writes.js';

export interface BindingCycleOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly recorder: EventRecorder;
  readonly metrics: SchedulerMetrics;
  readonly handle: Handle;
  readonly cluster: Cluster;
  readonly failedTries: FailedTries;
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  readonly unseen: Pick<UnseenBindings, 'await'>;
  readonly waitingPods: WaitingPods;
  readonly writes: Writes;
  /** The scheduler stops. */
  readonly stopped: AbortSignal;
  /** A write was refused because this process does not lead any more. */
  readonly onTermOver: () => void;
}

/** A pod that is to come to a node. */
export interface Choice {
  readonly queued: QueuedPod;
  readonly node: NodeInfo;
  readonly profile: Profile;
  /** When the try began; ms. */
  readonly started: number;
  /** Absent: it is not traced. */
  readonly traced: TracedTry | undefined;
}

/** A pod on its way to its node. */
interface Passage extends Choice {
  readonly reservations: readonly Reservation[];
  /** How it ended; absent: it came to nothing. */
  outcome?: TryOutcome;
}

export class BindingCycle {
  readonly #options: BindingCycleOptions;

  constructor(options: BindingCycleOptions) {
    this.#options = options;
  }

  /** Resolves when the next pod can be decided. */
  async start(choice: Choice): Promise<void> {
    const { cluster, nominator, writes } = this.#options;
    const { node, profile } = choice;
    const { info } = choice.queued;
    const reservations: Reservation[] = [];
    const passage: Passage = { ...choice, reservations };
    let permission: ReadonlyMap<string, number> | Refused;
    try {
      this.#measured('Reserve', passage, () => this.#reserve(passage, reservations));
      cluster.assume(info, node.name);
      nominator.remove(info.uid);
      permission = this.#measured('Permit', passage, () => this.#permissions(passage));
    } catch (error) {
      return writes.start(info.key, ended(passage, this.#failed(passage, messageOf(error))));
    }
    if ('plugin' in permission) return writes.start(info.key, ended(passage, this.#refused(passage, permission)));
    if (permission.size === 0 && reservations.length === 0 && profile.preBinds.length === 0) {
      return writes.start(info.key, ended(passage, this.#bind(passage)));
    }
    // This may take minutes, and so does not count among the writes under way.
    writes.startWaiting(info.key, ended(passage, this.#bindWhenReady(passage, permission)));
  }

  /** What plugins need before the binding; added to `reservations` one by one, so that what was taken can be given back. */
  #reserve({ node, profile, queued }: Passage, reservations: Reservation[]): void {
    for (const { plugin, point } of profile.reserves) {
      try {
        const reservation = point(queued.info, node, this.#options.handle);
        if (reservation !== undefined) reservations.push(reservation);
      } catch (error) {
        throw new Error(`running Reserve plugin "${plugin}": ${messageOf(error)}`, { cause: error });
      }
    }
  }

  /** How long which plugins make the pod wait (ms), or who does not want it there. */
  #permissions({ node, profile, queued }: Passage): ReadonlyMap<string, number> | Refused {
    if (profile.permits.length === 0) return nobody;
    const waits = new Map<string, number>();
    for (const { plugin, point } of profile.permits) {
      let permission: ReturnType<typeof point>;
      try {
        permission = point(queued.info, node, this.#options.handle);
      } catch (error) {
        throw new Error(`running Permit plugin "${plugin}": ${messageOf(error)}`, { cause: error });
      }
      if (permission === undefined) continue;
      if ('reject' in permission) return { plugin, message: permission.reject };
      waits.set(plugin, permission.waitMs);
    }
    return waits;
  }

  async #bindWhenReady(passage: Passage, waits: ReadonlyMap<string, number>): Promise<void> {
    const refused = waits.size === 0 ? undefined : await this.#permitted(passage, waits);
    if (refused !== undefined) return this.#refused(passage, refused);
    const { clock } = this.#options;
    const started = clock.monotonic();
    try {
      await this.#preBind(passage);
    } catch (error) {
      this.#took('PreBind', passage, 'Error', started);
      if (error instanceof Error && isTermOver(error.cause)) return this.#termOver(passage);
      return this.#failed(passage, messageOf(error));
    }
    this.#took('PreBind', passage, 'Success', started);
    await this.#bind(passage);
  }

  async #permitted({ node, queued }: Passage, waits: ReadonlyMap<string, number>): Promise<Refused | undefined> {
    const { clock, metrics, waitingPods } = this.#options;
    const started = clock.monotonic();
    const refused = await waitingPods.wait(queued.info, node.name, waits);
    metrics.permitted(refused === undefined ? 'Success' : 'Unschedulable', clock.monotonic() - started);
    return refused;
  }

  async #preBind({ node, profile, queued, reservations }: Passage): Promise<void> {
    const { handle, stopped } = this.#options;
    const steps = [
      ...reservations.map((reservation) => ({
        plugin: reservation.plugin,
        run: () => reservation.preBind(stopped),
      })),
      ...profile.preBinds.map(({ plugin, point }) => ({
        plugin,
        run: () => point(queued.info, node, handle, stopped),
      })),
    ];
    for (const { plugin, run } of steps) {
      try {
        await run();
      } catch (error) {
        throw new Error(`running PreBind plugin "${plugin}": ${messageOf(error)}`, { cause: error });
      }
    }
  }

  async #bind(passage: Passage): Promise<void> {
    const { clock, metrics, queue, recorder, unseen } = this.#options;
    const { node, queued } = passage;
    const { pod } = queued.info;
    const bindStarted = clock.monotonic();
    try {
      await this.#bindBy(passage);
    } catch (error) {
      this.#took('Bind', passage, 'Error', bindStarted);
      if (isTermOver(error)) return this.#termOver(passage);
      if (!isNotFound(error) && !isConflict(error))
        return this.#failed(passage, `binding rejected: ${messageOf(error)}`);
      // The pod is gone, another, or somewhere already: there is nobody to tell.
      this.#takeBack(passage);
      this.#options.failedTries.retry(queued);
      queue.notify(['AssignedPodDelete']);
      if (isConflict(error)) this.#attempted(passage, 'error', messageOf(error));
      return;
    }
    this.#took('Bind', passage, 'Success', bindStarted);
    unseen.await(queued.info.uid);
    queue.done(queued);
    this.#attempted(passage, 'scheduled');
    metrics.bound(queued.attempts, clock.monotonic() - queued.firstSeen);
    const { namespace, name } = pod.metadata;
    recorder.record(pod, 'Normal', 'Scheduled', `Successfully assigned ${namespace}/${name} to ${node.name}`);
    this.#measured('PostBind', passage, () => this.#postBind(passage));
  }

  async #bindBy({ node, profile, queued }: Passage): Promise<void> {
    for (const { point } of profile.binds) if (await point(queued.info, node, this.#options.handle)) return;
    throw new Error('all bind plugins skipped the pod');
  }

  #postBind({ node, profile, queued }: Passage): void {
    for (const { plugin, point } of profile.postBinds) {
      try {
        point(queued.info, node, this.#options.handle);
      } catch (err) {
        // The pod is bound, whatever a plugin makes of it.
        this.#options.log.warn({ err, plugin, pod: queued.info.key }, 'PostBind failed');
      }
    }
  }

  async #refused(passage: Passage, { message, plugin }: Refused): Promise<void> {
    const { failedTries, stopped } = this.#options;
    this.#takeBack(passage);
    if (stopped.aborted) return;
    const { profile, queued } = passage;
    this.#attempted(passage, 'unschedulable', message);
    const reported = failedTries.refused(queued, profile, plugin, message);
    this.#options.queue.notify(['AssignedPodDelete']);
    await reported;
  }

  async #failed(passage: Passage, message: string): Promise<void> {
    const { failedTries, log, queue, stopped } = this.#options;
    this.#takeBack(passage);
    if (stopped.aborted) return;
    const { node, queued } = passage;
    this.#attempted(passage, 'error', message);
    log.warn({ pod: queued.info.key, node: node.name, reason: message }, 'pod is not bound');
    const reported = failedTries.erred(queued, message);
    queue.notify(['AssignedPodDelete']);
    await reported;
  }

  /** Whoever leads now places the pod. */
  #termOver(passage: Passage): void {
    this.#takeBack(passage);
    this.#options.queue.done(passage.queued);
    this.#options.onTermOver();
  }

  #takeBack({ queued, reservations }: Passage): void {
    for (const reservation of [...reservations].reverse()) reservation.release();
    this.#options.cluster.forget(queued.info.uid);
  }

  /** Counts the try. */
  #attempted(passage: Passage, result: AttemptResult, message?: string): void {
    const { clock, metrics } = this.#options;
    const { node, profile, started } = passage;
    metrics.attempt(result, profile.schedulerName, clock.monotonic() - started);
    if (passage.traced !== undefined) passage.outcome = { result, node: node.name, message };
  }

  #measured<T>(point: ExtensionPoint, passage: Passage, run: () => T): T {
    const started = this.#options.clock.monotonic();
    try {
      const result = run();
      this.#took(point, passage, 'Success', started);
      return result;
    } catch (error) {
      this.#took(point, passage, 'Error', started);
      throw error;
    }
  }

  #took(point: ExtensionPoint, { profile, traced }: Passage, status: 'Success' | 'Error', started: number): void {
    const { clock, metrics } = this.#options;
    const tookMs = clock.monotonic() - started;
    metrics.extensionPoint(point, status, profile.schedulerName, tookMs);
    traced?.took(point, status, tookMs);
  }
}

/** The same work, at the end of which the try ends, too. */
function ended(passage: Passage, work: Promise<void>): Promise<void> {
  const { traced } = passage;
  return traced === undefined ? work : work.finally(() => traced.end(passage.outcome ?? { result: 'dropped' }));
}

const nobody: ReadonlyMap<string, number> = new Map();
