/** A manager's state in a file, which survives restarts of the agent. */
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from '#daemon/log/logger.js';

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
  #text: (() => string) | undefined;
  #writing: Promise<void> | undefined;

  constructor(path: string, { files, log }: { readonly files: CheckpointFiles; readonly log: Logger }) {
    this.path = path;
    this.#files = files;
    this.#log = log;
  }

  read(): Promise<string | undefined> {
    return this.#files.read(this.path);
  }

  /** Rejects with the file system's error. */
  write(text: string): Promise<void> {
    return this.#files.write(this.path, text);
  }

  /** Resolves once the file has the state of now, or a later one. Failures are only logged, as in 1.24. */
  async save(text: () => string): Promise<void> {
    const running = this.#writing;
    this.#text = text;
    // The write in progress may have read the state too early; all others that wait share the next one.
    await running;
    if (this.#text === undefined) return this.#writing;
    this.#writing = this.#save();
    return this.#writing;
  }

  async #save(): Promise<void> {
    const text = this.#text?.() ?? '';
    this.#text = undefined;
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
    const folder = dirname(path);
    await mkdir(folder, { recursive: true, mode: 0o755 });
    const fresh = join(folder, `.${path.slice(folder.length + 1)}.new`);
    try {
      const file = await open(fresh, 'w', 0o600);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(fresh, path);
    } catch (error) {
      await rm(fresh, { force: true });
      throw error;
    }
  },
};

/** For simulated nodes, whose state ends with the process. */
export const noCheckpoints: CheckpointFiles = {
  read: () => Promise.resolve(undefined),
  write: () => Promise.resolve(),
};
