/** Makes a backup of a running cluster. */
import { chmod, copyFile, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import { type DialectName, orchDialect } from '#apimachinery/dialect.js';
import {
  type BackupManifest,
  backupName,
  backupsIn,
  fileHash,
  manifestFile,
  type SavedMember,
  snapshotFile,
  sumsFile,
} from '#cluster/backup/contents.js';
import type { Layout } from '#cluster/config/layout.js';
import { openStore } from '#cluster/etcd/access.js';
import type { EtcdAccess, EtcdAdmin } from '#etcd-admin/admin.js';
import { writeSnapshot } from '#etcd-admin/snapshot.js';
import type { Store } from '#storage/store.js';

export interface SaveOptions {
  /** Folder in which the backup's folder is created. */
  readonly to: string;
  /** Settings and keys to save; undefined for a foreign etcd. */
  readonly layout: Layout | undefined;
  readonly version: string;
  readonly dialect: string;
  readonly clock: Clock;
  readonly store: Pick<Store, 'range'>;
  readonly snapshot: () => AsyncIterable<Buffer>;
  readonly members: () => Promise<readonly SavedMember[]>;
}

export interface SavedBackup extends BackupManifest {
  readonly folder: string;
  readonly bytes: number;
}

/** The keys of all objects. */
const everything = { start: '/registry/', end: '/registry0' };

/**
 * Saves an etcd, with the settings and keys of its cluster when that runs on this machine. Rejects with the errors of etcd
 * and of the file system.
 */
export async function saveFrom(
  access: EtcdAccess,
  own: { readonly layout: Layout; readonly dialect: DialectName } | undefined,
  to: string,
): Promise<SavedBackup> {
  const store = openStore(access);
  const { EtcdAdmin: Admin } = await import('#etcd-admin/admin.js');
  const admin = new Admin({ ...access, endpoints: await answering(new Admin(access), access.endpoints) });
  try {
    return await saveBackup({
      to,
      layout: own?.layout,
      version: orchDialect.version,
      dialect: own?.dialect ?? '',
      clock: access.clock,
      store,
      snapshot: () => admin.snapshot(),
      members: () => admin.members(),
    });
  } finally {
    admin.close();
    await store.close();
  }
}

/** Members that answer, since a snapshot comes from one of them; all where none does, so that the failure says why. */
async function answering(admin: EtcdAdmin, endpoints: readonly string[]): Promise<readonly string[]> {
  try {
    const looks = await Promise.allSettled(endpoints.map((endpoint) => admin.status(endpoint)));
    const up = endpoints.filter((_, at) => looks[at]?.status === 'fulfilled');
    return up.length === 0 ? endpoints : up;
  } finally {
    admin.close();
  }
}

/** Rejects with the file system's errors, SnapshotError, and etcd's errors, and leaves no files then. */
export async function saveBackup(options: SaveOptions): Promise<SavedBackup> {
  const { to, clock, layout, store } = options;
  await mkdir(to, { recursive: true, mode: 0o700 });
  const time = new Date(clock.now());
  const folder = join(to, await freeName(to, backupName(time)));
  const partial = `${folder}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { mode: 0o700 });
  try {
    // Read before the snapshot, so that the snapshot contains this revision.
    const { revision, count } = await store.range({ ...everything, limit: 1, keysOnly: true });
    const bytes = await writeSnapshot(join(partial, snapshotFile), options.snapshot());
    const manifest: BackupManifest = {
      kind: 'orch backup',
      format: 1,
      version: options.version,
      dialect: options.dialect,
      time: time.toISOString(),
      revision: String(revision),
      objects: count,
      cluster: layout === undefined ? '' : await clusterFingerprint(layout),
      members: (await options.members()).map(({ name, clientURLs }) => ({ name, clientURLs })),
    };
    await writeFile(join(partial, manifestFile), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 });
    if (layout !== undefined) await copySettings(layout, partial);
    await writeSums(partial);
    await rename(partial, folder);
    await syncFolder(to);
    return { ...manifest, folder, bytes };
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
}

/** Identifies a cluster. Rejects with the file system's errors. */
export async function clusterFingerprint(layout: Layout): Promise<string> {
  return fileHash(join(layout.pki, 'ca.crt'));
}

async function freeName(to: string, name: string): Promise<string> {
  const existing = new Set(await backupsIn(to));
  let free = name;
  for (let number = 2; existing.has(free); number++) free = `${name}-${number}`;
  return free;
}

async function copySettings(layout: Layout, folder: string): Promise<void> {
  const copy = async (from: string, path: string) => {
    const target = join(folder, path);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await copyFile(from, target);
    await chmod(target, 0o600);
  };
  await copy(layout.settings, 'cluster.json');
  for (const path of await filesBelow(layout.pki)) await copy(join(layout.pki, path), join('pki', path));
}

/** Relative paths, sorted. */
async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

async function writeSums(folder: string): Promise<void> {
  const lines: string[] = [];
  for (const path of await filesBelow(folder)) lines.push(`${await fileHash(join(folder, path))}  ${path}\n`);
  const handle = await open(join(folder, sumsFile), 'wx', 0o600);
  try {
    await handle.writeFile(lines.join(''));
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes a rename survive a power failure. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
