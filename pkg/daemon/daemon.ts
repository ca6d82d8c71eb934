/**
 * What every daemon is: an ordinary object built from options and dependencies, any number of which live in one
 * process. Only `cmd/<name>/main.ts` touches the process itself.
 */
export interface Daemon {
  /** The daemon's name in logs and messages, such as `orch-scheduler`. */
  readonly name: string;
  /**
   * Does the daemon's work until `signal` aborts or `close` is called, then resolves. Rejects when the work cannot
   * go on. Called once.
   */
  start(signal: AbortSignal): Promise<void>;
  /** Resolves when the daemon does its work (its port answers, its caches are filled); rejects when it never will. */
  ready(): Promise<void>;
  /** Drains and stops. Idempotent; may be called before `start`. */
  close(): Promise<void>;
}
