/** Where backups are: a folder, or a bucket of an S3-compatible store. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import type { DialectName } from '#apimachinery/dialect.js';
import { verifyBackup } from '#cluster/backup/contents.js';
import { outdated } from '#cluster/backup/plan.js';
import { isBucketAddress, RemoteBackups } from '#cluster/backup/remote-backups.js';
import type { s3Options } from '#cluster/backup/s3/options.js';
import { type SavedBackup, saveFrom } from '#cluster/backup/save.js';
import { listBackups } from '#cluster/backup/scheduled.js';
import type { Layout } from '#cluster/config/layout.js';
import type { OptionValues } from '#daemon/options/option.js';
import type { EtcdAccess } from '#etcd-admin/admin.js';

interface PlaceContext {
  readonly values: OptionValues<typeof s3Options>;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
}

export interface SaveToInput extends PlaceContext {
  readonly access: EtcdAccess;
  /** Undefined for a foreign etcd. */
  readonly own: { readonly layout: Layout; readonly dialect: DialectName } | undefined;
  /** A folder, or `s3://BUCKET/PREFIX`. */
  readonly place: string;
}

/** Makes a backup and puts it there; its `folder` is the folder or the address of the bucket. */
export async function saveTo({ access, own, place, ...context }: SaveToInput): Promise<SavedBackup> {
  if (!isBucketAddress(place)) return saveFrom(access, own, resolve(place));
  const remote = new RemoteBackups(place, context.values, context);
  const work = await mkdtemp(join(tmpdir(), 'orch-backup-'));
  try {
    const saved = await saveFrom(access, own, work);
    return { ...saved, folder: await remote.store(saved.folder, basename(saved.folder)) };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

export interface PruneInput extends PlaceContext {
  readonly place: string;
  /** Number of backups that stay. */
  readonly keep: number;
  /** The backup that was made last: in a folder only those of its cluster are removed. */
  readonly saved: SavedBackup;
}

/** Removes old backups, and resolves with their names. A bucket's prefix belongs to one cluster. */
export async function pruneBackups({ place, keep, saved, ...context }: PruneInput): Promise<string[]> {
  if (isBucketAddress(place)) return new RemoteBackups(place, context.values, context).prune(keep);
  const folder = resolve(place);
  const all = await listBackups(folder);
  const own = all.filter(({ manifest }) => manifest.cluster === saved.cluster && manifest.dialect === saved.dialect);
  const names = outdated({ keep, everyMs: 0, to: folder }, own).map(({ name }) => name);
  for (const name of names) await rm(join(folder, name), { recursive: true, force: true });
  return names;
}

export interface FetchInput extends PlaceContext {
  readonly place: string;
  readonly name: string;
  /** Folder for a copy of a backup in a bucket. */
  readonly into: string;
}

/** Resolves with the folder of the verified backup: the copy, or the folder where it is. */
export async function fetchBackup({ place, name, into, ...context }: FetchInput): Promise<string> {
  if (isBucketAddress(place)) return new RemoteBackups(place, context.values, context).fetch(name, into);
  const folder = join(resolve(place), name);
  await verifyBackup(folder);
  return folder;
}
