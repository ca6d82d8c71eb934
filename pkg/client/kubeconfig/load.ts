/** Creates a connection from client config files. */
import { dirname } from 'node:path';
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { PluginRunner } from '#client/kubeconfig/exec-plugin.js';
import {
  type Cluster,
  inlineOrFile,
  type Kubeconfig,
  KubeconfigError,
  parseKubeconfig,
  type User,
} from '#client/kubeconfig/file.js';
import { mergeKubeconfigs, withAbsolutePaths } from '#client/kubeconfig/merge.js';
import { credentialsOf } from '#client/kubeconfig/user-credentials.js';
import type { ClientConfig } from '#client/rest/client-config.js';
import { type ReadFile, readFromDisk } from '#daemon/certificates/certificate-files.js';
import { holdCertificate } from '#daemon/certificates/expirations.js';
import { FileTls } from '#http/client/credentials.js';
import { isLoopback, parseProxy, proxyFromEnvironment } from '#http/client/proxy.js';

export interface LoadOptions {
  readonly clock: Clock;
  /** Absent: the current context. */
  readonly context?: string;
  /** Overrides the cluster's server. */
  readonly server?: string;
  /** Override the names in the context. */
  readonly cluster?: string;
  readonly user?: string;
  /** Override fields of the entries. */
  readonly clusterFields?: Cluster;
  readonly userFields?: User;
  readonly readFile?: ReadFile;
  /** Environment of the process, for proxies and credential plugins. Absent: empty. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Runs credential plugins; absent: as child processes without user input. */
  readonly plugins?: PluginRunner;
  /** For metrics of credential plugins and of the client certificate's expiry. */
  readonly metrics?: Registry;
}

/** Loads the file at `path`. Its relative paths are relative to its folder. Throws KubeconfigError. */
export async function loadKubeconfig(path: string, options: LoadOptions): Promise<ClientConfig> {
  const config = await readKubeconfig(path, options.readFile ?? readFromDisk);
  return clientConfigFrom(config, { ...options, directory: dirname(path), source: path });
}

/**
 * Loads several files as listed in KUBECONFIG: missing files are skipped, and the first file with an entry or a current
 * context takes precedence. Throws KubeconfigError, also if no file exists.
 */
export async function loadKubeconfigs(paths: readonly string[], options: LoadOptions): Promise<ClientConfig> {
  const readFile = options.readFile ?? readFromDisk;
  const configs: Kubeconfig[] = [];
  const uniquePaths = [...new Set(paths)].filter((path) => path !== '');
  for (const path of uniquePaths) {
    try {
      configs.push(await readKubeconfig(path, readFile));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  const source = uniquePaths.join(':');
  if (configs.length === 0) throw new KubeconfigError(`cannot read the client config ${source}: no such file`);
  return clientConfigFrom(mergeKubeconfigs(configs), { ...options, directory: '.', source });
}

async function readKubeconfig(path: string, readFile: ReadFile): Promise<Kubeconfig> {
  let text: string;
  try {
    text = (await readFile(path)).toString('utf8');
  } catch (error) {
    throw new KubeconfigError(`cannot read the client config ${path}: ${messageOf(error)}`, { cause: error });
  }
  return withAbsolutePaths(parseKubeconfig(text, path), dirname(path), path);
}

function isMissing(error: unknown): boolean {
  const cause = error instanceof KubeconfigError ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
}

/** The connection described by a parsed file. Throws KubeconfigError. */
export function clientConfigFrom(
  parsed: Kubeconfig,
  options: LoadOptions & { readonly directory: string; readonly source?: string },
): ClientConfig {
  const { source = 'client config', directory, clock, env = {} } = options;
  const readFile = options.readFile ?? readFromDisk;
  const config = withAbsolutePaths(parsed, directory);
  const context = contextOf(config, options, source);
  const clusterName = options.cluster ?? context.cluster ?? '';
  const cluster = overridden(pick(config.clusters, clusterName, 'cluster', source).cluster, options.clusterFields);
  const userName = options.user ?? context.user ?? '';
  const entry = userName === '' ? undefined : pick(config.users, userName, 'user', source);
  const file = parsed.users.find(({ name }) => name === userName)?.file;
  const user = overridden(entry?.user ?? {}, options.userFields);
  const server = serverOf(options.server ?? cluster.server ?? '', clusterName, source);
  const proxy = proxyOf(cluster, new URL(server), env, source);
  const credentials = credentialsOf(user, {
    name: userName,
    source,
    file,
    clock,
    readFile,
    env,
    plugins: options.plugins,
    metrics: options.metrics,
    proxy,
    cluster: { ...cluster, server },
  });
  const ca = inlineOrFile(cluster, 'certificate-authority');
  const base = new FileTls({
    inline: { ca: ca.inline, cert: credentials.certificate.inline, key: credentials.key.inline },
    files: { ca: ca.file, cert: credentials.certificate.file, key: credentials.key.file },
    clock,
    readFile,
  });
  holdCertificate(options.metrics, 'client', async () => (await base.current()).cert);
  return {
    server,
    namespace: context.namespace ?? 'default',
    tls: credentials.tls?.(base) ?? base,
    ...(cluster['tls-server-name'] === undefined ? {} : { serverName: cluster['tls-server-name'] }),
    ...(cluster['insecure-skip-tls-verify'] === true ? { insecureSkipVerify: true } : {}),
    ...(credentials.token === undefined ? {} : { token: credentials.token }),
    ...(credentials.headers === undefined ? {} : { headers: credentials.headers }),
    ...(proxy === undefined ? {} : { proxy }),
    // On loopback, compression costs more than it saves.
    ...((cluster['disable-compression'] ?? isLoopback(new URL(server))) ? { compression: false } : {}),
  };
}

/** Command line fields override the file's, including alternative forms of the same field. */
function overridden<E extends Cluster | User>(entry: E, fields: E | undefined): E {
  if (fields === undefined) return entry;
  const copy = { ...entry, ...fields };
  for (const field of ['certificate-authority', 'client-certificate', 'client-key']) {
    if (Object.hasOwn(fields, field)) Reflect.deleteProperty(copy, `${field}-data`);
  }
  if (Object.hasOwn(fields, 'token')) Reflect.deleteProperty(copy, 'tokenFile');
  return copy;
}

function contextOf(
  config: Kubeconfig,
  options: LoadOptions,
  source: string,
): Partial<Kubeconfig['contexts'][0]['context']> {
  const contextName = options.context ?? config['current-context'];
  // No context is needed if cluster and user are both set.
  if (contextName === '' && options.cluster !== undefined && options.user !== undefined) return {};
  return pick(config.contexts, contextName, 'context', source).context;
}

function serverOf(text: string, cluster: string, source: string): string {
  if (text === '') throw new KubeconfigError(`${source}: cluster ${JSON.stringify(cluster)} has no server`);
  const server = /^https?:\/\//.test(text) ? text : `https://${text}`;
  if (!URL.canParse(server)) throw new KubeconfigError(`${source}: ${JSON.stringify(text)} is not a server's address`);
  return server;
}

/** The file's proxy applies to every server; environment variables can have exceptions. */
function proxyOf(cluster: Cluster, server: URL, env: LoadOptions['env'] & object, source: string): URL | undefined {
  try {
    const text = cluster['proxy-url'] ?? '';
    return text === '' ? proxyFromEnvironment(server, env) : parseProxy(text);
  } catch (error) {
    throw new KubeconfigError(`${source}: ${messageOf(error)}`, { cause: error });
  }
}

function pick<N extends { name: string }>(items: readonly N[], name: string, what: string, source: string): N {
  if (name === '') throw new KubeconfigError(`${source}: no current context`);
  const match = items.find((item) => item.name === name);
  if (match === undefined) throw new KubeconfigError(`${source}: ${what} ${JSON.stringify(name)} does not exist`);
  return match;
}
