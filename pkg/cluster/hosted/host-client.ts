/** A client of the cluster that hosts a control plane, for the commands that its pods run. */
import { env } from 'node:process';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { inClusterConfig } from '#client/kubeconfig/in-cluster.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { RestClient } from '#client/rest/rest-client.js';

interface HostValues {
  readonly kubeconfig: string | undefined;
  readonly 'host-dialect': string;
  readonly namespace: string | undefined;
}

export interface HostClient {
  readonly client: RestClient;
  readonly namespace: string;
}

/** What a command needs that reads and changes a control plane's objects in its host. */
export interface HostContext {
  readonly client: Client;
  readonly namespace: string;
  readonly clock: Clock;
  /** Lines for an operator who reads the pod's log. */
  readonly say: (line: string) => void;
}

/** By the client config of the options, else by the pod's service account. Rejects where neither can be read. */
export async function connectHost(values: HostValues, program: string): Promise<HostClient> {
  const dialect = dialectByName(values['host-dialect'] === 'orch' ? 'orch' : 'kubernetes');
  const config =
    values.kubeconfig === undefined
      ? await inClusterConfig({ dialect, clock: realClock, env })
      : await loadKubeconfig(values.kubeconfig, { clock: realClock, env });
  const transport = new HttpTransport({ ...config, clock: realClock });
  const client = new RestClient({ transport, dialect, clock: realClock, userAgent: `${program}/${dialect.version}` });
  return { client, namespace: values.namespace ?? config.namespace ?? dialect.namespaces.default };
}
