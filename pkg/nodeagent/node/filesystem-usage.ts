/**
 * Reads the usage of file systems, some of which may never answer: a file system whose server is gone blocks statfs in
 * the kernel. Each query occupies one of the few threads of this process's file operations, so only a few may be open;
 * further calls get the last known values.
 */
import { stat, statfs } from 'node:fs/promises';
import { type Clock, processClock } from '#apimachinery/clock.js';

export interface FilesystemState {
  readonly availableBytes: number;
  readonly capacityBytes: number;
  /** Space reserved for the system counts as free. */
  readonly usedBytes: number;
  readonly inodesFree: number;
  readonly inodes: number;
  /** Equal for paths on the same device. */
  readonly device?: string;
}

/** Queries the kernel; rejects if the path does not exist. */
export type AskFilesystem = (path: string) => Promise<FilesystemState>;

/** `BTRFS_SUPER_MAGIC` of statfs(2). */
const btrfsType = 0x9123683e;

export const askKernel: AskFilesystem = async (path) => {
  const { type, bsize, bavail, bfree, blocks, ffree, files } = await statfs(path);
  const { dev } = await stat(path);
  return {
    // Each subvolume of btrfs has a device number of its own.
    device: type === btrfsType ? `btrfs ${blocks}` : String(dev),
    availableBytes: bsize * bavail,
    capacityBytes: bsize * blocks,
    usedBytes: bsize * (blocks - bfree),
    inodesFree: ffree,
    inodes: files,
  };
};

/** Open queries: half of the file threads. */
export const maxOpen = 2;
/** After this time, a call returns the last known values. */
export const queryTimeoutMs = 1000;
/** Cached paths; the least recently updated one is dropped first. */
const maxCached = 1000;

interface Query {
  readonly answered: Promise<void>;
  /** The query has exceeded `queryTimeoutMs`. */
  isLate: boolean;
}

export class FilesystemUsage {
  readonly #clock: Clock;
  readonly #query: AskFilesystem;
  readonly #last = new Map<string, FilesystemState>();
  readonly #open = new Map<string, Query>();

  constructor(clock: Clock, ask: AskFilesystem = askKernel) {
    this.#clock = clock;
    this.#query = ask;
  }

  /** The current or last known values of the file system that contains the path; undefined if there are none. */
  async read(path: string): Promise<FilesystemState | undefined> {
    const over = new AbortController();
    const timeout = processClock(this.#clock)
      .sleep(queryTimeoutMs, over.signal)
      .then(() => 'late' as const);
    try {
      for (;;) {
        const question = this.#open.get(path) ?? this.#begin(path);
        // Do not wait for queries that are already late.
        if (question?.isLate === true || (question === undefined && this.#allLate())) break;
        const answered = question?.answered ?? Promise.race([...this.#open.values()].map((each) => each.answered));
        if ((await Promise.race([answered, timeout])) === 'late') {
          if (question !== undefined) question.isLate = true;
          break;
        }
        if (question !== undefined) break;
      }
    } finally {
      over.abort();
    }
    return this.#last.get(path);
  }

  #allLate(): boolean {
    return [...this.#open.values()].every(({ isLate }) => isLate);
  }

  /** Undefined if too many queries are open. */
  #begin(path: string): Query | undefined {
    if (this.#open.size >= maxOpen) return undefined;
    const answered = this.#query(path).then(
      (state) => this.#cache(path, state),
      () => void this.#last.delete(path),
    );
    const question: Query = { answered: answered.finally(() => this.#open.delete(path)), isLate: false };
    this.#open.set(path, question);
    return question;
  }

  #cache(path: string, state: FilesystemState): void {
    this.#last.delete(path);
    this.#last.set(path, state);
    const [oldest] = this.#last.keys();
    if (this.#last.size > maxCached && oldest !== undefined) this.#last.delete(oldest);
  }
}
