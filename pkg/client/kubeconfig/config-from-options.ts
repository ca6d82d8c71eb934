/** Where a daemon finds its API server: its client config file, `--master`, or the pod it runs in. */
import type { Registry } from 'prom-client';
import { type InClusterOptions, inClusterConfig } from '#client/kubeconfig/in-cluster.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import type { ClientConfig } from '#client/rest/client-config.js';
import { proxyFromEnvironment } from '#http/client/proxy.js';

export interface ConfigSources {
  /** Path of a client config file; wins over the pod's environment. */
  readonly file?: string | undefined;
  /** The server's address; overrides the one in the file. */
  readonly master?: string | undefined;
  /** For the series of credential plugins, and of when the client certificate ends. */
  readonly metrics?: Registry | undefined;
}

/**
 * Throws KubeconfigError for a file that cannot be used and NotInClusterError where nothing says where the server is.
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
