import type { ChildProcess } from 'node:child_process';
import { ended } from '#test/integration/daemons/api.js';

/** A process that can be ended in several ways and restarted. */
export class RestartableProcess {
  readonly #start: () => ChildProcess;
  #child: ChildProcess | undefined;

  constructor(start: () => ChildProcess) {
    this.#start = start;
    this.#child = start();
  }

  /** Ends the process, or starts it if it is not running. */
  async toggle(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === undefined) {
      this.#child = this.#start();
      return;
    }
    this.#child = undefined;
    child.kill('SIGCONT');
    child.kill(signal);
    await ended(child);
  }

  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Kills the process and starts another. */
  async replace(): Promise<void> {
    if (this.#runs) await this.toggle('SIGKILL');
    this.#child = this.#start();
  }

  /** Restarts the process whatever its state; one that lost its lease has exited by itself. */
  async recover(): Promise<void> {
    this.thaw();
    if (this.#runs) await this.toggle('SIGTERM');
    this.#child = this.#start();
  }

  /** Restarts the process if it has exited, as a service manager does after a lost lease. */
  revive(): void {
    if (!this.#runs) this.#child = this.#start();
  }

  get #runs(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }
}
