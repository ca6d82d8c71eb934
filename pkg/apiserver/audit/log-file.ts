/**
 * Lines at the end of a file. Several processes may write one file: each write is whole lines, which the system puts at the
 * end, and a file that has become too large is put aside by one of them; the others follow.
 */

import { constants, type Stats } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import { backupName, cleanBackups, type Retention } from '#apiserver/audit/backups.js';
import type { Logger } from '#daemon/log/logger.js';

export interface LogFileOptions {
  readonly path: string;
  /** Before it is put aside. */
  readonly maxBytes: number;
  readonly retention: Retention;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Bytes that wait to be written; what comes on top is lost. */
const maxWaitingBytes = 64 * 1024 * 1024;
/** Until then other processes have seen that the file is another one. */
const cleanUpMs = 5000;

export class LogFile {
  readonly #options: LogFileOptions;
  #file: FileHandle | undefined;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #writing: Promise<void> | undefined;
  /** The write after the one that is under way. */
  #next: Promise<void> | undefined;

  constructor(options: LogFileOptions) {
    this.#options = options;
  }

  /** Resolves when the lines are in the file. Rejects where they are not. */
  append(lines: string): Promise<void> {
    const bytes = Buffer.from(lines);
    if (this.#waitingBytes + bytes.length > maxWaitingBytes) {
      return Promise.reject(new Error(`more than ${maxWaitingBytes} bytes wait for the file ${this.#options.path}`));
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    // What comes while one write is under way goes with the next.
    const next = this.#next ?? (this.#writing ?? Promise.resolve()).catch(() => undefined).then(() => this.#flush());
    this.#next = next;
    return next;
  }

  async close(): Promise<void> {
    // Whoever waits for the lines hears of what failed.
    await this.#next?.catch(() => undefined);
    await this.#writing?.catch(() => undefined);
    await this.#file?.close();
    this.#file = undefined;
  }

  #flush(): Promise<void> {
    this.#next = undefined;
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    const written = this.#write(bytes).finally(() => {
      this.#waitingBytes -= bytes.length;
    });
    this.#writing = written;
    return written;
  }

  async #write(bytes: Buffer): Promise<void> {
    let file = await this.#opened();
    const size = (await file.stat()).size;
    if (size > 0 && size + bytes.length > this.#options.maxBytes) file = await this.#rotated(file);
    for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
  }

  async #opened(): Promise<FileHandle> {
    this.#file ??= await openForLines(this.#options.path);
    return this.#file;
  }

  /** The file to go on with. */
  async #rotated(file: FileHandle): Promise<FileHandle> {
    const { path, clock, log, retention } = this.#options;
    const lock = new LockFile(`${path}.lock`, clock);
    // Another process puts it aside: these lines may still go to the old file.
    if (!(await lock.take())) return file;
    try {
      if (isSame(await present(path), await file.stat())) {
        let atMs = clock.now();
        // Nothing that was put aside is written over.
        while ((await present(backupName(path, atMs))) !== undefined) atMs += 1;
        await rename(path, backupName(path, atMs));
        clock.setTimer(() => {
          cleanBackups(path, retention, clock.now()).catch((err: unknown) =>
            log.warn({ err, path }, 'Cannot remove old audit logs'),
          );
        }, cleanUpMs);
      }
      this.#file = await openForLines(path);
    } finally {
      await lock.leave();
    }
    await file.close();
    return this.#file;
  }
}

async function openForLines(path: string): Promise<FileHandle> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const { O_WRONLY, O_CREAT, O_APPEND } = constants;
  return open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600);
}

async function present(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function isSame(a: Stats | undefined, b: Stats): boolean {
  return a !== undefined && a.ino === b.ino && a.dev === b.dev;
}

/** Its holder has died: none needs it for so long. */
const staleMs = 30_000;

/** A file that one process at a time makes, for what several must not do at once. */
export class LockFile {
  readonly #path: string;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(path: string, clock: Pick<Clock, 'now'>) {
    this.#path = path;
    this.#clock = clock;
  }

  /** False while another process has it; never waits. */
  async take(): Promise<boolean> {
    try {
      await (await open(this.#path, 'wx', 0o600)).close();
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      await this.#removeStale();
      return false;
    }
  }

  leave(): Promise<void> {
    return rm(this.#path, { force: true });
  }

  async #removeStale(): Promise<void> {
    try {
      const { mtimeMs } = await stat(this.#path);
      if (Math.abs(this.#clock.now() - mtimeMs) > staleMs) await this.leave();
    } catch (error) {
      // Its holder has just left it.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}
