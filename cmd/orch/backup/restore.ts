/** Makes a cluster of a backup: its store, its settings and its keys, to be started by `orch up`. */
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
} from '#cmd/orch/backup/contents.js';
import { otherServers, refuseRunningServers, settingsAlone } from '#cmd/orch/backup/other-servers.js';
import type { Layout } from '#cmd/orch/context/layout.js';
import { readSettings, writeSettings } from '#cmd/orch/context/settings.js';
import { etcdMember, etcdPeerURL } from '#cmd/orch/process/etcd.js';
import { findProgram } from '#cmd/orch/process/find-program.js';
import { runningProcesses } from '#cmd/orch/process/identity.js';
import { type ProgressSink, step } from '#cmd/orch/terminal/progress.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { verifySnapshot } from '#etcd-admin/snapshot.js';

export interface RestoreOptions {
  /** The backup's folder. */
  readonly from: string;
  readonly layout: Layout;
  /** A cluster that is there already makes way: its store and keys are kept beside the new ones. */
  readonly replace: boolean;
  /** Where programs are looked for. */
  readonly path: string;
  readonly progress: ProgressSink;
}

const restoreMs = 600_000;
/** What is set aside gets this at the end of its name. */
const aside = '.before-restore';

export interface Restored extends BackupManifest {
  /** Servers that the cluster had besides, and has no more. */
  readonly others: readonly SavedMember[];
}

/**
 * Throws SetupErrors. One that was interrupted is begun anew by the next call; until then the cluster does not start.
 */
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
      `${from} has a store alone, without settings and keys: \`etcdctl snapshot restore ${join(from, snapshotFile)}\` makes a member of it`,
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
  const settings = settingsAlone(saved);
  await mkdir(fresh, { recursive: true, mode: 0o700 });
  writeSettings(join(fresh, 'cluster.json'), settings);
  await step(progress, 'store restored', () =>
    makeMember(tool, {
      snapshot: join(from, snapshotFile),
      dataDir: join(fresh, 'etcd'),
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
    throw new SetupError(`the cluster in ${layout.root} runs: stop it first, with orch down`);
  }
  const isInterrupted = existsSync(layout.restoring);
  if (existsSync(layout.settings) && !replace && !isInterrupted) {
    throw new SetupError(
      `${layout.root} holds a cluster: give another --data-dir, or --replace, which keeps its store and keys beside the restored ones`,
    );
  }
}

/** Of several restores the one before the first counts: a second try must not put its own half aside for it. */
async function setAside(target: string): Promise<void> {
  if (!existsSync(target)) return;
  if (existsSync(`${target}${aside}`)) await rm(target, { recursive: true });
  else await rename(target, `${target}${aside}`);
}

/** etcd's own tool: `etcdutl` since etcd 3.5, `etcdctl` before. Throws a SetupError when there is neither. */
function restoreTool(path: string): string {
  const tool = findProgram('etcdutl', path) ?? findProgram('etcdctl', path);
  if (tool === undefined) {
    throw new SetupError('etcdutl or etcdctl is needed to restore a store (package etcd-client in Debian 12)');
  }
  return tool;
}

interface MemberOptions {
  readonly snapshot: string;
  readonly dataDir: string;
  readonly peerURL: string;
}

async function makeMember(tool: string, { snapshot, dataDir, peerURL }: MemberOptions): Promise<void> {
  const args = [
    ...['snapshot', 'restore', snapshot, '--name', etcdMember, '--data-dir', dataDir],
    ...['--initial-cluster', `${etcdMember}=${peerURL}`, '--initial-advertise-peer-urls', peerURL],
  ];
  const env = { ...process.env, ETCDCTL_API: '3' };
  try {
    await promisify(execFile)(tool, args, { env, timeout: restoreMs });
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim().split('\n').at(-1) : error;
    throw new SetupError(`${tool} could not restore the store: ${said}`);
  }
}
