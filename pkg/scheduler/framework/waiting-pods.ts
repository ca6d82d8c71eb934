/** Pods that have a node and wait until plugins permit their binding. */
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';

export interface WaitingPod {
  readonly pod: PodInfo;
  /** Where it is to run. */
  readonly node: string;
  /** The plugins that it waits for. */
  pending(): readonly string[];
  /** The plugin does not object any more. */
  allow(plugin: string): void;
  /** The pod is not bound; `message` tells it why. */
  reject(plugin: string, message: string): void;
}

/** Why a pod that waited is not bound. */
export interface Refused {
  /** Empty: nobody's, the pod is not wanted any more. */
  readonly plugin: string;
  readonly message: string;
}

/** No plugin can make a pod wait for longer, as in release 1.24; ms. */
const longestWaitMs = 15 * 60_000;

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

  /** Resolves when all plugins have allowed the pod, with the reason as soon as one does not. `waits`: ms by plugin. */
  async wait(pod: PodInfo, node: string, waits: ReadonlyMap<string, number>): Promise<Refused | undefined> {
    const waiting = new Waiting(pod, node, waits, this.#clock);
    this.#pods.set(pod.uid, waiting);
    try {
      return await waiting.ended;
    } finally {
      this.#pods.delete(pod.uid);
    }
  }

  /** Whoever still waits is not bound. */
  rejectAll(message: string): void {
    for (const waiting of this.#pods.values()) waiting.reject('', message);
  }
}

class Waiting implements WaitingPod {
  readonly pod: PodInfo;
  readonly node: string;
  readonly ended: Promise<Refused | undefined>;
  readonly #timers = new Map<string, Timer>();
  #end: (refused: Refused | undefined) => void = () => undefined;

  constructor(pod: PodInfo, node: string, waits: ReadonlyMap<string, number>, clock: Clock) {
    this.pod = pod;
    this.node = node;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    for (const [plugin, waitMs] of waits) {
      const ms = Math.min(waitMs, longestWaitMs);
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
    if (this.#timers.size === 0) this.#end(undefined);
  }

  reject(plugin: string, message: string): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#end({ plugin, message });
  }
}
