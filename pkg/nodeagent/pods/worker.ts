/** Runs one pod: feeds events to its lifecycle and executes the resulting tasks, one at a time. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { type Deferred, deferred } from '#apimachinery/async/deferred.js';
import { type Clock, processClock, type Timer, upkeepClock } from '#apimachinery/clock.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { Logger } from '#daemon/log/logger.js';
import { podGraceSeconds } from '#nodeagent/pods/container-killer.js';
import {
  type Action,
  type Input,
  initialState,
  type PodFailure,
  type State,
  step,
  type Task,
} from '#nodeagent/pods/lifecycle.js';
import { SyncMetrics, type SyncMetricsOptions } from '#nodeagent/pods/sync-metrics.js';
import { VolumesError } from '#nodeagent/volumes/volume-error.js';

/** Operations of a pod that a worker calls; see `podTasks`. */
export interface PodOperations {
  /** Resolves with the task's answer. `signal` aborts waiting for an image. */
  run(task: Task, signal: AbortSignal): Promise<Input>;
  /** Shortens the grace period of containers that are being stopped. Never rejects. */
  hasten(graceSeconds: number): void;
  /** The next sync fails the pod with this status. False if it is already failing. */
  condemn(failure: PodFailure): boolean;
  /** Publishes the current status. Never rejects. */
  report(): Promise<void>;
  /** Stops all reports. */
  silence(): void;
  /** Allows an immediate retry of failed starts, since their cause may be gone. */
  resetBackoff(): void;
}

export interface PodWorkerOptions extends SyncMetricsOptions {
  readonly pod: Pod;
  readonly log: Logger;
  /** `pod`: its last version in the API. */
  readonly operations: (pod: () => Pod) => PodOperations;
  /** How long an idle pod rests before its next sync; evaluated each time. */
  readonly resyncMs: () => number;
}

/** How long `stop` waits for the running task. */
const stopMs = 1000;
/** A sync that takes longer reports an intermediate status. */
const slowSyncMs = 150;
/** Phases with a running task. */
const workingPhases: ReadonlySet<State['phase']> = new Set(['syncing', 'interrupted', 'finishing', 'terminating']);

/** Phases after which nothing of the pod is left. */
const endingPhases: ReadonlySet<State['phase']> = new Set(['interrupted', 'terminating', 'terminationDelayed']);

export class PodWorker {
  readonly uid: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #operations: PodOperations;
  readonly #metrics: SyncMetrics;
  readonly #resyncMs: () => number;
  readonly #interrupt = new AbortController();
  readonly #removed: Deferred<void> = deferred();
  readonly #ended: Deferred<void> = deferred();
  #pod: Pod;
  #state: State = initialState;
  #work: Promise<void> = Promise.resolve();
  #wakeUp: Timer | undefined;
  #isEvicted = false;
  #slowSync: Timer | undefined;
  #resync: Timer | undefined;

  constructor(options: PodWorkerOptions) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#metrics = new SyncMetrics(options);
    this.#resyncMs = options.resyncMs;
    this.#pod = options.pod;
    this.uid = options.pod.metadata.uid ?? '';
    this.#operations = options.operations(() => this.#pod);
  }

  get pod(): Pod {
    return this.#pod;
  }

  /** Resolves once nothing of the pod is left on this node. */
  get gone(): Promise<void> {
    return this.#removed.promise;
  }

  /** Resolves once nothing of the pod runs, or the worker was stopped. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Begins with the pod's current version. */
  start(): void {
    this.#handle(this.#currentInput());
  }

  /** Handles a new version of the pod. */
  update(pod: Pod): void {
    const specChanged = pod.spec !== this.#pod.spec && !semanticEqual(pod.spec, this.#pod.spec);
    this.#pod = pod;
    this.#metrics.updated();
    if (specChanged) this.#operations.resetBackoff();
    this.#handle(this.#currentInput());
  }

  /** The object is gone from the API: removes the pod from the node. */
  remove(): void {
    this.#handle({ type: 'end', ending: { graceSeconds: podGraceSeconds(this.#pod), forgotten: true } });
  }

  /** Removes the pod from the node at once, and reports nothing of it; resolves when nothing is left. */
  forget(): Promise<void> {
    this.#handle({ type: 'end', ending: { graceSeconds: 0, forgotten: true } });
    return this.gone;
  }

  /** `ending`: everything of the pod is being removed; `ended`: nothing of it runs or will run. */
  get stage(): 'live' | 'ending' | 'ended' {
    const { phase } = this.#state;
    if (phase === 'finished' || phase === 'gone') return 'ended';
    return endingPhases.has(phase) ? 'ending' : 'live';
  }

  /** A task is running. */
  get isWorking(): boolean {
    return workingPhases.has(this.#state.phase);
  }

  /** The node has failed the pod because it needs its resources. */
  get isEvicted(): boolean {
    return this.#isEvicted;
  }

  /** Fails a pod whose resources the node needs. False if it is already ending; it then ends sooner. */
  condemn(failure: PodFailure): boolean {
    const { phase } = this.#state;
    const isFirst = this.#operations.condemn(failure);
    this.#isEvicted ||= failure.isEviction === true;
    if (endingPhases.has(phase) && failure.graceSeconds !== undefined)
      this.#handle({ type: 'end', ending: { graceSeconds: failure.graceSeconds, forgotten: false } });
    else this.poke();
    // Stop waiting for images and hooks.
    if (isFirst && phase === 'syncing') this.#interrupt.abort();
    return isFirst && (phase === 'resting' || phase === 'syncing');
  }

  /** Notifies the worker that an input of the plan or the status changed. */
  poke(): void {
    this.#handle({ type: 'changed' });
  }

  /** Retries failed starts at once, since a missing resource may exist now. */
  retryNow(): void {
    this.#operations.resetBackoff();
    this.poke();
  }

  /** Stops working; containers continue to run. Does not wait for grace periods: the next agent continues from here. */
  async stop(): Promise<void> {
    this.#handle({ type: 'stop' });
    const over = new AbortController();
    await Promise.race([this.#work, processClock(this.#clock).sleep(stopMs, over.signal)]);
    over.abort();
  }

  #currentInput(): Input {
    if (this.#pod.metadata.deletionTimestamp === undefined) return { type: 'changed' };
    return { type: 'end', ending: { graceSeconds: podGraceSeconds(this.#pod), forgotten: false } };
  }

  #handle(input: Input): void {
    const before = this.#state.phase;
    const { state, actions } = step(this.#state, input);
    this.#state = state;
    this.#recordPass(before, actions);
    if (state.phase !== before) this.#entered(state.phase);
    for (const action of actions) this.#perform(action);
  }

  #recordPass(before: State['phase'], actions: readonly Action[]): void {
    const works = workingPhases.has(this.#state.phase);
    const restarts = actions.some((action) => action.type === 'run' && action.task.type === 'prepare');
    if (!works || restarts) this.#metrics.end(this.#pod, before !== 'syncing');
    if (works) this.#metrics.begin(this.#pod);
  }

  #entered(phase: State['phase']): void {
    this.#slowSync?.cancel();
    this.#resync?.cancel();
    if (phase === 'syncing') this.#slowSync = this.#clock.setTimer(() => void this.#operations.report(), slowSyncMs);
    if (phase === 'resting') this.#resync = upkeepClock(this.#clock).setTimer(() => this.poke(), this.#resyncMs());
    if (phase === 'gone' || phase === 'stopped') this.#wakeUp?.cancel();
    if (phase === 'gone') this.#removed.resolve();
    if (phase === 'finished' || phase === 'gone' || phase === 'stopped') this.#ended.resolve();
  }

  #perform(action: Action): void {
    switch (action.type) {
      case 'run':
        this.#wakeUp?.cancel();
        this.#work = this.#run(action.task);
        return;
      case 'interrupt':
        return this.#interrupt.abort();
      case 'hasten':
        return this.#operations.hasten(action.graceSeconds);
      case 'report':
        void this.#operations.report();
        return;
      case 'silence':
        return this.#operations.silence();
      case 'wakeAt':
        return this.#wakeIn(action.instant - this.#clock.monotonic());
      case 'retryIn':
        return this.#wakeIn(action.ms);
      default:
        return action satisfies never;
    }
  }

  #wakeIn(ms: number): void {
    this.#wakeUp?.cancel();
    this.#wakeUp = this.#clock.setTimer(() => this.poke(), Math.max(0, ms));
  }

  #wasInterrupted(): boolean {
    const { phase } = this.#state;
    const isInterruptible = phase === 'syncing' || phase === 'interrupted' || phase === 'stopped';
    return isInterruptible && this.#interrupt.signal.aborted;
  }

  async #run(task: Task): Promise<void> {
    let result: Input;
    try {
      result = await this.#metrics.task(task.type, () => this.#operations.run(task, this.#interrupt.signal));
    } catch (error) {
      // An interrupted task fails as expected.
      if (!this.#wasInterrupted()) {
        const { name, namespace } = this.#pod.metadata;
        this.#log.warn({ err: error, namespace, name, task: task.type }, 'syncing the pod failed');
      }
      result = { type: 'failed', isMount: error instanceof VolumesError };
    }
    this.#handle(result);
  }
}
