/** Finds the sockets below a directory, those that exist and those that appear. */
import { type FSWatcher, watch } from 'node:fs';
import { lstat, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Sockets } from '#nodeagent/plugins/plan.js';

export interface SocketWatcherOptions {
  /** Created if it does not exist. */
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** All sockets, after each change. */
  onChange(sockets: Sockets): void;
}

/** Changes within this time are read together. */
const collectMs = 100;
/** After an error such as a lack of inotify watches. */
const retryMs = 10_000;
/** Bounds what a misused directory costs: entries that are read, and folders below each other. */
const maxEntries = 4096;
const maxDepth = 8;

interface Watched {
  readonly identity: string;
  readonly watcher: FSWatcher;
}

/** Each change reads the whole tree anew, so that no event can be lost; usually it has a handful of entries. */
export class SocketWatcher {
  readonly #options: SocketWatcherOptions;
  readonly #watched = new Map<string, Watched>();
  #timer: Timer | undefined;
  #scan: Promise<void> | undefined;
  #isStale = false;
  #isClosed = false;

  constructor(options: SocketWatcherOptions) {
    this.#options = options;
  }

  /** Resolves once the sockets that exist are reported. Throws if the directory cannot be created. */
  async start(): Promise<void> {
    await mkdir(this.#options.directory, { recursive: true, mode: 0o755 });
    await this.#rescan();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#scan;
    for (const { watcher } of this.#watched.values()) watcher.close();
    this.#watched.clear();
  }

  #schedule(ms: number): void {
    if (this.#isClosed || this.#timer !== undefined) return;
    this.#timer = this.#options.clock.setTimer(() => {
      this.#timer = undefined;
      void this.#rescan();
    }, ms);
  }

  /** Never rejects. One scan at a time; another one follows if something changed meanwhile. */
  async #rescan(): Promise<void> {
    if (this.#scan !== undefined) {
      this.#isStale = true;
      return this.#scan;
    }
    this.#scan = this.#readAll();
    await this.#scan;
    this.#scan = undefined;
    if (!this.#isStale) return;
    this.#isStale = false;
    this.#schedule(collectMs);
  }

  async #readAll(): Promise<void> {
    const { directory, log, onChange } = this.#options;
    const tree: Tree = { sockets: new Map(), directories: new Set(), entries: 0 };
    try {
      await mkdir(directory, { recursive: true, mode: 0o755 });
      await this.#read(directory, 0, tree);
    } catch (error) {
      log.warn({ err: error, directory }, 'failed to read the plugin sockets');
      this.#schedule(retryMs);
      return;
    }
    for (const [path, { watcher }] of this.#watched)
      if (!tree.directories.has(path)) {
        watcher.close();
        this.#watched.delete(path);
      }
    if (!this.#isClosed) onChange(tree.sockets);
  }

  /** Watches before it reads, so that no entry appears in between. */
  async #read(directory: string, depth: number, tree: Tree): Promise<void> {
    const { log } = this.#options;
    await this.#watch(directory);
    tree.directories.add(directory);
    for (const name of await readdir(directory)) {
      if (name.startsWith('.')) continue;
      tree.entries += 1;
      if (tree.entries > maxEntries) {
        if (tree.entries === maxEntries + 1)
          log.warn({ directory, maxEntries }, 'too many files beside plugin sockets');
        return;
      }
      const path = join(directory, name);
      const entry = await kindOf(path);
      if (entry.kind === 'socket') tree.sockets.set(path, entry.identity);
      if (entry.kind === 'directory' && depth < maxDepth)
        // A folder that disappears meanwhile has no sockets; its parent reports that, too.
        await this.#read(path, depth + 1, tree).catch((error: unknown) => {
          log.debug({ err: error, path }, 'failed to read a folder of plugin sockets');
        });
    }
  }

  /** A directory that was made again needs another watch. */
  async #watch(path: string): Promise<void> {
    const identity = identityOf(await lstat(path, { bigint: true }));
    const old = this.#watched.get(path);
    if (old?.identity === identity || this.#isClosed) return;
    old?.watcher.close();
    const watcher = watch(path, { persistent: false }, (event) => {
      // Changes of content and modes do not matter.
      if (event === 'rename') this.#schedule(collectMs);
    });
    watcher.on('error', () => this.#schedule(retryMs));
    this.#watched.set(path, { identity, watcher });
  }
}

interface Tree {
  readonly sockets: Map<string, string>;
  readonly directories: Set<string>;
  entries: number;
}

type Entry = { readonly kind: 'socket'; readonly identity: string } | { readonly kind: 'directory' | 'other' };

/** Follows links to sockets, but not to directories, which could lead in a circle. */
async function kindOf(path: string): Promise<Entry> {
  try {
    const own = await lstat(path, { bigint: true });
    if (own.isDirectory()) return { kind: 'directory' };
    const target = own.isSymbolicLink() ? await stat(path, { bigint: true }) : own;
    return target.isSocket() ? { kind: 'socket', identity: identityOf(target) } : { kind: 'other' };
  } catch {
    // It disappeared meanwhile, which is another event, or the link leads nowhere.
    return { kind: 'other' };
  }
}

/** File systems give the number of a removed file to the next one, but not its time. */
function identityOf({ dev, ino, birthtimeNs }: { dev: bigint; ino: bigint; birthtimeNs: bigint }): string {
  return `${dev}:${ino}:${birthtimeNs}`;
}
