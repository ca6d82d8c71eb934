/** A manager's state in a file, which survives restarts of the agent. */
import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Logger } from '#daemon/log/logger.js';
import { writeFileAtomic } from '#pki/file-store.js';

/** Where checkpoints are. */
export interface CheckpointFiles {
  /** Undefined if there is no such file. */
  read(path: string): Promise<string | undefined>;
  /** The file has the whole text, or its old one, whatever happens. */
  write(path: string, text: string): Promise<void>;
}

export class CheckpointFile {
  readonly path: string;
  readonly #files: CheckpointFiles;
  readonly #log: Logger;
  /** The write in progress, and the one that will follow it. */
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(path: string, { files, log }: { readonly files: CheckpointFiles; readonly log: Logger }) {
    this.path = path;
    this.#files = files;
    this.#log = log;
  }

  read(): Promise<string | undefined> {
    return this.#files.read(this.path);
  }

  /**
   * Resolves once the file has the state of now, or a later one. `text` is called when the write begins; calls during a
   * write share the next one. Rejects with the file system's error.
   */
  write(text: () => string): Promise<void> {
    this.#next ??= this.#writing
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        this.#writing = this.#files.write(this.path, text());
        return this.#writing;
      });
    return this.#next;
  }

  /** As `write`, but failures are only logged, as in 1.24. */
  async save(text: () => string): Promise<void> {
    try {
      await this.write(text);
    } catch (error) {
      this.#log.error({ err: error, path: this.path }, 'store state to checkpoint error');
    }
  }
}

/** Files on disk. */
export const diskCheckpoints: CheckpointFiles = {
  async read(path) {
    try {
      return await readFile(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  },

  async write(path, text) {
    await mkdir(dirname(path), { recursive: true, mode: 0o755 });
    await writeFileAtomic(path, text, 0o600);
  },
};

/** For simulated nodes, whose state ends with the process. */
export const noCheckpoints: CheckpointFiles = {
  read: () => Promise.resolve(undefined),
  write: () => Promise.resolve(),
};
