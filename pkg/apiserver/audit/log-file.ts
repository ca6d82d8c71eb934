/**
 * Appends lines to a file and rotates it. Several processes may write the same file: each write appends whole lines, one
 * process renames the file when it is too large, and the others then open the new one.
 */

import { constants, createReadStream, createWriteStream, type Stats } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';

export interface LogFileOptions {
  readonly path: string;
  /** A larger file is rotated. */
  readonly maxBytes: number;
  readonly retention: Retention;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Limit of bytes that wait to be written; further lines are lost. */
const maxWaitingBytes = 64 * 1024 * 1024;
/** Delay of the clean-up; by then the other processes have opened the new file. */
const cleanUpMs = 5000;

export class LogFile {
  readonly #options: LogFileOptions;
  #file: FileHandle | undefined;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #writing: Promise<void> | undefined;
  /** The write that follows `#writing`. */
  #next: Promise<void> | undefined;

  constructor(options: LogFileOptions) {
    this.#options = options;
  }

  /** Resolves when the lines are in the file; rejects if they are lost. */
  append(lines: string): Promise<void> {
    const bytes = Buffer.from(lines);
    if (this.#waitingBytes + bytes.length > maxWaitingBytes) {
      return Promise.reject(
        new Error(`more than ${maxWaitingBytes} bytes wait to be written to ${this.#options.path}`),
      );
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    // Lines that arrive during one write are written together by the next.
    const next = this.#next ?? (this.#writing ?? Promise.resolve()).catch(() => undefined).then(() => this.#flush());
    this.#next = next;
    return next;
  }

  async close(): Promise<void> {
    // `append` has reported the failure to its caller.
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
    let file = await this.#openFile();
    const size = (await file.stat()).size;
    if (size > 0 && size + bytes.length > this.#options.maxBytes) file = await this.#rotate(file);
    for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
  }

  async #openFile(): Promise<FileHandle> {
    this.#file ??= await openForLines(this.#options.path);
    return this.#file;
  }

  /** Rotates the file; returns the file to write to. */
  async #rotate(file: FileHandle): Promise<FileHandle> {
    const { path, clock, log, retention } = this.#options;
    const lock = new LockFile(`${path}.lock`, clock);
    // Another process is rotating it: these lines may still go to the old file.
    if (!(await lock.acquire())) return file;
    try {
      if (isSame(await statIfExists(path), await file.stat())) {
        let atMs = clock.now();
        // Do not overwrite an existing backup.
        while ((await statIfExists(backupName(path, atMs))) !== undefined) atMs += 1;
        await rename(path, backupName(path, atMs));
        clock.setTimer(() => {
          cleanBackups(path, retention, clock.now()).catch((err: unknown) =>
            log.warn({ err, path }, 'could not remove old audit logs'),
          );
        }, cleanUpMs);
      }
      this.#file = await openForLines(path);
    } finally {
      await lock.release();
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

async function statIfExists(path: string): Promise<Stats | undefined> {
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

/** A lock of this age is stale: its holder has died. */
const staleMs = 30_000;

/** A lock between processes: a file that only one of them can create. */
export class LockFile {
  readonly #path: string;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(path: string, clock: Pick<Clock, 'now'>) {
    this.#path = path;
    this.#clock = clock;
  }

  /** False while another process holds it; never waits. */
  async acquire(): Promise<boolean> {
    try {
      await (await open(this.#path, 'wx', 0o600)).close();
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      await this.#removeStale();
      return false;
    }
  }

  release(): Promise<void> {
    return rm(this.#path, { force: true });
  }

  async #removeStale(): Promise<void> {
    try {
      const { mtimeMs } = await stat(this.#path);
      if (Math.abs(this.#clock.now() - mtimeMs) > staleMs) await this.release();
    } catch (error) {
      // Its holder has just released it.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}

/** Which rotated files are kept. Like in 1.24, `audit.log` becomes `audit-2022-05-03T10-20-30.123.log`. */
export interface Retention {
  /** Zero: no limit. */
  readonly maxBackups: number;
  /** Days; zero: no limit. */
  readonly maxAge: number;
  readonly compress: boolean;
}

const dayMs = 24 * 3_600_000;
const gzipExtension = '.gz';

export function backupName(path: string, nowMs: number): string {
  const extension = extname(path);
  const stamp = new Date(nowMs).toISOString().slice(0, 23).replaceAll(':', '-');
  return join(dirname(path), `${basename(path, extension)}-${stamp}${extension}`);
}

interface Backup {
  readonly name: string;
  readonly atMs: number;
}

/** The file's backups, newest first. Pure. */
export function backupsOf(path: string, names: readonly string[]): Backup[] {
  const extension = extname(path);
  const prefix = `${basename(path, extension)}-`;
  const backups = names.flatMap((name): Backup[] => {
    const bare = name.endsWith(gzipExtension) ? name.slice(0, -gzipExtension.length) : name;
    if (!bare.startsWith(prefix) || !bare.endsWith(extension)) return [];
    const stamp = bare.slice(prefix.length, bare.length - extension.length);
    const match = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(stamp);
    if (match === null) return [];
    const atMs = Date.parse(`${match[1]}T${match[2]}:${match[3]}:${match[4]}Z`);
    return Number.isNaN(atMs) ? [] : [{ name, atMs }];
  });
  return backups.sort((a, b) => b.atMs - a.atMs);
}

/** The backups to remove. Pure. */
export function expired(backups: readonly Backup[], { maxBackups, maxAge }: Retention, nowMs: number): Backup[] {
  return backups.filter(
    ({ atMs }, i) => (maxBackups > 0 && i >= maxBackups) || (maxAge > 0 && atMs < nowMs - maxAge * dayMs),
  );
}

/** Removes expired backups, and compresses the others if configured. */
async function cleanBackups(path: string, retention: Retention, nowMs: number): Promise<void> {
  const directory = dirname(path);
  const backups = backupsOf(path, await readdir(directory));
  const old = new Set(expired(backups, retention, nowMs).map(({ name }) => name));
  for (const name of old) await ignoreMissing(unlink(join(directory, name)));
  if (!retention.compress) return;
  for (const { name } of backups) {
    if (!old.has(name) && !name.endsWith(gzipExtension)) await ignoreMissing(compress(join(directory, name)));
  }
}

async function compress(path: string): Promise<void> {
  const unfinished = `${path}${gzipExtension}.tmp`;
  await pipeline(createReadStream(path), createGzip(), createWriteStream(unfinished, { mode: 0o600 }));
  await rename(unfinished, `${path}${gzipExtension}`);
  await unlink(path);
}

/** Ignores a missing file: another process may have removed it. */
async function ignoreMissing(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
