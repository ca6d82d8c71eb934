/** Restores a backup into the volume of one member of a control plane's own etcd, which does not run. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { snapshotFile } from '#cluster/backup/contents.js';
import { restoreMember, restoreTool } from '#cluster/backup/restore.js';
import { keepData } from '#cluster/hosted/etcd/kept-data.js';
import { type EtcdPods, numbersBelow } from '#cluster/hosted/etcd/pods.js';
import { verifySnapshot } from '#etcd-admin/snapshot.js';

export interface RestoreMemberInput {
  readonly pods: EtcdPods;
  readonly ordinal: number;
  readonly dataDir: string;
  readonly backup: string;
  /** Identifies the restore: a volume that has its result is left as it is. */
  readonly attempt: string;
  /** Folder for a copy of the backup. */
  readonly work: string;
  /** PATH for etcd's tool. */
  readonly path: string;
  /** Resolves with the folder of the verified backup. */
  readonly fetch: (into: string) => Promise<string>;
  readonly say: (line: string) => void;
}

/** Puts the data in place, and keeps the data from before beside it. Rejects with a SetupError. It may be repeated. */
export async function restoreVolume(input: RestoreMemberInput): Promise<void> {
  const { attempt, backup, dataDir, ordinal, pods, say } = input;
  const volume = dirname(dataDir);
  const marker = join(volume, 'restored-backup');
  if (existsSync(marker) && readFileSync(marker, 'utf8').trim() === attempt) {
    say(`the volume has ${backup} already`);
    return;
  }
  const tool = restoreTool(input.path);
  const fresh = join(volume, 'restore-data');
  rmSync(fresh, { recursive: true, force: true });
  const snapshot = join(await input.fetch(input.work), snapshotFile);
  await verifySnapshot(snapshot);
  await restoreMember(tool, {
    snapshot,
    dataDir: fresh,
    member: pods.name(ordinal),
    peerURL: pods.peerURL(ordinal),
    members: numbersBelow(pods.replicas).map((number) => `${pods.name(number)}=${pods.peerURL(number)}`),
    token: attempt,
  });
  keepData(dataDir, attempt);
  renameSync(fresh, dataDir);
  writeFileSync(marker, `${attempt}\n`);
  say(`${pods.name(ordinal)} has the store of ${backup}`);
}
