/** Watches all pods and records why their containers waited, in the order of the reports. */
import { pods } from '#api/core/v1/resources.gen.js';
import type { Client } from '#client/client.js';

export class StatusHistory {
  readonly #stop = new AbortController();
  readonly #work: Promise<void>;
  readonly #reasons = new Map<string, string[]>();

  constructor(client: Client) {
    this.#work = this.#run(client);
  }

  /** Such as `ContainerCreating,ErrImagePull`: reasons of the pod's waiting containers, without repetitions in a row. */
  reasons(name: string): string {
    return (this.#reasons.get(name) ?? []).join(',');
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#work;
  }

  async #run(client: Client): Promise<void> {
    const { signal } = this.#stop;
    try {
      for await (const { object } of client.resource(pods).watch({ signal })) {
        const { name = '' } = object.metadata;
        const reasons = this.#reasons.get(name) ?? [];
        this.#reasons.set(name, reasons);
        for (const { state } of object.status?.containerStatuses ?? []) {
          const reason = state?.waiting?.reason;
          if (reason !== undefined && reasons.at(-1) !== reason) reasons.push(reason);
        }
      }
    } catch (error) {
      // A stop is expected; any other end of the watch fails the test that waits for it.
      if (!signal.aborted) throw error;
    }
  }
}
