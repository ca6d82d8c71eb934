/** Where a daemon finds its API server: its client config file, `--master`, or the pod it runs in. */
import type { ClientConfig } from '#client/rest/client-config.js';
import { type InClusterOptions, inClusterConfig } from '#client/rest/in-cluster.js';
import { loadKubeconfig } from '#client/rest/kubeconfig.js';

export interface ConfigSources {
  /** Path of a client config file; wins over the pod's environment. */
  readonly file?: string | undefined;
  /** The server's address; overrides the one in the file. */
  readonly master?: string | undefined;
}

/**
 * Throws KubeconfigError for a file that cannot be used and NotInClusterError where nothing says where the server is.
 */
export async function configFromOptions(sources: ConfigSources, options: InClusterOptions): Promise<ClientConfig> {
  const { clock, readFile } = options;
  const file = sources.file ?? '';
  const master = sources.master ?? '';
  if (file !== '') {
    return loadKubeconfig(file, {
      clock,
      ...(master === '' ? {} : { server: master }),
      ...(readFile === undefined ? {} : { readFile }),
    });
  }
  if (master === '') return inClusterConfig(options);
  return { server: /^https?:\/\//.test(master) ? master : `http://${master}`, namespace: 'default' };
}
