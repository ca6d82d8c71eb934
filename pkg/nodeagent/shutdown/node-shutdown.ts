/**
 * Ends the node's pods before its machine shuts down: delays shutdowns by a lock of logind, and releases it once the
 * pods have ended. Reasons, messages and order are those of 1.24.
 */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { formatDuration } from '#apimachinery/duration.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Refusal } from '#nodeagent/admission/plan.js';
import type { NodeEvents } from '#nodeagent/node/node-events.js';
import type { PodFailure } from '#nodeagent/pods/lifecycle.js';
import {
  graceSecondsIn,
  type ShutdownGroup,
  type ShutdownPeriod,
  shutdownGroups,
  totalPeriodMs,
} from '#nodeagent/shutdown/groups.js';
import type { InhibitLock, Logind, ShutdownWatch } from '#nodeagent/shutdown/logind.js';
import type { ShutdownState, ShutdownTimes } from '#nodeagent/shutdown/state-file.js';

export interface NodeShutdownOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly logind: Logind;
  /** Not empty; the lowest priority first. */
  readonly periods: readonly ShutdownPeriod[];
  /** Pods that have not ended. */
  readonly pods: () => readonly Pod[];
  /** Resolves once nothing of the pod runs and its status is reported. */
  readonly end: (pod: Pod, failure: PodFailure) => Promise<void>;
  readonly events: Pick<NodeEvents, 'record'>;
  /** The node has become unready or ready again. */
  readonly onChange: () => void;
  /** Absent without the gate GracefulNodeShutdownBasedOnPodPriority, as in 1.24. */
  readonly times?: { readonly state: ShutdownState; readonly show: (times: ShutdownTimes) => void };
}

const reconnectMs = 1000;
/** logind reads its settings some time after the signal. */
const reloadTries = 10;
const reloadWaitMs = 100;

const ending = { reason: 'Terminated', message: 'Pod was terminated in response to imminent node shutdown.' };
const refusal: Refusal = { reason: 'NodeShutdown', message: 'Pod was rejected as the node is shutting down.' };

export class NodeShutdown {
  readonly #options: NodeShutdownOptions;
  #lock: InhibitLock | undefined;
  #isActive = false;
  #work: Promise<void> = Promise.resolve();

  constructor(options: NodeShutdownOptions) {
    this.#options = options;
  }

  /** Why the node is not ready; undefined if it does not shut down. */
  get problem(): string | undefined {
    return this.#isActive ? 'node is shutting down' : undefined;
  }

  /** Why no new pod may start; undefined if the node does not shut down. */
  get refusal(): Refusal | undefined {
    return this.#isActive ? refusal : undefined;
  }

  /** Watches until `signal` aborts, again after a restart of the bus. As in 1.24, not if the first attempt fails. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    let watch = await this.#begin('starting the node shutdown manager failed');
    if (watch === undefined) return;
    await this.#showLast();
    const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    while (!signal.aborted) {
      if (watch !== undefined) await Promise.race([watch.ended, stopped]);
      if (signal.aborted) break;
      await clock.sleep(reconnectMs, signal);
      if (signal.aborted) break;
      log.debug('watching for node shutdowns again');
      watch = await this.#begin('watching for node shutdowns failed');
    }
    watch?.close();
    await this.#release();
  }

  async #begin(failure: string): Promise<ShutdownWatch | undefined> {
    try {
      return await this.#start();
    } catch (error) {
      this.#options.log.error({ err: error }, failure);
      return undefined;
    }
  }

  async #start(): Promise<ShutdownWatch> {
    const { logind, periods } = this.#options;
    await this.#raiseDelay(totalPeriodMs(periods));
    await this.#hold();
    try {
      return await logind.watch((isActive) => this.#onShutdown(isActive));
    } catch (error) {
      await this.#release();
      throw error;
    }
  }

  async #raiseDelay(neededMs: number): Promise<void> {
    const { logind, clock } = this.#options;
    let currentMs = await logind.inhibitDelayMs();
    if (currentMs >= neededMs) return;
    await logind.overrideInhibitDelay(neededMs);
    await logind.reload();
    for (let i = 0; i < reloadTries && currentMs < neededMs; i++) {
      if (i > 0) await clock.sleep(reloadWaitMs);
      currentMs = await logind.inhibitDelayMs();
    }
    if (currentMs >= neededMs) return;
    const [needed, current] = [formatDuration(neededMs), formatDuration(currentMs)];
    throw new Error(
      `node shutdown manager was unable to update logind InhibitDelayMaxSec to ${needed} (ShutdownGracePeriod), current value of InhibitDelayMaxSec (${current}) is less than requested ShutdownGracePeriod`,
    );
  }

  async #hold(): Promise<void> {
    const before = this.#lock;
    this.#lock = await this.#options.logind.inhibit();
    await before?.release();
  }

  async #release(): Promise<void> {
    const lock = this.#lock;
    this.#lock = undefined;
    await lock?.release();
  }

  #onShutdown(isActive: boolean): void {
    const { events, log, onChange } = this.#options;
    const what = isActive ? 'event' : 'cancellation';
    log.info({ isActive }, 'a shutdown of the machine begins or was cancelled');
    events.record({ type: 'Normal', reason: 'NodeShutdown', message: `Shutdown manager detected shutdown ${what}` });
    this.#isActive = isActive;
    onChange();
    // One after the other: a cancellation takes the lock again after the pods' turn.
    this.#work = this.#work.then(() => (isActive ? this.#endPods() : this.#holdAgain()));
  }

  async #holdAgain(): Promise<void> {
    try {
      await this.#hold();
    } catch (error) {
      this.#options.log.error({ err: error }, 'taking the shutdown lock again failed');
    }
  }

  async #endPods(): Promise<void> {
    const { clock, log, periods, pods } = this.#options;
    const startMs = clock.now();
    await this.#store({ startMs });
    try {
      for (const group of shutdownGroups(periods, pods())) {
        // Pods that were not yet ended outlive a cancelled shutdown.
        if (this.#isActive && group.pods.length > 0) await this.#endGroup(group);
      }
    } finally {
      await this.#store({ startMs, endMs: clock.now() });
      await this.#release();
      log.info('the pods have ended; the machine may shut down');
    }
  }

  async #endGroup(group: ShutdownGroup): Promise<void> {
    const { clock, end, log } = this.#options;
    const over = new AbortController();
    const ended = group.pods.map(async (pod) => {
      const { name, namespace } = pod.metadata;
      try {
        await end(pod, { ...ending, isRecorded: true, graceSeconds: graceSecondsIn(group, pod) });
      } catch (error) {
        log.warn({ err: error, namespace, name }, 'ending a pod before the shutdown failed');
      }
    });
    const all = Promise.all(ended).then(() => over.abort());
    await Promise.race([all, clock.sleep(group.graceSeconds * 1000, over.signal)]);
    if (!over.signal.aborted) {
      log.warn({ priority: group.priority, graceSeconds: group.graceSeconds }, 'pods did not end within their period');
    }
  }

  async #store(times: ShutdownTimes): Promise<void> {
    const { times: last, log } = this.#options;
    if (last === undefined) return;
    last.show(times);
    try {
      await last.state.store(times);
    } catch (error) {
      log.error({ err: error }, 'storing the state of the graceful shutdown failed');
    }
  }

  async #showLast(): Promise<void> {
    const { times, log } = this.#options;
    if (times === undefined) return;
    try {
      times.show(await times.state.load());
    } catch (error) {
      log.error({ err: error }, 'loading the state of the graceful shutdown failed');
    }
  }
}
