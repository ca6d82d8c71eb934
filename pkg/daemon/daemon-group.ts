/** Several daemons as one: they run together, and none goes on without the others. */
import type { Daemon } from '#daemon/daemon.js';

export class DaemonGroup implements Daemon {
  readonly name: string;
  readonly #members: readonly Daemon[];

  constructor(name: string, members: readonly Daemon[]) {
    this.name = name;
    this.#members = members;
  }

  async ready(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.ready()));
  }

  /** Rejects as the first that failed did, once all have ended. */
  async start(signal: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const stop = AbortSignal.any([signal, failed.signal]);
    await Promise.all(this.#members.map((member) => member.start(stop).catch((error: unknown) => failed.abort(error))));
    if (failed.signal.aborted) throw failed.signal.reason;
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.close()));
  }
}
