/** Keeps one node's containerd running: starts it, notices when it goes away, starts it again. */

import { connect } from 'node:net';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import { type Containerd, type ContainerdOptions, startContainerd } from '#containerd/containerd.js';
import type { Logger } from '#daemon/log/logger.js';

const firstRestartMs = 250;
const maxRestartMs = 10_000;

export interface RuntimeKeeperOptions {
  readonly containerd: ContainerdOptions;
  readonly clock: Clock;
  readonly log: Logger;
}

export class RuntimeKeeper {
  readonly #options: RuntimeKeeperOptions;
  readonly #stop = new AbortController();
  #keeping: Promise<void> = Promise.resolve();

  constructor(options: RuntimeKeeperOptions) {
    this.#options = options;
  }

  /** Starts containerd, or finds the one that runs already. Throws when it does not come up. */
  async start(): Promise<Containerd> {
    const containerd = await startContainerd({ ...this.#options.containerd, detached: true });
    this.#keeping = this.#keep(containerd.socket);
    return containerd;
  }

  /** Stops watching over it. Containerd goes on: without it nothing that runs in it could be taken down. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#keeping;
  }

  async #keep(socket: string): Promise<void> {
    const { clock, log, containerd } = this.#options;
    const { signal } = this.#stop;
    const backoff = new Backoff({ initialMs: firstRestartMs, maxMs: maxRestartMs });
    while (!signal.aborted) {
      if (await heldUntilClosed(socket, signal)) {
        // The far side ends connections that say nothing; only a refused one means that it is gone.
        backoff.reset();
        continue;
      }
      if (signal.aborted) return;
      log.warn({ dir: containerd.dir }, 'containerd ended; starting it again');
      try {
        await startContainerd({ ...containerd, detached: true });
      } catch (error) {
        const delayMs = backoff.nextMs();
        log.error({ err: error, dir: containerd.dir, delayMs }, 'containerd did not start');
        await clock.sleep(delayMs, signal);
      }
    }
  }
}

/** Holds a connection; resolves with true when one that stood was closed, with false when there was none to be had. */
function heldUntilClosed(path: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(false);
    let stood = false;
    const socket = connect(path);
    const end = () => socket.destroy();
    signal.addEventListener('abort', end, { once: true });
    socket.once('connect', () => {
      stood = true;
    });
    socket.on('error', () => undefined);
    socket.resume();
    socket.once('close', () => {
      signal.removeEventListener('abort', end);
      resolve(stood && !signal.aborted);
    });
  });
}
