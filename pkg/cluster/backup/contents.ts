/**
 * A backup is a directory that other tools can read too:
 *
 *     backup.json   the manifest
 *     etcd.db       the store, in the format of `etcdctl snapshot save`
 *     cluster.json  the settings of the cluster, and
 *     pki/…         its keys and certificates; both only for a cluster of `orch up`
 *     SHA256SUMS    checksums of all these files: `sha256sum -c SHA256SUMS`
 *
 * It contains secrets, so only its owner may read it. It gets its final name when it is complete.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, open, readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '#apimachinery/errors/message.js';
import { SetupError } from '#cluster/terminal/setup-error.js';

/** A member of etcd at the time of the backup. */
export interface SavedMember {
  readonly name: string;
  readonly clientURLs: readonly string[];
}

export interface BackupManifest {
  readonly kind: 'orch backup';
  readonly format: 1;
  /** Version of the program that made the backup. */
  readonly version: string;
  readonly dialect: string;
  /** ISO 8601. */
  readonly time: string;
  /** The backup contains at least this revision. */
  readonly revision: string;
  /** Objects at that revision. */
  readonly objects: number;
  /** Identifies the cluster: the fingerprint of its certificate authority; empty for a foreign etcd. */
  readonly cluster: string;
  /** Absent in backups of older releases. */
  readonly members?: readonly SavedMember[];
}

export const manifestFile = 'backup.json';
export const snapshotFile = 'etcd.db';
export const sumsFile = 'SHA256SUMS';
const maxTextBytes = 1024 * 1024;
/** Members of an etcd, each of which a restore tries to reach; etcd recommends seven. */
const maxMembers = 64;
const namePattern = /^orch-\d{8}T\d{6}Z(-\d+)?$/;

/** Names sort by time. */
export function backupName(time: Date): string {
  return `orch-${time.toISOString().replace(/[-:]|\.\d+/g, '')}`;
}

export function isBackupName(name: string): boolean {
  return namePattern.test(name);
}

/** Names of the backups in a folder, oldest first; none for a missing folder. */
export async function backupsIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter(isBackupName).sort();
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

/** Throws a SetupError for a folder that is no backup. */
export async function readManifest(folder: string): Promise<BackupManifest> {
  const text = await boundedText(folder, manifestFile);
  let manifest: Partial<BackupManifest> | null;
  try {
    manifest = JSON.parse(text) as Partial<BackupManifest> | null;
  } catch (error) {
    throw new SetupError(`${folder} is no backup: ${manifestFile}: ${messageOf(error)}`);
  }
  const { kind, format, version, dialect, time, revision, objects, cluster, members = [] } = manifest ?? {};
  const texts = [version, dialect, time, revision, cluster];
  if (kind !== 'orch backup' || !texts.every((each) => typeof each === 'string') || !Number.isSafeInteger(objects)) {
    throw new SetupError(`${folder} is no backup: ${manifestFile} lacks fields`);
  }
  if (!Array.isArray(members) || members.length > maxMembers || !members.every(isMember))
    throw new SetupError(`${folder} is no backup: ${manifestFile} has malformed etcd members`);
  if (format !== 1) throw new SetupError(`${folder} has format ${String(format)}; this program knows format 1`);
  return manifest as BackupManifest;
}

function isMember(value: unknown): value is SavedMember {
  const { name, clientURLs } = (value ?? {}) as Partial<SavedMember>;
  return typeof name === 'string' && Array.isArray(clientURLs) && clientURLs.every((url) => URL.canParse(url));
}

/**
 * Throws a SetupError when a file is missing or differs from its checksum.
 * @returns Paths of the files below the folder.
 */
export async function verifyBackup(folder: string): Promise<string[]> {
  const lines = (await boundedText(folder, sumsFile)).split('\n').filter((line) => line !== '');
  const files = new Set<string>();
  for (const line of lines) {
    const [, checksum, path] = /^([0-9a-f]{64}) {2}([\w.-]+(?:\/[\w.-]+)*)$/.exec(line) ?? [];
    if (checksum === undefined || path === undefined || path.split('/').includes('..')) {
      throw new SetupError(`${join(folder, sumsFile)} has a malformed line: ${JSON.stringify(line.slice(0, 100))}`);
    }
    // The store may be large, so that a thousand lines about it would take a day.
    if (files.has(path)) throw new SetupError(`${join(folder, sumsFile)} lists ${path} twice`);
    const hash = await ownFile(folder, path)
      .then(fileHash)
      .catch((error: unknown) => {
        throw new SetupError(`the backup is incomplete: ${messageOf(error)}`);
      });
    if (hash !== checksum) throw new SetupError(`${join(folder, path)} does not match its checksum`);
    files.add(path);
  }
  for (const required of [manifestFile, snapshotFile]) {
    if (!files.has(required)) throw new SetupError(`${join(folder, sumsFile)} does not list ${required}`);
  }
  return [...files];
}

/**
 * A file of the backup itself. Backups come from elsewhere: a link would copy other files of the machine among the keys of the
 * cluster, and a pipe never ends.
 */
async function ownFile(folder: string, path: string): Promise<string> {
  const file = join(folder, path);
  const stat = await lstat(file);
  if (!stat.isFile() || (await realpath(file)) !== join(await realpath(folder), path))
    throw new Error(`${file} is no regular file of the backup`);
  return file;
}

/** Throws a SetupError for a missing file, or for one that is too large. */
async function boundedText(folder: string, path: string): Promise<string> {
  try {
    const handle = await open(await ownFile(folder, path));
    try {
      const { size } = await handle.stat();
      if (size > maxTextBytes) throw new Error(`expected at most ${maxTextBytes} bytes, got ${size}`);
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw new SetupError(`${join(folder, path)}: ${messageOf(error)}`);
  }
}
