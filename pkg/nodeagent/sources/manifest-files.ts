/**
 * Pods of files: one file, or all files of a directory. The kernel's events say when to look again; a period looks where
 * they do not reach (behind links, on network file systems).
 */
import { constants, type FSWatcher, watch } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import { ManifestError, type ManifestReader, maxManifestBytes } from '#nodeagent/sources/static-pod.js';

export interface ManifestFilesOptions {
  /** A file or a directory; need not be there yet. */
  readonly path: string;
  readonly periodMs: number;
  readonly reader: ManifestReader;
  readonly clock: Clock;
  readonly log: Logger;
  /** All pods of the files that can be read. */
  readonly onPods: (pods: readonly Pod[]) => void;
}

/** Writers write in several steps: what follows within this time is one change. */
const settleMs = 50;

interface Known {
  /** Changes whenever the content may have. */
  readonly version: string;
  /** The last good one. */
  readonly pod: Pod | undefined;
  readonly isBad: boolean;
}

export class ManifestFiles {
  readonly #options: ManifestFilesOptions;
  readonly #path: string;
  readonly #known = new Map<string, Known>();
  readonly #watchers = new Map<string, FSWatcher>();
  #settling: Timer | undefined;
  #looking: Promise<void> = Promise.resolve();
  #problem = '';

  constructor(options: ManifestFilesOptions) {
    this.#options = options;
    this.#path = options.path.length > 1 ? options.path.replace(/\/+$/, '') : options.path;
  }

  /** Looks until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, periodMs } = this.#options;
    try {
      while (!signal.aborted) {
        await this.#look(true);
        await clock.sleep(periodMs, signal);
      }
    } finally {
      this.#settling?.cancel();
      for (const watcher of this.#watchers.values()) watcher.close();
      this.#watchers.clear();
    }
  }

  /** One after the other. Never rejects. */
  #look(isPeriodic: boolean): Promise<void> {
    this.#looking = this.#looking.then(() => this.#read(isPeriodic)).catch((error: unknown) => this.#tell(error));
    return this.#looking;
  }

  #changed(): void {
    this.#settling ??= this.#options.clock.setTimer(() => {
      this.#settling = undefined;
      void this.#look(false);
    }, settleMs);
  }

  async #read(isPeriodic: boolean): Promise<void> {
    const found = await stat(this.#path).catch(orMissing);
    if (found === undefined) {
      // Where it will be made.
      this.#watch(dirname(this.#path));
      this.#known.clear();
      this.#options.onPods([]);
      throw new Error(`${this.#path}: path does not exist, ignoring`);
    }
    if (!found.isDirectory() && !found.isFile()) throw new Error(`${this.#path}: path is not a directory or file`);
    this.#watch(found.isDirectory() ? this.#path : dirname(this.#path));
    const paths = found.isDirectory() ? await visibleFiles(this.#path) : [this.#path];
    for (const path of this.#known.keys()) if (!paths.includes(path)) this.#known.delete(path);
    for (const path of paths) await this.#readFile(path, isPeriodic);
    this.#problem = '';
    this.#options.onPods(paths.flatMap((path) => this.#known.get(path)?.pod ?? []));
  }

  async #readFile(path: string, isPeriodic: boolean): Promise<void> {
    const { reader, log } = this.#options;
    const known = this.#known.get(path);
    let version = '';
    try {
      const found = await stat(path, { bigint: true });
      version = [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join();
      if (known?.version === version && !known.isBad) return;
      const pod = reader.file(await readManifest(path), path);
      this.#known.set(path, { version, pod, isBad: false });
    } catch (error) {
      // What is being written is not its writer's last word: it has until the next period to become a pod.
      const isLasting = isPeriodic && known?.isBad === true && known.version === version;
      if (known?.version !== version || !known.isBad)
        log.error({ path, problem: messageOf(error) }, "Can't process the manifest file");
      this.#known.set(path, { version, pod: isLasting ? undefined : known?.pod, isBad: true });
    }
  }

  /** Only that directory, from now on; a file is watched through its directory, where another may take its name. */
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
      // It is gone, or there are too many: the period goes on, and tries again.
      watcher.on('error', () => this.#unwatch(directory));
      this.#watchers.set(directory, watcher);
      // What came between the look and the watch.
      this.#changed();
    } catch (error) {
      this.#options.log.debug({ directory, problem: messageOf(error) }, 'The directory cannot be watched');
    }
  }

  #unwatch(directory: string): void {
    this.#watchers.get(directory)?.close();
    this.#watchers.delete(directory);
  }

  /** Once, until it changes. */
  #tell(error: unknown): void {
    const problem = messageOf(error);
    if (problem !== this.#problem) this.#options.log.error({ problem }, 'Unable to read the path of static pods');
    this.#problem = problem;
  }
}

function orMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
  throw error;
}

/** In the order of their names, without those that begin with a dot, and without directories. */
async function visibleFiles(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  return entries
    .filter((entry) => !entry.name.startsWith('.') && !entry.isDirectory())
    .map(({ name }) => join(directory, name))
    .sort();
}

/** Throws ManifestError for what is no file, or too large. */
async function readManifest(path: string): Promise<Buffer> {
  // A pipe without a writer would be waited for.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new ManifestError(`${path} is not a file`);
    if (found.size > maxManifestBytes) throw new ManifestError(`${path}: the read limit is reached`);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(found.size), 0, found.size, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
