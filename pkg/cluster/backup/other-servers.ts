/** The other servers of a cluster that is restored from a backup. */
import { connect } from 'node:net';
import type { BackupManifest, SavedMember } from '#cluster/backup/contents.js';
import { etcdMember } from '#cluster/config/etcd-member.js';
import type { ClusterSettings } from '#cluster/config/settings.js';
import { SetupError } from '#cluster/terminal/setup-error.js';

const dialMs = 2_000;

/** Members of etcd except the one of the settings. Pure. */
export function otherServers(
  { members = [] }: Pick<BackupManifest, 'members'>,
  { server }: Pick<ClusterSettings, 'server'>,
): SavedMember[] {
  return members.filter(({ name }) => name !== (server?.name ?? etcdMember));
}

/**
 * The settings of a single server. A restored etcd must not count the votes of the other members, whose data differs. The
 * server may get another address. Pure.
 */
export function singleServerSettings({
  joined: _joined,
  server: _server,
  ...settings
}: ClusterSettings): ClusterSettings {
  return settings;
}

/**
 * Throws a SetupError when another server is running: agents and clients would reach two clusters under the same names, one
 * of them with outdated data. Machines that do not answer count as stopped.
 */
export async function refuseRunningServers(
  others: readonly SavedMember[],
  answers: (url: string) => Promise<boolean> = isListening,
): Promise<void> {
  const results = await Promise.all(
    others.map(async (other) => {
      const urls = await Promise.all(other.clientURLs.map(answers));
      return urls.includes(true) ? [`${other.name} (${other.clientURLs.join(', ')})`] : [];
    }),
  );
  const running = results.flat();
  if (running.length === 0) return;
  throw new SetupError(
    `other servers of the cluster are still running: ${running.join(', ')}. Remove each of them, on its own machine: orch down --delete`,
  );
}

/** Instructions for the other servers, to be followed when the restored server runs; empty for a single server. Pure. */
export function stepsForOthers(others: readonly SavedMember[], dataDir: string): string[] {
  if (others.length === 0) return [];
  return [
    `The cluster had other servers: ${others.map(({ name }) => name).join(', ')}. It has only this one now, and their data is`,
    'outdated. When it runs, create a command for servers here:',
    '',
    `  orch token create --server --data-dir=${dataDir}`,
    '',
    'and run on each of them, with its former name:',
    '',
    '  orch down --delete',
    ...others.map(({ name }) => `  orch join … --server --detach --node-name ${name}`),
  ];
}

function isListening(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port), timeout: dialMs });
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', () => end(false));
  });
}
