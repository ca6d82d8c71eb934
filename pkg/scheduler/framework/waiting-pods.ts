/** Pods that have a node and wait for Permit plugins. */
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';

export interface WaitingPod {
  readonly pod: PodInfo;
  /** The chosen node. */
  readonly node: string;
  /** The plugins that have not allowed it yet. */
  pending(): readonly string[];
  /** Records that the plugin allows the binding. */
  allow(plugin: string): void;
  /** Rejects the pod; `message` becomes the reason. */
  reject(plugin: string, message: string): void;
}

/** Why a waiting pod is not bound. */
export interface PermitRejection {
  /** Empty: rejected by the scheduler itself. */
  readonly plugin: string;
  readonly message: string;
}

/** Longest wait that a plugin can ask for, as in release 1.24; ms. */
const maxWaitMs = 15 * 60_000;

export class WaitingPods {
  readonly #clock: Clock;
  readonly #pods = new Map<string, Waiting>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(uid: string): WaitingPod | undefined {
    return this.#pods.get(uid);
  }

  values(): readonly WaitingPod[] {
    return [...this.#pods.values()];
  }

  /** Resolves when all plugins have allowed the pod, or with the first rejection. `waits`: ms by plugin. */
  async wait(pod: PodInfo, node: string, waits: ReadonlyMap<string, number>): Promise<PermitRejection | undefined> {
    const waiting = new Waiting(pod, node, waits, this.#clock);
    this.#pods.set(pod.uid, waiting);
    try {
      return await waiting.ended;
    } finally {
      this.#pods.delete(pod.uid);
    }
  }

  /** Rejects all waiting pods. */
  rejectAll(message: string): void {
    for (const waiting of this.#pods.values()) waiting.reject('', message);
  }
}

class Waiting implements WaitingPod {
  readonly pod: PodInfo;
  readonly node: string;
  readonly ended: Promise<PermitRejection | undefined>;
  readonly #timers = new Map<string, Timer>();
  #settle: (refused: PermitRejection | undefined) => void = () => undefined;

  constructor(pod: PodInfo, node: string, waits: ReadonlyMap<string, number>, clock: Clock) {
    this.pod = pod;
    this.node = node;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    for (const [plugin, waitMs] of waits) {
      const ms = Math.min(waitMs, maxWaitMs);
      const message = `rejected due to timeout after waiting ${ms / 1000}s at plugin ${plugin}`;
      this.#timers.set(
        plugin,
        clock.setTimer(() => this.reject(plugin, message), ms),
      );
    }
  }

  pending(): readonly string[] {
    return [...this.#timers.keys()];
  }

  allow(plugin: string): void {
    this.#timers.get(plugin)?.cancel();
    this.#timers.delete(plugin);
    if (this.#timers.size === 0) this.#settle(undefined);
  }

  reject(plugin: string, message: string): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#settle({ plugin, message });
  }
}
