/**
 * Static pods from one file, or from all files of a directory. Reads after the kernel's file events, and periodically
 * where those do not work (behind links, on network file systems).
 */
import { constants, type FSWatcher, watch } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Pod } from '#api/core/v1/types.gen.js';
import { type Clock, type Timer, upkeepClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import { ManifestError, type ManifestReader, maxManifestBytes } from '#nodeagent/sources/static-pod.js';

export interface ManifestFilesOptions {
  /** A file or a directory; may not exist yet. */
  readonly path: string;
  readonly periodMs: number;
  readonly reader: ManifestReader;
  readonly clock: Clock;
  readonly log: Logger;
  /** All pods of the readable files. */
  readonly onPods: (pods: readonly Pod[]) => void;
}

/** Writers write in several steps: events within this time count as one change. */
const settleMs = 50;

interface CachedManifest {
  /** Changes whenever the content may have changed. */
  readonly version: string;
  /** The last valid pod. */
  readonly pod: Pod | undefined;
  readonly isBad: boolean;
}

export class ManifestFiles {
  readonly #options: ManifestFilesOptions;
  readonly #path: string;
  readonly #manifests = new Map<string, CachedManifest>();
  readonly #watchers = new Map<string, FSWatcher>();
  #settling: Timer | undefined;
  #reading: Promise<void> = Promise.resolve();
  #problem = '';

  constructor(options: ManifestFilesOptions) {
    this.#options = options;
    this.#path = options.path.length > 1 ? options.path.replace(/\/+$/, '') : options.path;
  }

  /** Reads until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, periodMs } = this.#options;
    try {
      while (!signal.aborted) {
        await this.#scheduleRead(true);
        await upkeepClock(clock).sleep(periodMs, signal);
      }
    } finally {
      this.#settling?.cancel();
      for (const watcher of this.#watchers.values()) watcher.close();
      this.#watchers.clear();
    }
  }

  /** Runs one read after the other. Never rejects. */
  #scheduleRead(isPeriodic: boolean): Promise<void> {
    this.#reading = this.#reading.then(() => this.#read(isPeriodic)).catch((error: unknown) => this.#logOnce(error));
    return this.#reading;
  }

  #changed(): void {
    this.#settling ??= this.#options.clock.setTimer(() => {
      this.#settling = undefined;
      void this.#scheduleRead(false);
    }, settleMs);
  }

  async #read(isPeriodic: boolean): Promise<void> {
    const stats = await stat(this.#path).catch(undefinedIfMissing);
    if (stats === undefined) {
      // Watch the directory in which the path will be created.
      this.#watch(dirname(this.#path));
      this.#manifests.clear();
      this.#options.onPods([]);
      throw new Error(`${this.#path}: path does not exist, ignoring`);
    }
    if (!stats.isDirectory() && !stats.isFile()) throw new Error(`${this.#path}: path is not a directory or file`);
    this.#watch(stats.isDirectory() ? this.#path : dirname(this.#path));
    const paths = stats.isDirectory() ? await visibleFiles(this.#path) : [this.#path];
    for (const path of this.#manifests.keys()) if (!paths.includes(path)) this.#manifests.delete(path);
    for (const path of paths) await this.#readFile(path, isPeriodic);
    this.#problem = '';
    this.#options.onPods(paths.flatMap((path) => this.#manifests.get(path)?.pod ?? []));
  }

  async #readFile(path: string, isPeriodic: boolean): Promise<void> {
    const { reader, log } = this.#options;
    const cached = this.#manifests.get(path);
    let version = '';
    try {
      const stats = await stat(path, { bigint: true });
      version = [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join();
      if (cached?.version === version && !cached.isBad) return;
      const pod = reader.file(await readManifest(path), path);
      this.#manifests.set(path, { version, pod, isBad: false });
    } catch (error) {
      // The file may be half written: keep its last pod until the next period.
      const isLasting = isPeriodic && cached?.isBad === true && cached.version === version;
      if (cached?.version !== version || !cached.isBad)
        log.error({ path, problem: messageOf(error) }, 'failed to process the manifest file');
      this.#manifests.set(path, { version, pod: isLasting ? undefined : cached?.pod, isBad: true });
    }
  }

  /** Watches only this directory. A file is watched through its directory, since another file may replace it. */
  #watch(directory: string): void {
    const only = directory === this.#path ? undefined : basename(this.#path);
    for (const [path, watcher] of this.#watchers) {
      if (path === directory) continue;
      watcher.close();
      this.#watchers.delete(path);
    }
    if (this.#watchers.has(directory)) return;
    try {
      const watcher = watch(directory, { persistent: false }, (_, name) => {
        if (only === undefined || name === null || name === only) this.#changed();
      });
      // The directory is gone, or there are too many watches: the periodic read continues and tries again.
      watcher.on('error', () => this.#unwatch(directory));
      this.#watchers.set(directory, watcher);
      // Covers changes between the read and the watch.
      this.#changed();
    } catch (error) {
      this.#options.log.debug({ directory, problem: messageOf(error) }, 'failed to watch the directory');
    }
  }

  #unwatch(directory: string): void {
    this.#watchers.get(directory)?.close();
    this.#watchers.delete(directory);
  }

  /** Logs an error once until it changes. */
  #logOnce(error: unknown): void {
    const problem = messageOf(error);
    if (problem !== this.#problem) this.#options.log.error({ problem }, 'failed to read the path of static pods');
    this.#problem = problem;
  }
}

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
  throw error;
}

/** Regular file paths in name order, without directories and names that begin with a dot. */
async function visibleFiles(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  return entries
    .filter((entry) => !entry.name.startsWith('.') && !entry.isDirectory())
    .map(({ name }) => join(directory, name))
    .sort();
}

/** Throws ManifestError if the path is no file, or is too large. */
async function readManifest(path: string): Promise<Buffer> {
  // Opening a pipe without a writer would block.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new ManifestError(`${path} is not a file`);
    if (stats.size > maxManifestBytes) throw new ManifestError(`${path}: the read limit is reached`);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(stats.size), 0, stats.size, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
