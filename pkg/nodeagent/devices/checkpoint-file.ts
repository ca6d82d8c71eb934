/** Keeps the checkpoint of devices on disk. */
import { open, readFile, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type DeviceCheckpoint, decodeCheckpoint, encodeCheckpoint } from '#nodeagent/devices/checkpoint.js';

export class CheckpointFile {
  readonly #path: string;
  readonly #current: () => DeviceCheckpoint;
  /** The write in progress, and the one that will follow it. */
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  /** `current`: what a write shall contain when it begins. */
  constructor(path: string, current: () => DeviceCheckpoint) {
    this.#path = path;
    this.#current = current;
  }

  /** Undefined if there is none. Throws if it cannot be read. */
  async read(): Promise<DeviceCheckpoint | undefined> {
    try {
      return decodeCheckpoint(await readFile(this.#path, 'utf8'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Resolves once the state of now is on disk. Calls during a write share the next one. Throws if that fails. */
  write(): Promise<void> {
    this.#next ??= this.#writing
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        this.#writing = this.#replace(encodeCheckpoint(this.#current()));
        return this.#writing;
      });
    return this.#next;
  }

  /** After a crash of the machine, the file is the old or the new one. */
  async #replace(text: string): Promise<void> {
    // 1.24 ignores files with such names.
    const temporary = join(dirname(this.#path), `.${basename(this.#path)}`);
    const file = await open(temporary, 'w', 0o600);
    try {
      await file.writeFile(text);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(temporary, this.#path);
  }
}
