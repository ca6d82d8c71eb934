import type { ChildProcess } from 'node:child_process';
import { ended } from '#test/integration/daemons/api.js';

/** A process that is ended in several ways and started again. */
export class Restarted {
  readonly #start: () => ChildProcess;
  #child: ChildProcess | undefined;

  constructor(start: () => ChildProcess) {
    this.#start = start;
    this.#child = start();
  }

  /** Ends it, or starts it when it does not run. */
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

  /** Ends it at once, whatever it is at, and starts another. */
  async replace(): Promise<void> {
    if (this.#runs) await this.toggle('SIGKILL');
    this.#child = this.#start();
  }

  /** Runs again, whatever has been done to it; one that lost its lease has ended by itself. */
  async recover(): Promise<void> {
    this.thaw();
    if (this.#runs) await this.toggle('SIGTERM');
    this.#child = this.#start();
  }

  /** Runs again if it has ended by itself, as those are who could not renew their lease; a service manager does that. */
  revive(): void {
    if (!this.#runs) this.#child = this.#start();
  }

  get #runs(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }
}
