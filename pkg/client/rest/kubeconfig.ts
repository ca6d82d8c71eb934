/** Reads and writes the client config file (kind Config, v1) that every client of the API knows. */
import { dirname, resolve } from 'node:path';
import { parse, stringify } from 'yaml';
import type { Clock } from '#apimachinery/clock.js';
import type { ClientConfig } from '#client/rest/client-config.js';
import { FileTls, FileToken, type ReadFile, readFromDisk, staticToken } from '#client/rest/credentials.js';

/** The file is missing, unreadable, or does not say what is asked of it. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
}

interface NamedCluster {
  name: string;
  cluster: {
    server?: string;
    'certificate-authority'?: string;
    'certificate-authority-data'?: string;
    'insecure-skip-tls-verify'?: boolean;
    'tls-server-name'?: string;
  };
}

interface NamedUser {
  name: string;
  user: {
    'client-certificate'?: string;
    'client-certificate-data'?: string;
    'client-key'?: string;
    'client-key-data'?: string;
    token?: string;
    tokenFile?: string;
    username?: string;
    password?: string;
    as?: string;
    'as-uid'?: string;
    'as-groups'?: string[];
    exec?: unknown;
    'auth-provider'?: unknown;
  };
}

interface NamedContext {
  name: string;
  context: { cluster: string; user: string; namespace?: string };
}

export interface Kubeconfig {
  apiVersion: 'v1';
  kind: 'Config';
  clusters: NamedCluster[];
  users: NamedUser[];
  contexts: NamedContext[];
  'current-context': string;
}

export interface LoadOptions {
  readonly clock: Clock;
  /** Absent: the file's current context. */
  readonly context?: string;
  /** Overrides the cluster's server. */
  readonly server?: string;
  readonly readFile?: ReadFile;
}

/** The connection that the file at `path` describes. Relative paths in it are relative to it. Throws KubeconfigError. */
export async function loadKubeconfig(path: string, options: LoadOptions): Promise<ClientConfig> {
  const readFile = options.readFile ?? readFromDisk;
  let text: string;
  try {
    text = (await readFile(path)).toString('utf8');
  } catch (error) {
    throw new KubeconfigError(`cannot read the client config ${path}: ${messageOf(error)}`, { cause: error });
  }
  return clientConfigFrom(parseKubeconfig(text, path), {
    ...options,
    readFile,
    directory: dirname(path),
    source: path,
  });
}

/** The file's content, YAML or JSON. Throws KubeconfigError that names `source`. */
export function parseKubeconfig(text: string, source = 'client config'): Kubeconfig {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw new KubeconfigError(`${source} is neither YAML nor JSON: ${messageOf(error)}`, { cause: error });
  }
  if (!isRecord(value)) throw new KubeconfigError(`${source} is not a client config`);
  const { apiVersion = 'v1', kind = 'Config' } = value;
  if (kind !== 'Config' || apiVersion !== 'v1') {
    throw new KubeconfigError(`${source} is a ${String(apiVersion)} ${String(kind)}, not a v1 Config`);
  }
  const current = value['current-context'] ?? '';
  if (typeof current !== 'string') throw new KubeconfigError(`${source}: current-context is not a string`);
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: named<NamedCluster>(value, 'clusters', 'cluster', source),
    users: named<NamedUser>(value, 'users', 'user', source),
    contexts: named<NamedContext>(value, 'contexts', 'context', source),
    'current-context': current,
  };
}

/** The file's text for a Kubeconfig. */
export function formatKubeconfig(config: Kubeconfig): string {
  return stringify(config);
}

/** A file with one context, whose cluster, user and context carry these names and credentials (PEM inline). */
export function singleContext(options: {
  readonly server: string;
  readonly clusterName: string;
  readonly userName: string;
  readonly ca?: Buffer | string;
  readonly clientCertificate?: Buffer | string;
  readonly clientKey?: Buffer | string;
  readonly token?: string;
  readonly namespace?: string;
}): Kubeconfig {
  const data = (pem: Buffer | string) => Buffer.from(pem).toString('base64');
  const { clusterName, userName, ca, clientCertificate, clientKey, token, namespace } = options;
  const cluster: NamedCluster['cluster'] = { server: options.server };
  if (ca !== undefined) cluster['certificate-authority-data'] = data(ca);
  const user: NamedUser['user'] = {};
  if (clientCertificate !== undefined) user['client-certificate-data'] = data(clientCertificate);
  if (clientKey !== undefined) user['client-key-data'] = data(clientKey);
  if (token !== undefined) user.token = token;
  const name = `${userName}@${clusterName}`;
  const context: NamedContext['context'] = { cluster: clusterName, user: userName };
  if (namespace !== undefined) context.namespace = namespace;
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: clusterName, cluster }],
    users: [{ name: userName, user }],
    contexts: [{ name, context }],
    'current-context': name,
  };
}

/** The connection that a parsed file describes. Throws KubeconfigError. */
export function clientConfigFrom(
  config: Kubeconfig,
  options: LoadOptions & { readonly directory: string; readonly source?: string },
): ClientConfig {
  const { source = 'client config', directory, clock } = options;
  const readFile = options.readFile ?? readFromDisk;
  const wanted = options.context ?? config['current-context'];
  const context = pick(config.contexts, wanted, 'context', source).context;
  const cluster = pick(config.clusters, context.cluster, 'cluster', source).cluster;
  const user =
    context.user === undefined || context.user === '' ? {} : pick(config.users, context.user, 'user', source).user;
  const server = options.server ?? cluster.server;
  if (server === undefined || server === '') {
    throw new KubeconfigError(`${source}: cluster ${JSON.stringify(context.cluster)} has no server`);
  }
  for (const form of ['exec', 'auth-provider', 'username'] as const) {
    if (user[form] !== undefined) {
      throw new KubeconfigError(
        `${source}: user ${JSON.stringify(context.user)} uses "${form}", which is not supported`,
      );
    }
  }
  const at = (file: string | undefined) => (file === undefined || file === '' ? undefined : resolve(directory, file));
  const headers = impersonation(user);
  return {
    server: /^https?:\/\//.test(server) ? server : `https://${server}`,
    namespace: context.namespace ?? 'default',
    tls: new FileTls({
      // Inline data wins over files, as in every other client.
      inline: {
        ca: decode(cluster['certificate-authority-data']),
        cert: decode(user['client-certificate-data']),
        key: decode(user['client-key-data']),
      },
      files: {
        ca: cluster['certificate-authority-data'] === undefined ? at(cluster['certificate-authority']) : undefined,
        cert: user['client-certificate-data'] === undefined ? at(user['client-certificate']) : undefined,
        key: user['client-key-data'] === undefined ? at(user['client-key']) : undefined,
      },
      clock,
      readFile,
    }),
    ...(cluster['tls-server-name'] === undefined ? {} : { serverName: cluster['tls-server-name'] }),
    ...(cluster['insecure-skip-tls-verify'] === true ? { insecureSkipVerify: true } : {}),
    ...tokenOf(user, at(user.tokenFile), clock, readFile),
    ...(headers === undefined ? {} : { headers }),
  };
}

function tokenOf(user: NamedUser['user'], file: string | undefined, clock: Clock, readFile: ReadFile) {
  // The file wins: it is the one that rotates.
  if (file !== undefined) return { token: new FileToken({ path: file, clock, readFile }) };
  return user.token === undefined || user.token === '' ? {} : { token: staticToken(user.token) };
}

function impersonation(user: NamedUser['user']): Record<string, string | string[]> | undefined {
  if (user.as === undefined || user.as === '') return undefined;
  const headers: Record<string, string | string[]> = { 'impersonate-user': user.as };
  if (user['as-uid'] !== undefined) headers['impersonate-uid'] = user['as-uid'];
  if (user['as-groups'] !== undefined) headers['impersonate-group'] = [...user['as-groups']];
  return headers;
}

function named<N>(value: Record<string, unknown>, list: string, part: string, source: string): N[] {
  const items = value[list] ?? [];
  if (!Array.isArray(items)) throw new KubeconfigError(`${source}: ${list} is not a list`);
  for (const item of items) {
    if (!isRecord(item) || typeof item['name'] !== 'string') {
      throw new KubeconfigError(`${source}: an entry of ${list} has no name`);
    }
    // A user without any credential may be written as null.
    item[part] ??= {};
    if (!isRecord(item[part]))
      throw new KubeconfigError(`${source}: ${list} ${JSON.stringify(item['name'])} is malformed`);
  }
  return items as N[];
}

function pick<N extends { name: string }>(items: readonly N[], name: string, what: string, source: string): N {
  if (name === '') throw new KubeconfigError(`${source}: no current context`);
  const found = items.find((item) => item.name === name);
  if (found === undefined) throw new KubeconfigError(`${source}: ${what} ${JSON.stringify(name)} does not exist`);
  return found;
}

function decode(data: string | undefined): Buffer | undefined {
  return data === undefined || data === '' ? undefined : Buffer.from(data, 'base64');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
