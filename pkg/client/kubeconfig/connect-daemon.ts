/** Connects a daemon to its API server by client config file, `--master` or in-cluster environment. */

import type { Registry } from 'prom-client';
import { type InClusterOptions, inClusterConfig } from '#client/kubeconfig/in-cluster.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import type { ClientConfig } from '#client/rest/client-config.js';
import { Connection, type ConnectionOptions } from '#client/rest/connection.js';
import type { ClientConnectionValues } from '#daemon/options/groups/client-connection.js';
import { proxyFromEnvironment } from '#http/client/proxy.js';

export interface ConfigSources {
  /** Path of a client config file; overrides the in-cluster environment. */
  readonly file?: string | undefined;
  /** The server's address; overrides the file's. */
  readonly master?: string | undefined;
  /** For metrics of credential plugins and of the client certificate's expiry. */
  readonly metrics?: Registry | undefined;
}

/**
 * Throws KubeconfigError for an unusable file and NotInClusterError if no server is configured.
 */
export async function configFromOptions(sources: ConfigSources, options: InClusterOptions): Promise<ClientConfig> {
  const { clock, readFile, env } = options;
  const file = sources.file ?? '';
  const master = sources.master ?? '';
  if (file !== '') {
    return loadKubeconfig(file, {
      clock,
      env,
      ...(sources.metrics === undefined ? {} : { metrics: sources.metrics }),
      ...(master === '' ? {} : { server: master }),
      ...(readFile === undefined ? {} : { readFile }),
    });
  }
  if (master === '') return inClusterConfig(options);
  const server = /^https?:\/\//.test(master) ? master : `http://${master}`;
  const proxy = proxyFromEnvironment(new URL(server), env);
  return { server, namespace: 'default', ...(proxy === undefined ? {} : { proxy }) };
}

export interface ConnectContext extends InClusterOptions {
  readonly values: ClientConnectionValues;
}

export interface ConnectSettings extends Pick<ConnectionOptions, 'program' | 'withoutManagers' | 'tracer'> {
  /** Path of the client config. */
  readonly file: string | undefined;
  readonly metrics?: Registry;
}

/** Connects according to the daemon's options; rejects like `configFromOptions`. */
export async function connectByOptions(context: ConnectContext, settings: ConnectSettings): Promise<Connection> {
  const { values, dialect, clock } = context;
  const { file, ...more } = settings;
  const config = await configFromOptions({ file, master: values.master, metrics: settings.metrics }, context);
  const rates = { qps: values['orch-api-qps'], burst: values['orch-api-burst'] };
  return new Connection(config, { dialect, clock, contentType: values['orch-api-content-type'], ...rates, ...more });
}
