/**
 * A backup is a directory that other tools can read as well:
 *
 *     backup.json   what it is of, and when it was made
 *     etcd.db       the store, as `etcdctl snapshot save` writes it
 *     cluster.json  the settings of the cluster, and
 *     pki/…         its keys and certificates; both only of one that `orch up` runs
 *     SHA256SUMS    of all of these: `sha256sum -c SHA256SUMS`
 *
 * It has secrets in it, so only its owner may read it. Its name is given to it when it is whole.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '#apimachinery/errors/message.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';

/** A member of etcd when the backup was made. */
export interface SavedMember {
  readonly name: string;
  readonly clientURLs: readonly string[];
}

export interface BackupManifest {
  readonly kind: 'orch backup';
  readonly format: 1;
  /** Of the program that made it. */
  readonly version: string;
  readonly dialect: string;
  /** ISO 8601. */
  readonly time: string;
  /** All that was written up to this revision is in it. */
  readonly revision: string;
  /** Objects at that revision. */
  readonly objects: number;
  /** Tells the clusters apart: the fingerprint of its certificate authority; empty for a store alone. */
  readonly cluster: string;
  /** Absent in those of older programs. */
  readonly members?: readonly SavedMember[];
}

export const manifestFile = 'backup.json';
export const snapshotFile = 'etcd.db';
export const sumsFile = 'SHA256SUMS';
const maxTextBytes = 1024 * 1024;
const namePattern = /^orch-\d{8}T\d{6}Z(-\d+)?$/;

/** Sorts by time. */
export function backupName(time: Date): string {
  return `orch-${time.toISOString().replace(/[-:]|\.\d+/g, '')}`;
}

/** Names of the backups in a folder, oldest first; none where there is no such folder. */
export async function backupsIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => namePattern.test(name)).sort();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

/** Lower-case hex. */
export async function fileHash(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(file, { highWaterMark: maxTextBytes })) hash.update(piece as Buffer);
  return hash.digest('hex');
}

/** Throws a SetupError for what is no backup. */
export async function readManifest(folder: string): Promise<BackupManifest> {
  const text = await boundedText(join(folder, manifestFile));
  let found: Partial<BackupManifest> | null;
  try {
    found = JSON.parse(text) as Partial<BackupManifest> | null;
  } catch (error) {
    throw new SetupError(`${folder} is no backup: ${manifestFile}: ${messageOf(error)}`);
  }
  const { kind, format, version, dialect, time, revision, objects, cluster, members = [] } = found ?? {};
  const texts = [version, dialect, time, revision, cluster];
  if (kind !== 'orch backup' || !texts.every((each) => typeof each === 'string') || !Number.isSafeInteger(objects)) {
    throw new SetupError(`${folder} is no backup: ${manifestFile} is not of one`);
  }
  if (!Array.isArray(members) || !members.every(isMember))
    throw new SetupError(`${folder} is no backup: ${manifestFile} names members of etcd that are none`);
  if (format !== 1) throw new SetupError(`${folder} has format ${String(format)}; this program knows format 1`);
  return found as BackupManifest;
}

function isMember(value: unknown): value is SavedMember {
  const { name, clientURLs } = (value ?? {}) as Partial<SavedMember>;
  return typeof name === 'string' && Array.isArray(clientURLs) && clientURLs.every((url) => URL.canParse(url));
}

/**
 * Throws a SetupError when a file is missing, torn or another than the one that was written.
 * @returns Paths of its files below the folder.
 */
export async function verifyBackup(folder: string): Promise<string[]> {
  const lines = (await boundedText(join(folder, sumsFile))).split('\n').filter((line) => line !== '');
  const files: string[] = [];
  for (const line of lines) {
    const [, wanted, path] = /^([0-9a-f]{64}) {2}([\w.-]+(?:\/[\w.-]+)*)$/.exec(line) ?? [];
    if (wanted === undefined || path === undefined || path.split('/').includes('..')) {
      throw new SetupError(`${join(folder, sumsFile)} has a line that is none: ${JSON.stringify(line.slice(0, 100))}`);
    }
    const hash = await fileHash(join(folder, path)).catch((error: unknown) => {
      throw new SetupError(`the backup is not whole: ${messageOf(error)}`);
    });
    if (hash !== wanted) throw new SetupError(`${join(folder, path)} is not what was saved: its checksum is another`);
    files.push(path);
  }
  for (const needed of [manifestFile, snapshotFile]) {
    if (!files.includes(needed)) throw new SetupError(`${join(folder, sumsFile)} does not name ${needed}`);
  }
  return files;
}

/** Throws a SetupError when there is no such file, or one that is too large. */
async function boundedText(file: string): Promise<string> {
  try {
    const handle = await open(file);
    try {
      const { size } = await handle.stat();
      if (size > maxTextBytes) throw new Error(`${size} bytes are too many`);
    } finally {
      await handle.close();
    }
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new SetupError(`${file}: ${messageOf(error)}`);
  }
}
