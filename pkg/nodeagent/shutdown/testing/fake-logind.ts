/** logind in memory. */
import { type Deferred, deferred } from '#apimachinery/async/deferred.js';
import type { InhibitLock, Logind, ShutdownWatch } from '#nodeagent/shutdown/logind.js';

export class FakeLogind implements Logind {
  /** Calls, in their order. */
  readonly calls: string[] = [];
  /** Locks that delay a shutdown now. */
  held = 0;
  /** As logind knows it. */
  delayMs = 5000;
  /** Names of calls that fail. */
  readonly failing = new Set<string>();
  /** As the configuration file has it; logind reads it after a reload. */
  #configuredMs = 5000;
  /** Reads of the delay until a reload has happened. */
  reloadReads = 0;
  #onShutdown: ((isActive: boolean) => void) | undefined;
  #ended: Deferred<void> = deferred();

  /** A signal of logind. */
  signal(isActive: boolean): void {
    this.#onShutdown?.(isActive);
  }

  /** The bus ends all observations. */
  restart(): void {
    this.#onShutdown = undefined;
    this.#ended.resolve();
  }

  #call(name: string): void {
    this.calls.push(name);
    if (this.failing.has(name.split(' ')[0] ?? '')) throw new Error(`${name} fails`);
  }

  async inhibitDelayMs(): Promise<number> {
    this.#call('delay');
    if (this.reloadReads > 0) this.reloadReads -= 1;
    else this.delayMs = this.calls.includes('reload') ? this.#configuredMs : this.delayMs;
    return this.delayMs;
  }

  async overrideInhibitDelay(ms: number): Promise<void> {
    this.#call(`override ${ms}`);
    this.#configuredMs = ms;
  }

  async reload(): Promise<void> {
    this.#call('reload');
  }

  async inhibit(): Promise<InhibitLock> {
    this.#call('inhibit');
    this.held += 1;
    let isHeld = true;
    return {
      release: async () => {
        if (isHeld) this.held -= 1;
        isHeld = false;
      },
    };
  }

  async watch(onShutdown: (isActive: boolean) => void): Promise<ShutdownWatch> {
    this.#call('watch');
    this.#onShutdown = onShutdown;
    this.#ended = deferred();
    const { promise: ended } = this.#ended;
    return { ended, close: () => this.restart() };
  }
}
