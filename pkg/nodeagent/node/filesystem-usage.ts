/**
 * Figures of file systems, some of which may never answer: that of a server that is gone holds whoever asks, deep in the
 * kernel. Each question holds one of the few threads of this process that all files are read with, so that only so many
 * are open; who asks for others meanwhile is told what was last known.
 */
import { statfs } from 'node:fs/promises';
import type { Clock } from '#apimachinery/clock.js';

export interface FilesystemState {
  readonly availableBytes: number;
  readonly capacityBytes: number;
  /** What only the system may still use counts as free. */
  readonly usedBytes: number;
  readonly inodesFree: number;
  readonly inodes: number;
}

/** How the kernel is asked; rejects where there is no such path. */
export type AskFilesystem = (path: string) => Promise<FilesystemState>;

export const askKernel: AskFilesystem = async (path) => {
  const { bsize, bavail, bfree, blocks, ffree, files } = await statfs(path);
  return {
    availableBytes: bsize * bavail,
    capacityBytes: bsize * blocks,
    usedBytes: bsize * (blocks - bfree),
    inodesFree: ffree,
    inodes: files,
  };
};

/** Questions open at once: half of the threads that there are for files. */
export const maxOpen = 2;
/** A file system that takes longer is answered for by what was last known. */
export const patienceMs = 1000;
/** Of paths whose figures are kept; the one that was asked for longest ago goes first. */
const maxKept = 1000;

interface Question {
  readonly answered: Promise<void>;
  /** It has taken longer than anybody waits. */
  isLate: boolean;
}

export class FilesystemFigures {
  readonly #clock: Clock;
  readonly #ask: AskFilesystem;
  readonly #last = new Map<string, FilesystemState>();
  readonly #open = new Map<string, Question>();

  constructor(clock: Clock, ask: AskFilesystem = askKernel) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /** Of the file system that holds the path, as of now or as last known; undefined when there is none such. */
  async of(path: string): Promise<FilesystemState | undefined> {
    const over = new AbortController();
    const patience = this.#clock.sleep(patienceMs, over.signal).then(() => 'late' as const);
    try {
      for (;;) {
        const question = this.#open.get(path) ?? this.#begin(path);
        // Nobody waits for what others have waited for in vain.
        if (question?.isLate === true || (question === undefined && this.#allAreLate())) break;
        const answered = question?.answered ?? Promise.race([...this.#open.values()].map((each) => each.answered));
        if ((await Promise.race([answered, patience])) === 'late') {
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

  #allAreLate(): boolean {
    return [...this.#open.values()].every(({ isLate }) => isLate);
  }

  /** Undefined while too many are open. */
  #begin(path: string): Question | undefined {
    if (this.#open.size >= maxOpen) return undefined;
    const answered = this.#ask(path).then(
      (state) => this.#keep(path, state),
      () => void this.#last.delete(path),
    );
    const question: Question = { answered: answered.finally(() => this.#open.delete(path)), isLate: false };
    this.#open.set(path, question);
    return question;
  }

  #keep(path: string, state: FilesystemState): void {
    this.#last.delete(path);
    this.#last.set(path, state);
    const [oldest] = this.#last.keys();
    if (this.#last.size > maxKept && oldest !== undefined) this.#last.delete(oldest);
  }
}
