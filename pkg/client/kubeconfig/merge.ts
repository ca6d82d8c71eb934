/** Merges client config files: the first file that sets something takes precedence. Pure. */
import { resolve } from 'node:path';
import type { Cluster, Kubeconfig, NamedUser, User } from '#client/kubeconfig/file.js';

/** Merges the files. An entry comes entirely from the first file that has its name. */
export function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: firstOfEachName(configs.flatMap((config) => config.clusters)),
    users: firstOfEachName(configs.flatMap((config) => config.users)),
    contexts: firstOfEachName(configs.flatMap((config) => config.contexts)),
    'current-context': configs.find((config) => config['current-context'] !== '')?.['current-context'] ?? '',
  };
}

function firstOfEachName<N extends { readonly name: string }>(items: readonly N[]): N[] {
  const names = new Set<string>();
  return items.filter((item) => {
    if (names.has(item.name)) return false;
    names.add(item.name);
    return true;
  });
}

/** The config with absolute paths; each user records its file. */
export function withAbsolutePaths(config: Kubeconfig, directory: string, file?: string): Kubeconfig {
  return {
    ...config,
    clusters: config.clusters.map(({ name, cluster }) => ({ name, cluster: absoluteCluster(cluster, directory) })),
    users: config.users.map(({ name, user }): NamedUser => {
      const absolute = absoluteUser(user, directory);
      return file === undefined ? { name, user: absolute } : { name, user: absolute, file };
    }),
  };
}

function resolvePaths<T extends object>(entry: T, fields: readonly (keyof T & string)[], directory: string): T {
  const copy = { ...entry };
  for (const field of fields) {
    const path: unknown = copy[field];
    if (typeof path === 'string' && path !== '') Object.assign(copy, { [field]: resolve(directory, path) });
  }
  return copy;
}

function absoluteCluster(cluster: Cluster, directory: string): Cluster {
  return resolvePaths(cluster, ['certificate-authority'], directory);
}

function absoluteUser(user: User, directory: string): User {
  const copy = resolvePaths(user, ['client-certificate', 'client-key', 'tokenFile'], directory);
  const { exec } = copy;
  // Names without a slash are looked up in PATH.
  if (typeof exec?.command === 'string' && exec.command.includes('/')) {
    copy.exec = { ...exec, command: resolve(directory, exec.command) };
  }
  return copy;
}
