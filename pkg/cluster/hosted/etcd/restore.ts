/** Restores the store of a control plane in a cluster: its programs stop, and each member's volume gets the backup. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { deployments, statefulsets } from '#api/apps/v1/resources.gen.js';
import { pods as podType } from '#api/core/v1/resources.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import { snapshotFile } from '#cluster/backup/contents.js';
import { restoreMember, restoreTool } from '#cluster/backup/restore.js';
import { setAside } from '#cluster/hosted/etcd/enter.js';
import { type EtcdPods, numbersBelow } from '#cluster/hosted/etcd/pods.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { verifySnapshot } from '#etcd-admin/snapshot.js';

export interface StopInput {
  readonly set: string;
  readonly deployments: readonly string[];
  /** Selects the pods of all of them. */
  readonly selector: string;
  /** Annotation of the StatefulSet that names the backup that was restored last. */
  readonly annotation: string;
  readonly backup: string;
}

export interface StopContext {
  readonly client: Client;
  readonly namespace: string;
  readonly clock: Clock;
  readonly say: (line: string) => void;
}

const pauseMs = 1000;
const stopMs = 300_000;

/** Stops the programs and etcd, unless this backup was restored before. Rejects with a SetupError after five minutes. */
export async function stopForRestore(input: StopInput, { client, namespace, clock, say }: StopContext): Promise<void> {
  const { set, annotation, backup, selector } = input;
  const existing = await orNothing(client.resource(statefulsets).get(set, { namespace }));
  if (existing === undefined)
    throw new SetupError(`there is no StatefulSet ${set}: install the chart first, then restore`);
  if (existing.metadata.annotations?.[annotation] === backup) {
    say(`${backup} was restored before: nothing stops`);
    return;
  }
  for (const name of input.deployments) {
    await scaleToNone(async () => {
      const deployment = await orNothing(client.resource(deployments).get(name, { namespace }));
      if (deployment === undefined) return;
      await client.resource(deployments).update({ ...deployment, spec: { ...deployment.spec, replicas: 0 } });
    });
  }
  await scaleToNone(async () => {
    const current = await client.resource(statefulsets).get(set, { namespace });
    await client.resource(statefulsets).update({ ...current, spec: { ...current.spec, replicas: 0 } });
  });
  const deadline = clock.monotonic() + stopMs;
  for (let last = ''; ; ) {
    const { items } = await client.resource(podType).list({ namespace, labelSelector: selector });
    if (items.length === 0) break;
    const names = items.map(({ metadata }) => metadata.name).join(', ');
    if (clock.monotonic() > deadline) throw new SetupError(`still running: ${names}`);
    if (names !== last) say(`waiting for the end of ${names}`);
    last = names;
    await clock.sleep(pauseMs);
  }
  say('the control plane has stopped');
}

async function scaleToNone(attempt: () => Promise<void>): Promise<void> {
  for (let again = 5; ; again--) {
    try {
      return await attempt();
    } catch (error) {
      if (!isConflict(error) || again === 0) throw error;
    }
  }
}

async function orNothing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

export interface RestoreMemberInput {
  readonly pods: EtcdPods;
  readonly ordinal: number;
  readonly dataDir: string;
  /** Name of the backup; one that the volume already has is not restored again. */
  readonly backup: string;
  /** PATH for etcd's tool. */
  readonly path: string;
  /** Resolves with the folder of the verified backup. */
  readonly fetch: (into: string) => Promise<string>;
  readonly say: (line: string) => void;
}

/** Rejects with a SetupError. An interrupted restore leaves the old data, or the new. */
export async function restoreVolume(input: RestoreMemberInput): Promise<void> {
  const { backup, dataDir, ordinal, pods, say } = input;
  const volume = dirname(dataDir);
  const marker = join(volume, 'restored-backup');
  if (existsSync(marker) && readFileSync(marker, 'utf8').trim() === backup) {
    say(`the volume has ${backup} already`);
    return;
  }
  const tool = restoreTool(input.path);
  const copies = join(volume, 'restore');
  const fresh = join(volume, 'restore-data');
  for (const folder of [copies, fresh]) rmSync(folder, { recursive: true, force: true });
  const snapshot = join(await input.fetch(copies), snapshotFile);
  await verifySnapshot(snapshot);
  await restoreMember(tool, {
    snapshot,
    dataDir: fresh,
    member: pods.name(ordinal),
    peerURL: pods.peerURL(ordinal),
    members: numbersBelow(pods.replicas).map((number) => `${pods.name(number)}=${pods.peerURL(number)}`),
    token: backup,
  });
  setAside(dataDir, '.before-restore');
  renameSync(fresh, dataDir);
  writeFileSync(marker, `${backup}\n`);
  rmSync(copies, { recursive: true, force: true });
  say(`${pods.name(ordinal)} has the store of ${backup}`);
}
