import type { Clock, Timer } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';

/** As in release 1.24: longer than a watch that works can be behind; ms. */
const patienceMs = 15 * 60_000;

export interface UnseenBindingsOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly log: Logger;
  readonly cluster: Cluster;
  /** The pod has given back the room that it had. */
  readonly onExpired: (pod: PodInfo) => void;
}

/**
 * Pods that were bound, by the word of who did it, and that no watch shows bound. An extender or a plugin may be wrong
 * about that: after some time such a pod counts on its node no more.
 */
export class UnseenBindings {
  readonly #options: UnseenBindingsOptions;
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: UnseenBindingsOptions) {
    this.#options = options;
  }

  /** The pod was bound just now. */
  await(uid: string): void {
    const { clock, cluster } = this.#options;
    if (cluster.awaitBinding(uid, clock.monotonic() + patienceMs)) this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  /** For the oldest; bindings that are seen meanwhile leave it as it is. */
  #arm(): void {
    const { clock, cluster } = this.#options;
    const deadline = cluster.nextDeadline;
    if (this.#closed || this.#timer !== undefined || deadline === undefined) return;
    this.#timer = clock.setTimer(() => this.#expire(), Math.max(0, deadline - clock.monotonic()));
  }

  #expire(): void {
    const { clock, cluster, log, onExpired } = this.#options;
    this.#timer = undefined;
    for (const { node, pod } of cluster.expire(clock.monotonic())) {
      log.warn({ pod: pod.key, node }, 'pod expired: it was said to be bound, and was never seen so');
      onExpired(pod);
    }
    this.#arm();
  }
}
