/** Keeps the logs of running containers small: moves a large one away, has the runtime begin another, drops the oldest. */
import { basename, dirname } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { RuntimeService } from '#nodeagent/cri/cri.js';
import { type LogFiles, temporary } from '#nodeagent/logs/log-files.js';
import { isRunning, type PodRuntime } from '#nodeagent/runtime/pod-runtime.js';

export interface LogRotatorOptions {
  readonly cri: Pick<RuntimeService, 'reopenContainerLog'>;
  readonly files: LogFiles;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pods: () => readonly PodRuntime[];
  readonly maxBytes: number;
  /** Files per container, the one being written included; at least 2. */
  readonly maxFiles: number;
}

/** As in release 1.24; only nodes with running containers look at all. */
const intervalMs = 10_000;

/** Logs looked at together: an idle node's agent wakes up once for so many answers of the file system, not for each. */
const atOnce = 16;

/** `20220503-101112` of an instant: sorts by time. */
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
      await clock.sleep(intervalMs, signal);
      if (!signal.aborted) await this.rotateAll();
    }
  }

  /** One look at every running container's log. */
  async rotateAll(): Promise<void> {
    const logs = this.#options
      .pods()
      .flatMap(({ containers }) => containers.filter((each) => isRunning(each) && each.logPath !== ''));
    for (let from = 0; from < logs.length; from += atOnce) {
      const some = logs.slice(from, from + atOnce);
      const sizes = await Promise.allSettled(some.map(({ logPath }) => this.#options.files.sizeOf(logPath)));
      for (const [i, { id, logPath }] of some.entries()) await this.#rotateOrWarn(id, logPath, sizes[i]);
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

  /** `size`: undefined where there is no log. */
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
      // The runtime still writes to the moved file: under its old name nothing is lost.
      await files.rename(moved, path);
      throw error;
    }
  }

  /** An agent that ended between the two steps of a rotation has left a runtime that writes to the file moved away. */
  async #recover(id: string, path: string): Promise<void> {
    const { files, cri } = this.#options;
    // What is there and no file is somebody else's doing: the runtime is not to write to it.
    if ((await files.list(dirname(path))).includes(basename(path))) return;
    await cri.reopenContainerLog(id);
  }

  /** Makes room for one more rotated file; returns the paths of those that stay. */
  async #makeRoom(path: string): Promise<string[]> {
    const { files, maxFiles } = this.#options;
    const prefix = `${basename(path)}.`;
    const all = (await files.list(dirname(path))).filter((name) => name.startsWith(prefix)).sort();
    // A crash leaves what was not finished, or both forms of a file.
    const isOver = (name: string) => name.endsWith(temporary) || all.includes(`${name}.gz`);
    const rotated = all.filter((name) => !isOver(name));
    const keep = Math.max(0, maxFiles - 2);
    const kept = rotated.slice(Math.max(0, rotated.length - keep));
    for (const name of all) if (!kept.includes(name)) await files.remove(`${dirname(path)}/${name}`);
    return kept.map((name) => `${dirname(path)}/${name}`);
  }
}
