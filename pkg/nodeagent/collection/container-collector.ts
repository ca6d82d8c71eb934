/** Removes dead containers and sandboxes from the node, as release 1.24 explains it. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { type Clock, upkeepClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import {
  type CollectedPod,
  type ContainerPolicy,
  containersToRemove,
  sandboxesToRemove,
} from '#nodeagent/collection/container-plan.js';
import type { RuntimeService } from '#nodeagent/cri/cri.js';
import type { LogFiles } from '#nodeagent/logs/log-files.js';
import type { LogLinks } from '#nodeagent/logs/log-links.js';
import { removeLog } from '#nodeagent/logs/remove-log.js';
import type { NodeEvents } from '#nodeagent/node/node-events.js';
import type { PodCleanup } from '#nodeagent/pods/pod-cleanup.js';
import type { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import type { PodRuntime, RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';

/** A pod of the node, as far as its containers are concerned. */
export interface PodOnNode {
  readonly pod: Pod;
  /** `ending`: its worker is removing everything of it. */
  readonly stage: 'live' | 'ending' | 'ended';
  /** It was evicted, and the API has its last status: nothing of it is needed. */
  readonly isEvicted: boolean;
}

export interface ContainerCollectorOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly cri: Pick<RuntimeService, 'stopContainer' | 'removeContainer' | 'stopPodSandbox' | 'removePodSandbox'>;
  readonly observer: Pick<RuntimeObserver, 'get' | 'refresh'>;
  readonly policy: ContainerPolicy;
  readonly pods: () => readonly PodOnNode[];
  readonly cleanup: Pick<PodCleanup, 'remove'>;
  readonly logFiles: Pick<LogFiles, 'list' | 'remove'>;
  /** Absent on nodes that write no files. */
  readonly logLinks?: Pick<LogLinks, 'remove'>;
  readonly events: Pick<NodeEvents, 'record'>;
}

/** As in 1.24. */
const containerPeriodMs = 60_000;
/** 1.24's grace period for containers in an unknown state. */
const strayGraceSeconds = 2;

export class ContainerCollector {
  readonly #options: ContainerCollectorOptions;
  /** UIDs of evicted pods of which nothing is left. */
  #released = new Set<string>();
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: ContainerCollectorOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, events } = this.#options;
    while (!signal.aborted) {
      try {
        await this.collect({ removesEnded: false });
      } catch (error) {
        log.error({ err: error }, 'container garbage collection failed');
        events.record({ type: 'Warning', reason: 'ContainerGCFailed', message: messageOf(error) });
      }
      await upkeepClock(clock).sleep(containerPeriodMs, signal);
    }
  }

  /** Rejects after it has tried everything. `removesEnded`: removes all of pods that have ended. */
  collect({ removesEnded }: { readonly removesEnded: boolean }): Promise<void> {
    return this.#inTurn(() => this.#collect(removesEnded));
  }

  /** Removes everything of evicted pods. Never rejects. */
  removeEvicted(): Promise<void> {
    return this.#inTurn(() => this.#removeEvicted());
  }

  /** Two collections at once would remove the same containers. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const next = this.#running.then(work);
    this.#running = next.catch(() => undefined);
    return next;
  }

  async #collect(removesEnded: boolean): Promise<void> {
    const { clock, policy, observer, pods } = this.#options;
    await this.#removeEvicted();
    const collected = pods().flatMap(({ pod, stage, isEvicted }): CollectedPod[] => {
      const runtime = observer.get(pod.metadata.uid ?? '');
      return runtime === undefined || stage === 'ending' || isEvicted ? [] : [{ runtime, isLive: stage === 'live' }];
    });
    const failures: unknown[] = [];
    const attempt = async (work: () => Promise<void>) => {
      try {
        await work();
      } catch (error) {
        failures.push(error);
      }
    };
    const ownerOf = new Map(
      collected.flatMap(({ runtime }) => runtime.containers.map(({ id }) => [id, runtime] as const)),
    );
    const changed = new Set<string>();
    for (const container of containersToRemove({ pods: collected, policy, nowMs: clock.now(), removesEnded })) {
      const owner = ownerOf.get(container.id);
      if (owner === undefined) continue;
      changed.add(owner.uid);
      await attempt(() => this.#removeContainer(owner, container));
    }
    for (const { runtime, isLive } of collected) {
      if (changed.has(runtime.uid)) await attempt(async () => void (await observer.refresh(runtime.uid)));
      const current = observer.get(runtime.uid);
      if (current === undefined) continue;
      await attempt(() => this.#removeSandboxes({ runtime: current, isLive }, removesEnded));
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new Error(`[${[...new Set(failures.map(messageOf))].join(', ')}]`);
  }

  async #removeContainer({ name: pod, namespace }: PodRuntime, container: RuntimeContainer): Promise<void> {
    const { cri, logFiles, logLinks, log } = this.#options;
    const { id, metadata, state, logPath } = container;
    // It may be running.
    if (state === 'CONTAINER_UNKNOWN') await cri.stopContainer(id, strayGraceSeconds);
    await cri.removeContainer(id);
    await removeLog(logFiles, logPath);
    await logLinks?.remove({ pod, namespace, container: metadata.name, id });
    log.debug({ pod, namespace, container: metadata.name, id }, 'removed a dead container');
  }

  async #removeSandboxes(pod: CollectedPod, removesEnded: boolean): Promise<void> {
    const { cri, observer } = this.#options;
    const sandboxes = sandboxesToRemove(pod, removesEnded);
    if (sandboxes.length === 0) return;
    for (const { id } of sandboxes) {
      await cri.stopPodSandbox(id);
      await cri.removePodSandbox(id);
    }
    await observer.refresh(pod.runtime.uid);
  }

  async #removeEvicted(): Promise<void> {
    const { pods, observer, cleanup, log } = this.#options;
    const evicted = pods().filter(({ isEvicted, stage }) => isEvicted && stage === 'ended');
    this.#released = new Set([...this.#released].filter((uid) => evicted.some(({ pod }) => pod.metadata.uid === uid)));
    for (const { pod } of evicted) {
      const { uid = '', name = '', namespace = '' } = pod.metadata;
      if (this.#released.has(uid)) continue;
      const { sandboxes = [], containers = [] } = observer.get(uid) ?? {};
      try {
        await cleanup.remove({ uid, name, namespace, sandboxes, containers });
        this.#released.add(uid);
      } catch (error) {
        log.warn({ err: error, namespace, name }, 'removing the containers of an evicted pod failed');
      }
    }
  }
}
