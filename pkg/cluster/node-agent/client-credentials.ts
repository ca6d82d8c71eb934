/** Selects a node agent's credentials for the API server: its kubeconfig, or a certificate that it renews itself. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { CertificateManager } from '#client/certificate/manager.js';
import { ManagedTls } from '#client/certificate/tls.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import type { ClientConfig } from '#client/rest/client-config.js';
import { Connection, type ConnectionOptions } from '#client/rest/connection.js';
import type { Logger } from '#daemon/log/logger.js';
import { validCertificate, writeOwnConfig } from '#nodeagent/certificates/client-config.js';
import { clientCertificateManager, clientCertificateStore } from '#nodeagent/certificates/managers.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import type { KeyCertificate } from '#pki/certificate.js';

export interface CredentialsContext {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly nodeName: string;
}

export interface ClientCredentials {
  readonly connection: Connection;
  /** Runs beside the agent; absent if only the kubeconfig is used. */
  readonly manager?: CertificateManager;
  /** The connection for requests before the first certificate; closed with the main connection. */
  readonly introduction?: Connection;
}

/** Rejects with KubeconfigError for invalid files. */
export async function clientCredentials(
  path: string,
  values: NodeAgentOptions,
  context: CredentialsContext,
  connectionOptions: ConnectionOptions,
): Promise<ClientCredentials> {
  const { clock, env, log, metrics } = context;
  const load = (file: string) => loadKubeconfig(file, { clock, env, metrics });
  const bootstrapPath = values['bootstrap-kubeconfig'] ?? '';
  const rotates = values['rotate-certificates'];
  if (bootstrapPath === '') {
    const config = await load(path);
    if (!rotates) return { connection: new Connection(config, connectionOptions) };
    const initial = await validCertificate(config, clock).catch(() => undefined);
    return managed(config, { introduce: config, initial, rotates, values, context, connectionOptions });
  }
  const own = await usableConfig(path, load, context);
  if (own !== undefined && !rotates) return { connection: new Connection(own.config, connectionOptions) };
  const introduce = await load(bootstrapPath);
  if (own !== undefined) {
    const { config, certificate: initial } = own;
    return managed(config, { introduce, initial, rotates, values, context, connectionOptions });
  }
  log.info(
    { bootstrapPath },
    'using the bootstrap kubeconfig to request a client certificate and to write the kubeconfig',
  );
  const store = clientCertificateStore({ dialect: context.dialect, directory: values['cert-dir'] });
  await writeOwnConfig(path, { bootstrapPath, file: store.currentFile });
  return managed(introduce, { introduce, rotates, values, context, connectionOptions });
}

/** The agent's own kubeconfig if it is valid. */
async function usableConfig(
  path: string,
  load: (file: string) => Promise<ClientConfig>,
  { clock, log }: CredentialsContext,
): Promise<{ readonly config: ClientConfig; readonly certificate: KeyCertificate } | undefined> {
  try {
    const config = await load(path);
    return { config, certificate: await validCertificate(config, clock) };
  } catch (error) {
    log.info({ path, problem: messageOf(error) }, 'kubeconfig is not usable and will be written again');
    return undefined;
  }
}

async function managed(
  target: ClientConfig,
  options: {
    /** The credentials for requests before the first certificate. */
    readonly introduce: ClientConfig;
    readonly initial?: KeyCertificate | undefined;
    readonly rotates: boolean;
    readonly values: NodeAgentOptions;
    readonly context: CredentialsContext;
    readonly connectionOptions: ConnectionOptions;
  },
): Promise<ClientCredentials> {
  const { context, connectionOptions, introduce, initial, rotates, values } = options;
  const introduction = new Connection(introduce, connectionOptions);
  const manager = clientCertificateManager({
    ...context,
    directory: values['cert-dir'],
    rotates,
    initial,
    client: (current) => (current === undefined ? introduction : connection).client('certificates'),
  });
  await manager.load();
  // The certificate replaces all other credentials.
  const { token: _token, headers: _headers, ...server } = target;
  const connection = new Connection({ ...server, tls: new ManagedTls(manager, target.tls) }, connectionOptions);
  return { connection, manager, introduction };
}
