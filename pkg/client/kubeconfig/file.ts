/**
 * The client config file (kind Config, v1): types, parser and writer. Not a library's, since those come with an API
 * client and an HTTP stack of their own.
 */
import { encodeYAML, readYAML } from '#apimachinery/codec/yaml.js';
import { messageOf } from '#apimachinery/errors/message.js';

/** The file is missing, unreadable or invalid. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
}

export interface Cluster {
  server?: string;
  'certificate-authority'?: string;
  'certificate-authority-data'?: string;
  'insecure-skip-tls-verify'?: boolean;
  'tls-server-name'?: string;
  'proxy-url'?: string;
  'disable-compression'?: boolean;
  /** Data for programs, by name. */
  extensions?: { name: string; extension?: unknown }[];
}

export interface User {
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
  'as-user-extra'?: Record<string, string[]>;
  exec?: ExecEntry;
  'auth-provider'?: { name: string; config?: Record<string, string> | null };
}

/** A program that returns credentials. */
export interface ExecEntry {
  apiVersion: string;
  command: string;
  args?: string[] | null;
  env?: { name: string; value: string }[] | null;
  /** Shown if the program is missing. */
  installHint?: string;
  provideClusterInfo?: boolean;
  interactiveMode?: string;
}

export interface NamedCluster {
  name: string;
  cluster: Cluster;
}

export interface NamedUser {
  name: string;
  user: User;
  /** The file it was read from, where renewed tokens are written. */
  file?: string;
}

export interface NamedContext {
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

/** Parses YAML or JSON; an empty file is an empty config. Throws KubeconfigError that names `source`. */
export function parseKubeconfig(text: string, source = 'client config'): Kubeconfig {
  let value: unknown;
  try {
    // As in 1.24, the last of duplicate fields counts.
    value = readYAML(text).value ?? {};
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
    clusters: namedEntries<NamedCluster>(value, 'clusters', 'cluster', source),
    users: namedEntries<NamedUser>(value, 'users', 'user', source),
    contexts: namedEntries<NamedContext>(value, 'contexts', 'context', source),
    'current-context': current,
  };
}

/** Serializes a Kubeconfig. */
export function formatKubeconfig(config: Kubeconfig): string {
  return encodeYAML(config).toString();
}

/** Paths of files that may be replaced, and are then read again. */
export interface CredentialFiles {
  readonly 'certificate-authority': string;
  readonly 'client-certificate': string;
  readonly 'client-key': string;
}

/** A file with one context; cluster, user and context get these names and credentials (inline PEM or files). */
export function singleContext(options: {
  readonly server: string;
  readonly clusterName: string;
  readonly userName: string;
  readonly ca?: Buffer | string;
  /** Path, instead of `ca`. */
  readonly caFile?: string;
  readonly clientCertificate?: Buffer | string;
  readonly clientKey?: Buffer | string;
  readonly files?: CredentialFiles;
  readonly token?: string;
  readonly namespace?: string;
}): Kubeconfig {
  const data = (pem: Buffer | string) => Buffer.from(pem).toString('base64');
  const { clusterName, userName, ca, caFile, clientCertificate, clientKey, files, token, namespace } = options;
  const cluster: Cluster = { server: options.server };
  if (ca !== undefined) cluster['certificate-authority-data'] = data(ca);
  if (caFile !== undefined) cluster['certificate-authority'] = caFile;
  const user: User = {};
  if (clientCertificate !== undefined) user['client-certificate-data'] = data(clientCertificate);
  if (clientKey !== undefined) user['client-key-data'] = data(clientKey);
  if (files !== undefined) {
    cluster['certificate-authority'] = files['certificate-authority'];
    user['client-certificate'] = files['client-certificate'];
    user['client-key'] = files['client-key'];
  }
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

function namedEntries<N>(value: Record<string, unknown>, list: string, part: string, source: string): N[] {
  const items = value[list] ?? [];
  if (!Array.isArray(items)) throw new KubeconfigError(`${source}: ${list} is not a list`);
  for (const item of items) {
    if (!isRecord(item) || typeof item['name'] !== 'string') {
      throw new KubeconfigError(`${source}: an entry of ${list} has no name`);
    }
    // A user without credentials may be written as null.
    item[part] ??= {};
    const entry = item[part];
    const where = `${source}: ${list} ${JSON.stringify(item['name'])}`;
    if (!isRecord(entry)) throw new KubeconfigError(`${where} is malformed`);
    checkFields(entry, part, where);
  }
  return items as N[];
}

type FieldType = 'string' | 'boolean' | 'strings' | 'object' | 'list';

/** Types of the fields that are read; other fields belong to other programs. */
const fieldTypes: Readonly<Record<string, Readonly<Record<string, FieldType>>>> = {
  cluster: {
    server: 'string',
    'certificate-authority': 'string',
    'certificate-authority-data': 'string',
    'insecure-skip-tls-verify': 'boolean',
    'tls-server-name': 'string',
    'proxy-url': 'string',
    'disable-compression': 'boolean',
    extensions: 'list',
  },
  user: {
    'client-certificate': 'string',
    'client-certificate-data': 'string',
    'client-key': 'string',
    'client-key-data': 'string',
    token: 'string',
    tokenFile: 'string',
    username: 'string',
    password: 'string',
    as: 'string',
    'as-uid': 'string',
    'as-groups': 'strings',
    'as-user-extra': 'object',
    exec: 'object',
    'auth-provider': 'object',
  },
  context: { cluster: 'string', user: 'string', namespace: 'string' },
};

/** Null fields count as absent. */
function checkFields(entry: Record<string, unknown>, part: string, where: string): void {
  for (const [field, type] of Object.entries(fieldTypes[part] ?? {})) {
    if (entry[field] === null) delete entry[field];
    const value = entry[field];
    if (value !== undefined && !hasType(type, value)) throw new KubeconfigError(`${where}: ${field} is not a ${type}`);
  }
}

function hasType(type: FieldType, value: unknown): boolean {
  if (type === 'strings') return Array.isArray(value) && value.every((item) => typeof item === 'string');
  if (type === 'list') return Array.isArray(value);
  return type === 'object' ? isRecord(value) : typeof value === type;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The field's inline data, else the path of its file; data takes precedence, as in other clients. */
export function inlineOrFile<E extends Cluster | User>(
  entry: E,
  field: 'certificate-authority' | 'client-certificate' | 'client-key',
): { readonly inline: Buffer | undefined; readonly file: string | undefined } {
  const fields = entry as Readonly<Record<string, unknown>>;
  const data = fields[`${field}-data`];
  const path = fields[field];
  if (typeof data === 'string' && data !== '') return { inline: Buffer.from(data, 'base64'), file: undefined };
  return { inline: undefined, file: typeof path === 'string' && path !== '' ? path : undefined };
}
