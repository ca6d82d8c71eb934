/** Files that were put aside: `audit.log` becomes `audit-2022-05-03T10-20-30.123.log`, as with 1.24. */
import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, rename, unlink } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

export interface Retention {
  /** Zero: all. */
  readonly maxBackups: number;
  /** Days; zero: for ever. */
  readonly maxAge: number;
  readonly compress: boolean;
}

const dayMs = 24 * 3_600_000;
const packed = '.gz';

export function backupName(path: string, nowMs: number): string {
  const extension = extname(path);
  const stamp = new Date(nowMs).toISOString().slice(0, 23).replaceAll(':', '-');
  return join(dirname(path), `${basename(path, extension)}-${stamp}${extension}`);
}

interface Backup {
  readonly name: string;
  readonly atMs: number;
}

/** Those of the file, the newest first. Pure. */
export function backupsOf(path: string, names: readonly string[]): Backup[] {
  const extension = extname(path);
  const prefix = `${basename(path, extension)}-`;
  const found = names.flatMap((name): Backup[] => {
    const bare = name.endsWith(packed) ? name.slice(0, -packed.length) : name;
    if (!bare.startsWith(prefix) || !bare.endsWith(extension)) return [];
    const stamp = bare.slice(prefix.length, bare.length - extension.length);
    const match = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(stamp);
    if (match === null) return [];
    const atMs = Date.parse(`${match[1]}T${match[2]}:${match[3]}:${match[4]}Z`);
    return Number.isNaN(atMs) ? [] : [{ name, atMs }];
  });
  return found.sort((a, b) => b.atMs - a.atMs);
}

/** Those that are not to be kept. Pure. */
export function expired(backups: readonly Backup[], { maxBackups, maxAge }: Retention, nowMs: number): Backup[] {
  return backups.filter(
    ({ atMs }, i) => (maxBackups > 0 && i >= maxBackups) || (maxAge > 0 && atMs < nowMs - maxAge * dayMs),
  );
}

/** Removes what is not to be kept, and compresses the rest where that is wanted. */
export async function cleanBackups(path: string, retention: Retention, nowMs: number): Promise<void> {
  const directory = dirname(path);
  const backups = backupsOf(path, await readdir(directory));
  const old = new Set(expired(backups, retention, nowMs).map(({ name }) => name));
  for (const name of old) await unlessMissing(unlink(join(directory, name)));
  if (!retention.compress) return;
  for (const { name } of backups) {
    if (!old.has(name) && !name.endsWith(packed)) await unlessMissing(compress(join(directory, name)));
  }
}

async function compress(path: string): Promise<void> {
  const unfinished = `${path}${packed}.tmp`;
  await pipeline(createReadStream(path), createGzip(), createWriteStream(unfinished, { mode: 0o600 }));
  await rename(unfinished, `${path}${packed}`);
  await unlink(path);
}

/** Another thread may have been faster. */
async function unlessMissing(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
