/** Runs one pod: feeds its lifecycle with what happens, and carries out what that asks for, one task at a time. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { type Deferred, deferred } from '#apimachinery/async/deferred.js';
import type { Clock, Timer } from '#apimachinery/clock.js';
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
import { PassMeter, type PassMeterOptions } from '#nodeagent/pods/sync-metrics.js';
import { VolumesError } from '#nodeagent/volumes/volume-error.js';

/** What a worker needs of its pod's tasks and reports; see `podTasks`. */
export interface PodOperations {
  /** Resolves with the task's answer. `signal` aborts the wait for an image. */
  run(task: Task, signal: AbortSignal): Promise<Input>;
  /** Tells containers that are being stopped of less time. Never rejects. */
  hasten(graceSeconds: number): void;
  /** The next sync ends the pod, with this as its status. False when it is to end for another failure already. */
  condemn(failure: PodFailure): boolean;
  /** Publishes the status as it is now. Never rejects. */
  report(): Promise<void>;
  /** Ends all reports. */
  silence(): void;
  /** Something has changed that may have been the cause of failed starts: all may be tried at once. */
  resetBackoff(): void;
}

export interface PodWorkerOptions extends PassMeterOptions {
  readonly pod: Pod;
  readonly log: Logger;
  /** `pod`: as the API had it last. */
  readonly operations: (pod: () => Pod) => PodOperations;
  /** How long a pod of which nothing is heard rests until it is looked at all the same; asked for each time. */
  readonly resyncMs: () => number;
}

/** How long a stop waits for what is under way. */
const stopMs = 1000;
/** A pod that takes longer than this to start says so in its status. */
const slowSyncMs = 150;
/** A task is under way. */
const workingPhases: ReadonlySet<State['phase']> = new Set(['syncing', 'interrupted', 'finishing', 'terminating']);

export class PodWorker {
  readonly uid: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #operations: PodOperations;
  readonly #passes: PassMeter;
  readonly #resyncMs: () => number;
  readonly #interrupt = new AbortController();
  readonly #gone: Deferred<void> = deferred();
  #pod: Pod;
  #state: State = initialState;
  #work: Promise<void> = Promise.resolve();
  #wakeUp: Timer | undefined;
  #slowSync: Timer | undefined;
  #resync: Timer | undefined;

  constructor(options: PodWorkerOptions) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#passes = new PassMeter(options);
    this.#resyncMs = options.resyncMs;
    this.#pod = options.pod;
    this.uid = options.pod.metadata.uid ?? '';
    this.#operations = options.operations(() => this.#pod);
  }

  get pod(): Pod {
    return this.#pod;
  }

  /** Resolves when nothing is left of the pod on this node. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  /** Begins with the pod as it is. */
  start(): void {
    this.#handle(this.#wanted());
  }

  /** What the API wants now. */
  update(pod: Pod): void {
    const specChanged = pod.spec !== this.#pod.spec && !semanticEqual(pod.spec, this.#pod.spec);
    this.#pod = pod;
    this.#passes.updated();
    if (specChanged) this.#operations.resetBackoff();
    this.#handle(this.#wanted());
  }

  /** The object is gone: what is left of it here goes too. */
  remove(): void {
    this.#handle({ type: 'end', ending: { graceSeconds: podGraceSeconds(this.#pod), forgotten: true } });
  }

  /** The node needs what the pod has: it is to fail. False for one that ends already. */
  condemn(failure: PodFailure): boolean {
    const { phase } = this.#state;
    const isFirst = this.#operations.condemn(failure);
    this.poke();
    // An image or a hook that it waits for does not matter any more.
    if (isFirst && phase === 'syncing') this.#interrupt.abort();
    return isFirst && (phase === 'resting' || phase === 'syncing');
  }

  /** Something that the plan or the status depends on has changed. */
  poke(): void {
    this.#handle({ type: 'changed' });
  }

  /** What failed for want of something is tried at once: that may be there now. */
  retryNow(): void {
    this.#operations.resetBackoff();
    this.poke();
  }

  /** Stops working; what runs goes on. Does not wait for grace periods: whoever comes next goes on where this ended. */
  async stop(): Promise<void> {
    this.#handle({ type: 'stop' });
    const over = new AbortController();
    await Promise.race([this.#work, this.#clock.sleep(stopMs, over.signal)]);
    over.abort();
  }

  #wanted(): Input {
    if (this.#pod.metadata.deletionTimestamp === undefined) return { type: 'changed' };
    return { type: 'end', ending: { graceSeconds: podGraceSeconds(this.#pod), forgotten: false } };
  }

  #handle(input: Input): void {
    const before = this.#state.phase;
    const { state, actions } = step(this.#state, input);
    this.#state = state;
    this.#measure(before, actions);
    if (state.phase !== before) this.#entered(state.phase);
    for (const action of actions) this.#perform(action);
  }

  #measure(before: State['phase'], actions: readonly Action[]): void {
    const works = workingPhases.has(this.#state.phase);
    const anew = actions.some((action) => action.type === 'run' && action.task.type === 'prepare');
    if (!works || anew) this.#passes.end(this.#pod, before !== 'syncing');
    if (works) this.#passes.begin(this.#pod);
  }

  #entered(phase: State['phase']): void {
    this.#slowSync?.cancel();
    this.#resync?.cancel();
    if (phase === 'syncing') this.#slowSync = this.#clock.setTimer(() => void this.#operations.report(), slowSyncMs);
    if (phase === 'resting') this.#resync = this.#clock.setTimer(() => this.poke(), this.#resyncMs());
    if (phase === 'gone' || phase === 'stopped') this.#wakeUp?.cancel();
    if (phase === 'gone') this.#gone.resolve();
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

  #hasGivenUp(): boolean {
    const { phase } = this.#state;
    const isToldTo = phase === 'syncing' || phase === 'interrupted' || phase === 'stopped';
    return isToldTo && this.#interrupt.signal.aborted;
  }

  async #run(task: Task): Promise<void> {
    let answer: Input;
    try {
      answer = await this.#passes.task(task.type, () => this.#operations.run(task, this.#interrupt.signal));
    } catch (error) {
      // A task that was told to give up has done so.
      if (!this.#hasGivenUp()) {
        const { name, namespace } = this.#pod.metadata;
        this.#log.warn({ err: error, namespace, name, task: task.type }, 'syncing the pod failed');
      }
      answer = { type: 'failed', isMount: error instanceof VolumesError };
    }
    this.#handle(answer);
  }
}
