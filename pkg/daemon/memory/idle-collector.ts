import type { Daemon } from '#daemon/daemon.js';
import { collectWhenIdle, type IdleCollectionOptions } from '#daemon/memory/collect-when-idle.js';

/** Collects garbage beside other daemons of the process, when they have nothing to do. */
export class IdleCollector implements Daemon {
  readonly name = 'idle-collector';
  readonly #options: IdleCollectionOptions;
  readonly #stop = new AbortController();

  constructor(options: IdleCollectionOptions) {
    this.#options = options;
  }

  async ready(): Promise<void> {}

  start(signal: AbortSignal): Promise<void> {
    return collectWhenIdle(this.#options, AbortSignal.any([signal, this.#stop.signal]));
  }

  async close(): Promise<void> {
    this.#stop.abort();
  }
}
