/** The connection of a program in a pod: its service account token and the in-pod variables of the API server. */
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import type { ClientConfig } from '#client/rest/client-config.js';
import { type ReadFile, readFromDisk } from '#daemon/certificates/certificate-files.js';
import { FileTls, FileToken } from '#http/client/credentials.js';
import { proxyFromEnvironment } from '#http/client/proxy.js';

/** This program does not run in a pod of the dialect's cluster. */
export class NotInClusterError extends Error {
  override readonly name = 'NotInClusterError';
}

export interface InClusterOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** Environment variables of the process. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile?: ReadFile;
}

/** Throws NotInClusterError if variables or token are missing. Follows rotation of token and CA. */
export async function inClusterConfig(options: InClusterOptions): Promise<ClientConfig> {
  const { dialect, clock, env } = options;
  const readFile = options.readFile ?? readFromDisk;
  const prefix = dialect.serviceEnvPrefix;
  const host = env[`${prefix}_SERVICE_HOST`] ?? '';
  const port = env[`${prefix}_SERVICE_PORT`] ?? '';
  if (host === '' || port === '') {
    throw new NotInClusterError(`${prefix}_SERVICE_HOST and ${prefix}_SERVICE_PORT must be defined`);
  }
  const directory = dialect.serviceAccountPath;
  const token = new FileToken({ path: `${directory}/token`, clock, readFile });
  let namespace: string;
  try {
    await token.token();
    namespace = (await readFile(`${directory}/namespace`)).toString('utf8').trim();
  } catch (error) {
    throw new NotInClusterError(`no service account token in ${directory}`, { cause: error });
  }
  const server = `https://${hostPort(host, port)}`;
  const proxy = proxyFromEnvironment(new URL(server), env);
  return {
    server,
    ...(proxy === undefined ? {} : { proxy }),
    tls: new FileTls({ files: { ca: `${directory}/ca.crt` }, clock, readFile }),
    token,
    namespace,
  };
}
