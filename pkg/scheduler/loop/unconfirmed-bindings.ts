import type { Clock, Timer } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';

/** As in release 1.24: longer than the lag of a working watch; ms. */
const expiryMs = 15 * 60_000;

export interface UnconfirmedBindingsOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly log: Logger;
  readonly cluster: Cluster;
  /** Called when an expired pod no longer counts on its node. */
  readonly onExpired: (pod: PodInfo) => void;
}

/**
 * Bindings that were written but that no watch event has confirmed. An extender or plugin may report a binding that
 * never happened, so after some time such a pod no longer counts on its node.
 */
export class UnconfirmedBindings {
  readonly #options: UnconfirmedBindingsOptions;
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: UnconfirmedBindingsOptions) {
    this.#options = options;
  }

  /** Waits for the confirmation of a binding that was just written. */
  await(uid: string): void {
    const { clock, cluster } = this.#options;
    if (cluster.awaitBinding(uid, clock.monotonic() + expiryMs)) this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  /** Sets one timer for the oldest binding; confirmations leave the timer as it is. */
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
      log.warn({ pod: pod.key, node }, 'binding expired: no watch has confirmed it');
      onExpired(pod);
    }
    this.#arm();
  }
}
