/** Restores store, settings and keys of a cluster from a backup. `orch up` starts it. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import {
  type BackupManifest,
  readManifest,
  type SavedMember,
  snapshotFile,
  verifyBackup,
} from '#cluster/backup/contents.js';
import { otherServers, refuseRunningServers, singleServerSettings } from '#cluster/backup/other-servers.js';
import { etcdMember, etcdPeerURL } from '#cluster/config/etcd-member.js';
import type { Layout } from '#cluster/config/layout.js';
import { readSettings, writeSettings } from '#cluster/config/settings.js';
import { findProgram } from '#cluster/machine/preflight.js';
import { runningProcesses } from '#cluster/process/identity.js';
import { type ProgressSink, step } from '#cluster/terminal/progress.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { verifySnapshot } from '#etcd-admin/snapshot.js';

export interface RestoreOptions {
  /** The backup's folder. */
  readonly from: string;
  readonly layout: Layout;
  /** Replace an existing cluster, and keep its store and keys beside the restored ones. */
  readonly replace: boolean;
  /** PATH for programs. */
  readonly path: string;
  readonly progress: ProgressSink;
}

const restoreMs = 600_000;
/** Suffix of replaced folders. */
const replacedSuffix = '.before-restore';

export interface Restored extends BackupManifest {
  /** Former servers of the cluster. */
  readonly others: readonly SavedMember[];
}

/** Rejects with a SetupError. After an interruption the cluster does not start until a restore has completed. */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { from, layout, progress } = options;
  const manifest = await readManifest(from);
  const files = await step(progress, 'backup verified', async () => {
    const paths = await verifyBackup(from);
    await verifySnapshot(join(from, snapshotFile));
    return paths;
  });
  if (!files.includes('cluster.json')) {
    throw new SetupError(
      `${from} has only a store, without settings and keys; restore an etcd member with: etcdctl snapshot restore ${join(from, snapshotFile)}`,
    );
  }
  const tool = restoreTool(options.path);
  await refuseToOverwrite(options);
  const saved = readSettings(join(from, 'cluster.json'));
  if (saved === undefined) throw new SetupError(`${from} has no settings`);
  const others = otherServers(manifest, saved);
  await refuseRunningServers(others);
  await mkdir(layout.root, { recursive: true, mode: 0o700 });
  await writeFile(layout.restoring, `${from}\n`, { mode: 0o600 });
  const fresh = join(layout.root, 'restored');
  await rm(fresh, { recursive: true, force: true });
  for (const path of files.filter((each) => each.startsWith('pki/'))) {
    const target = join(fresh, path);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await copyFile(join(from, path), target);
  }
  const settings = singleServerSettings(saved);
  await mkdir(fresh, { recursive: true, mode: 0o700 });
  writeSettings(join(fresh, 'cluster.json'), settings);
  await step(progress, 'store restored', () =>
    restoreMember(tool, {
      snapshot: join(from, snapshotFile),
      dataDir: join(fresh, 'etcd'),
      member: etcdMember,
      peerURL: etcdPeerURL(settings.etcdPeerPort),
    }),
  );
  for (const target of [layout.etcd, layout.pki]) await setAside(target);
  await rename(join(fresh, 'pki'), layout.pki);
  await rename(join(fresh, 'etcd'), layout.etcd);
  await rename(join(fresh, 'cluster.json'), layout.settings);
  await rm(fresh, { recursive: true, force: true });
  await rm(layout.restoring);
  return { ...manifest, others };
}

async function refuseToOverwrite({ layout, replace }: RestoreOptions): Promise<void> {
  if ((await runningProcesses(layout.run)).size > 0) {
    throw new SetupError(`the cluster in ${layout.root} is running; stop it with: orch down`);
  }
  const isInterrupted = existsSync(layout.restoring);
  if (existsSync(layout.settings) && !replace && !isInterrupted) {
    throw new SetupError(
      `${layout.root} holds a cluster; give another --data-dir, or --replace, which keeps its store and keys beside the restored ones`,
    );
  }
}

/** Renames a folder. A repeated restore keeps the folder from before the first one, and deletes its own partial result. */
async function setAside(target: string): Promise<void> {
  if (!existsSync(target)) return;
  if (existsSync(`${target}${replacedSuffix}`)) await rm(target, { recursive: true });
  else await rename(target, `${target}${replacedSuffix}`);
}

/** etcd's tool: `etcdutl` since etcd 3.5, `etcdctl` before. Throws a SetupError when both are missing. */
export function restoreTool(path: string): string {
  const tool = findProgram('etcdutl', path) ?? findProgram('etcdctl', path);
  if (tool === undefined) {
    throw new SetupError(
      'restoring a store needs etcdutl or etcdctl; install package etcd-client (name as in Debian 12)',
    );
  }
  return tool;
}

export interface MemberOptions {
  readonly snapshot: string;
  readonly dataDir: string;
  readonly member: string;
  readonly peerURL: string;
  /** `NAME=URL` of all members; default: the only one. */
  readonly members?: readonly string[];
  /** Sets the restored cluster apart from all others with the same members. */
  readonly token?: string;
}

/** Rejects with a SetupError that has the tool's last line. */
export async function restoreMember(tool: string, options: MemberOptions): Promise<void> {
  const { snapshot, dataDir, member, peerURL, members = [`${member}=${peerURL}`], token } = options;
  const args = [
    ...['snapshot', 'restore', snapshot, '--name', member, '--data-dir', dataDir],
    ...['--initial-cluster', members.join(','), '--initial-advertise-peer-urls', peerURL],
    ...(token === undefined ? [] : ['--initial-cluster-token', token]),
  ];
  const env = { ...process.env, ETCDCTL_API: '3' };
  try {
    await promisify(execFile)(tool, args, { env, timeout: restoreMs });
  } catch (error) {
    const message =
      error instanceof Error && 'stderr' in error ? String(error.stderr).trim().split('\n').at(-1) : error;
    throw new SetupError(`${tool} could not restore the store: ${message}`);
  }
}
