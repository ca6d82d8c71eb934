/**
 * A daemon is an ordinary object built from options and dependencies; one process may run several. Only
 * `cmd/<name>/main.ts` touches the process itself.
 */
export interface Daemon {
  /** The daemon's name in logs and messages, such as `orch-scheduler`. */
  readonly name: string;
  /**
   * Works until `signal` aborts or `close` is called, then resolves. Rejects when the work cannot continue. Called
   * once.
   */
  start(signal: AbortSignal): Promise<void>;
  /** Resolves when the daemon works (its port answers, its caches are filled); rejects when it never will. */
  ready(): Promise<void>;
  /** Drains and stops. Idempotent; may be called before `start`. */
  close(): Promise<void>;
}

/** Several daemons as one: when one ends with an error, all end. */
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

  /** Rejects with the first error, once all members have ended. */
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
