/** A file that one process at a time makes, for what several must not do at once. */
import { open, rm, stat } from 'node:fs/promises';
import type { Clock } from '#apimachinery/clock.js';

/** Its holder has died: none needs it for so long. */
const staleMs = 30_000;

export class LockFile {
  readonly #path: string;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(path: string, clock: Pick<Clock, 'now'>) {
    this.#path = path;
    this.#clock = clock;
  }

  /** False while another process has it; never waits. */
  async take(): Promise<boolean> {
    try {
      await (await open(this.#path, 'wx', 0o600)).close();
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      await this.#removeStale();
      return false;
    }
  }

  leave(): Promise<void> {
    return rm(this.#path, { force: true });
  }

  async #removeStale(): Promise<void> {
    try {
      const { mtimeMs } = await stat(this.#path);
      if (Math.abs(this.#clock.now() - mtimeMs) > staleMs) await this.leave();
    } catch (error) {
      // Its holder has just left it.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}
