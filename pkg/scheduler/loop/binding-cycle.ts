/** Binds a pod after its decision: reserve, assume, permit, pre-bind, bind. The loop meanwhile decides on other pods. */
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { EventRecorder } from '#client/events/recorder.js';
import { isTermOver } from '#client/leaderelection/term-over.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { Handle, Reservation } from '#scheduler/framework/plugin.js';
import type { Profile } from '#scheduler/framework/profile.js';
import type { PermitRejection, WaitingPods } from '#scheduler/framework/waiting-pods.js';
import type { FailedAttempts } from '#scheduler/loop/failed-attempts.js';
import type { PendingWrites } from '#scheduler/loop/pending-writes.js';
import type { AttemptOutcome, AttemptSpan } from '#scheduler/loop/traced-attempt.js';
import type { UnconfirmedBindings } from '#scheduler/loop/unconfirmed-bindings.js';
import type { AttemptResult, ExtensionPoint, SchedulerMetrics } from '#scheduler/metrics/metrics.js';
import type { Nominator } from '#scheduler/queue/nominator.js';
import type { QueuedPod, SchedulingQueue } from '#scheduler/queue/scheduling-queue.js';

export interface BindingCycleOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly recorder: EventRecorder;
  readonly metrics: SchedulerMetrics;
  readonly handle: Handle;
  readonly cluster: Cluster;
  readonly failedAttempts: FailedAttempts;
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  readonly unconfirmed: Pick<UnconfirmedBindings, 'await'>;
  readonly waitingPods: WaitingPods;
  readonly writes: PendingWrites;
  /** Aborted when the scheduler stops. */
  readonly stopped: AbortSignal;
  /** Called when a write is refused because this process no longer leads. */
  readonly onTermOver: () => void;
}

/** A pod and the node chosen for it. */
export interface Choice {
  readonly queued: QueuedPod;
  readonly node: NodeInfo;
  readonly profile: Profile;
  /** When the attempt began; ms. */
  readonly started: number;
  /** Absent: the attempt is not traced. */
  readonly span: AttemptSpan | undefined;
}

/** The state of one pod's binding cycle. */
interface Cycle extends Choice {
  readonly reservations: readonly Reservation[];
  /** How the attempt ended; absent: the pod was dropped. */
  outcome?: AttemptOutcome;
}

export class BindingCycle {
  readonly #options: BindingCycleOptions;

  constructor(options: BindingCycleOptions) {
    this.#options = options;
  }

  /** Resolves when the loop may decide on the next pod. */
  async start(choice: Choice): Promise<void> {
    const { cluster, nominator, writes } = this.#options;
    const { node, profile } = choice;
    const { info } = choice.queued;
    const reservations: Reservation[] = [];
    const cycle: Cycle = { ...choice, reservations };
    let permission: ReadonlyMap<string, number> | PermitRejection;
    try {
      this.#measured('Reserve', cycle, () => this.#reserve(cycle, reservations));
      cluster.assume(info, node.name);
      nominator.remove(info.uid);
      permission = this.#measured('Permit', cycle, () => this.#permissions(cycle));
    } catch (error) {
      return writes.start(info.key, withSpan(cycle, this.#failed(cycle, messageOf(error))));
    }
    if ('plugin' in permission) return writes.start(info.key, withSpan(cycle, this.#refused(cycle, permission)));
    if (permission.size === 0 && reservations.length === 0 && profile.preBinds.length === 0) {
      return writes.start(info.key, withSpan(cycle, this.#bind(cycle)));
    }
    // This can take minutes, so it does not count against the limit of pending writes.
    writes.startWaiting(info.key, withSpan(cycle, this.#bindWhenReady(cycle, permission)));
  }

  /** Runs the Reserve plugins. Adds to `reservations` one by one, so that a failure can release them. */
  #reserve({ node, profile, queued }: Cycle, reservations: Reservation[]): void {
    for (const { plugin, point } of profile.reserves) {
      try {
        const reservation = point(queued.info, node, this.#options.handle);
        if (reservation !== undefined) reservations.push(reservation);
      } catch (error) {
        throw new Error(`running Reserve plugin "${plugin}": ${messageOf(error)}`, { cause: error });
      }
    }
  }

  /** Runs the Permit plugins: how long each makes the pod wait (ms), or the first rejection. */
  #permissions({ node, profile, queued }: Cycle): ReadonlyMap<string, number> | PermitRejection {
    if (profile.permits.length === 0) return noWaits;
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

  async #bindWhenReady(cycle: Cycle, waits: ReadonlyMap<string, number>): Promise<void> {
    const refused = waits.size === 0 ? undefined : await this.#permitted(cycle, waits);
    if (refused !== undefined) return this.#refused(cycle, refused);
    const { clock } = this.#options;
    const started = clock.monotonic();
    try {
      await this.#preBind(cycle);
    } catch (error) {
      this.#recordDuration('PreBind', cycle, 'Error', started);
      if (error instanceof Error && isTermOver(error.cause)) return this.#termOver(cycle);
      return this.#failed(cycle, messageOf(error));
    }
    this.#recordDuration('PreBind', cycle, 'Success', started);
    await this.#bind(cycle);
  }

  async #permitted({ node, queued }: Cycle, waits: ReadonlyMap<string, number>): Promise<PermitRejection | undefined> {
    const { clock, metrics, waitingPods } = this.#options;
    const started = clock.monotonic();
    const refused = await waitingPods.wait(queued.info, node.name, waits);
    metrics.permitted(refused === undefined ? 'Success' : 'Unschedulable', clock.monotonic() - started);
    return refused;
  }

  async #preBind({ node, profile, queued, reservations }: Cycle): Promise<void> {
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

  async #bind(cycle: Cycle): Promise<void> {
    const { clock, metrics, queue, recorder, unconfirmed } = this.#options;
    const { node, queued } = cycle;
    const { pod } = queued.info;
    const bindStarted = clock.monotonic();
    try {
      await this.#bindBy(cycle);
    } catch (error) {
      this.#recordDuration('Bind', cycle, 'Error', bindStarted);
      if (isTermOver(error)) return this.#termOver(cycle);
      if (!isNotFound(error) && !isConflict(error)) return this.#failed(cycle, `binding rejected: ${messageOf(error)}`);
      // The pod is gone, was replaced or is bound already, so there is no status to report.
      this.#takeBack(cycle);
      this.#options.failedAttempts.retry(queued);
      queue.notify(['AssignedPodDelete']);
      if (isConflict(error)) this.#attempted(cycle, 'error', messageOf(error));
      return;
    }
    this.#recordDuration('Bind', cycle, 'Success', bindStarted);
    unconfirmed.await(queued.info.uid);
    queue.done(queued);
    this.#attempted(cycle, 'scheduled');
    metrics.bound(queued.attempts, clock.monotonic() - queued.firstSeen);
    const { namespace, name } = pod.metadata;
    recorder.record(pod, 'Normal', 'Scheduled', `Successfully assigned ${namespace}/${name} to ${node.name}`);
    this.#measured('PostBind', cycle, () => this.#postBind(cycle));
  }

  async #bindBy({ node, profile, queued }: Cycle): Promise<void> {
    for (const { point } of profile.binds) if (await point(queued.info, node, this.#options.handle)) return;
    throw new Error('all bind plugins skipped the pod');
  }

  #postBind({ node, profile, queued }: Cycle): void {
    for (const { plugin, point } of profile.postBinds) {
      try {
        point(queued.info, node, this.#options.handle);
      } catch (err) {
        // The pod is bound already, so a PostBind failure is only logged.
        this.#options.log.warn({ err, plugin, pod: queued.info.key }, 'PostBind failed');
      }
    }
  }

  async #refused(cycle: Cycle, { message, plugin }: PermitRejection): Promise<void> {
    const { failedAttempts, stopped } = this.#options;
    this.#takeBack(cycle);
    if (stopped.aborted) return;
    const { profile, queued } = cycle;
    this.#attempted(cycle, 'unschedulable', message);
    const reported = failedAttempts.rejected(queued, profile, plugin, message);
    this.#options.queue.notify(['AssignedPodDelete']);
    await reported;
  }

  async #failed(cycle: Cycle, message: string): Promise<void> {
    const { failedAttempts, log, queue, stopped } = this.#options;
    this.#takeBack(cycle);
    if (stopped.aborted) return;
    const { node, queued } = cycle;
    this.#attempted(cycle, 'error', message);
    log.warn({ pod: queued.info.key, node: node.name, reason: message }, 'pod is not bound');
    const reported = failedAttempts.failed(queued, message);
    queue.notify(['AssignedPodDelete']);
    await reported;
  }

  /** Gives the pod up: the new leader schedules it. */
  #termOver(cycle: Cycle): void {
    this.#takeBack(cycle);
    this.#options.queue.done(cycle.queued);
    this.#options.onTermOver();
  }

  #takeBack({ queued, reservations }: Cycle): void {
    for (const reservation of [...reservations].reverse()) reservation.release();
    this.#options.cluster.forget(queued.info.uid);
  }

  /** Counts the attempt. */
  #attempted(cycle: Cycle, result: AttemptResult, message?: string): void {
    const { clock, metrics } = this.#options;
    const { node, profile, started } = cycle;
    metrics.attempt(result, profile.schedulerName, clock.monotonic() - started);
    if (cycle.span !== undefined) cycle.outcome = { result, node: node.name, message };
  }

  #measured<T>(point: ExtensionPoint, cycle: Cycle, run: () => T): T {
    const started = this.#options.clock.monotonic();
    try {
      const result = run();
      this.#recordDuration(point, cycle, 'Success', started);
      return result;
    } catch (error) {
      this.#recordDuration(point, cycle, 'Error', started);
      throw error;
    }
  }

  #recordDuration(
    point: ExtensionPoint,
    { profile, span: traced }: Cycle,
    status: 'Success' | 'Error',
    started: number,
  ): void {
    const { clock, metrics } = this.#options;
    const tookMs = clock.monotonic() - started;
    metrics.extensionPoint(point, status, profile.schedulerName, tookMs);
    traced?.recordDuration(point, status, tookMs);
  }
}

/** Ends the attempt's span when the work ends. */
function withSpan(cycle: Cycle, work: Promise<void>): Promise<void> {
  const { span: traced } = cycle;
  return traced === undefined ? work : work.finally(() => traced.end(cycle.outcome ?? { result: 'dropped' }));
}

const noWaits: ReadonlyMap<string, number> = new Map();
