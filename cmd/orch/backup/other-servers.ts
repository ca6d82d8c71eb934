/** What a restore has to do with the other servers of the cluster that a backup is of. */
import { connect } from 'node:net';
import type { BackupManifest, SavedMember } from '#cmd/orch/backup/contents.js';
import type { ClusterSettings } from '#cmd/orch/context/settings.js';
import { etcdMember } from '#cmd/orch/process/etcd.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';

const dialMs = 2_000;

/** Members of etcd that were there beside the one of the settings. Pure. */
export function otherServers(
  { members = [] }: Pick<BackupManifest, 'members'>,
  { server }: Pick<ClusterSettings, 'server'>,
): SavedMember[] {
  return members.filter(({ name }) => name !== (server?.name ?? etcdMember));
}

/**
 * Those of a cluster whose only server is the one that is restored: etcd counts the votes of members that it knows, and the
 * others know another past. Its address is free to be another one. Pure.
 */
export function settingsAlone({ joined: _joined, server: _server, ...settings }: ClusterSettings): ClusterSettings {
  return settings;
}

/**
 * Throws a SetupError when one of them runs: agents and clients would find two clusters under the same names, one with what
 * is to be forgotten. Machines that do not answer are not waited for.
 */
export async function refuseRunningServers(
  others: readonly SavedMember[],
  answers: (url: string) => Promise<boolean> = isListening,
): Promise<void> {
  const asked = await Promise.all(
    others.map(async (other) => {
      const urls = await Promise.all(other.clientURLs.map(answers));
      return urls.includes(true) ? [`${other.name} (${other.clientURLs.join(', ')})`] : [];
    }),
  );
  const running = asked.flat();
  if (running.length === 0) return;
  throw new SetupError(
    `other servers of the cluster run still, with what it is to forget: ${running.join(', ')}. Take each of them out, on its own machine: orch down --delete`,
  );
}

/** What is left to do when the restored server runs; empty where it was the only one. Pure. */
export function stepsForOthers(others: readonly SavedMember[], dataDir: string): string[] {
  if (others.length === 0) return [];
  return [
    `The cluster had other servers: ${others.map(({ name }) => name).join(', ')}. It has this one alone now, and what they know is of`,
    'another past. When it runs, make a line for servers here:',
    '',
    `  orch token create --server --data-dir=${dataDir}`,
    '',
    'and on each of them, with its name, which is known already:',
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
