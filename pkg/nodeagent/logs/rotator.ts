/** Rotates large logs of running containers: renames them, makes the runtime open new files, removes the oldest. */
import { basename, dirname } from 'node:path';
import { type Clock, upkeepClock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { RuntimeService } from '#nodeagent/cri/cri.js';
import { type LogFiles, temporarySuffix } from '#nodeagent/logs/log-files.js';
import { isRunning, type PodRuntime } from '#nodeagent/runtime/pod-runtime.js';

export interface LogRotatorOptions {
  readonly cri: Pick<RuntimeService, 'reopenContainerLog'>;
  readonly files: LogFiles;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pods: () => readonly PodRuntime[];
  readonly maxBytes: number;
  /** Files per container, including the current one; at least 2. */
  readonly maxFiles: number;
}

/** As in release 1.24; nodes without running containers check nothing. */
const intervalMs = 10_000;

/** Logs checked at once, so that an idle agent wakes up once per batch of file system calls. */
const batchSize = 16;

/** `20220503-101112`: sorts by time. */
export function rotationSuffix(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replaceAll('-', '').replaceAll(':', '').replace('T', '-');
}

export class LogRotator {
  readonly #options: LogRotatorOptions;

  constructor(options: LogRotatorOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await upkeepClock(clock).sleep(intervalMs, signal);
      if (!signal.aborted) await this.rotateAll();
    }
  }

  /** Checks the log of every running container once. */
  async rotateAll(): Promise<void> {
    const logs = this.#options
      .pods()
      .flatMap(({ containers }) => containers.filter((each) => isRunning(each) && each.logPath !== ''));
    for (let from = 0; from < logs.length; from += batchSize) {
      const batch = logs.slice(from, from + batchSize);
      const sizes = await Promise.allSettled(batch.map(({ logPath }) => this.#options.files.sizeOf(logPath)));
      for (const [i, { id, logPath }] of batch.entries()) await this.#rotateOrWarn(id, logPath, sizes[i]);
    }
  }

  async #rotateOrWarn(id: string, logPath: string, size?: PromiseSettledResult<number | undefined>): Promise<void> {
    try {
      if (size?.status === 'rejected') throw size.reason;
      await this.#rotate(id, logPath, size?.value);
    } catch (error) {
      this.#options.log.warn({ err: error, logPath }, 'rotating a container log failed');
    }
  }

  /** `size`: undefined if there is no log. */
  async #rotate(id: string, path: string, size: number | undefined): Promise<void> {
    const { files, maxBytes, cri, clock } = this.#options;
    if (size === undefined) return this.#recover(id, path);
    if (size < maxBytes) return;
    for (const rotated of await this.#makeRoom(path)) {
      if (!rotated.endsWith('.gz')) await files.compress?.(rotated);
    }
    const moved = `${path}.${rotationSuffix(clock.now())}`;
    await files.rename(path, moved);
    try {
      await cri.reopenContainerLog(id);
    } catch (error) {
      // The runtime still writes to the renamed file, so rename it back to lose nothing.
      await files.rename(moved, path);
      throw error;
    }
  }

  /** Completes a rotation that an earlier agent did not finish: the runtime still writes to the renamed file. */
  async #recover(id: string, path: string): Promise<void> {
    const { files, cri } = this.#options;
    // Skips names that are no regular file, which another program created.
    if ((await files.list(dirname(path))).includes(basename(path))) return;
    await cri.reopenContainerLog(id);
  }

  /** Makes room for one more rotated file; returns the paths of the remaining ones. */
  async #makeRoom(path: string): Promise<string[]> {
    const { files, maxFiles } = this.#options;
    const prefix = `${basename(path)}.`;
    const all = (await files.list(dirname(path))).filter((name) => name.startsWith(prefix)).sort();
    // A crash may leave unfinished files, or both forms of a file.
    const isLeftover = (name: string) => name.endsWith(temporarySuffix) || all.includes(`${name}.gz`);
    const rotated = all.filter((name) => !isLeftover(name));
    const keepCount = Math.max(0, maxFiles - 2);
    const remaining = rotated.slice(Math.max(0, rotated.length - keepCount));
    for (const name of all) if (!remaining.includes(name)) await files.remove(`${dirname(path)}/${name}`);
    return remaining.map((name) => `${dirname(path)}/${name}`);
  }
}
