import type { Registry } from 'prom-client';
import { configFromOptions } from '#client/kubeconfig/config-from-options.js';
import type { InClusterOptions } from '#client/kubeconfig/in-cluster.js';
import { Connection, type ConnectionOptions } from '#client/rest/connection.js';
import type { ClientConnectionValues } from '#daemon/options/groups/client-connection.js';

export interface ConnectContext extends InClusterOptions {
  readonly values: ClientConnectionValues;
}

export interface ConnectSettings extends Pick<ConnectionOptions, 'program' | 'withoutManagers' | 'tracer'> {
  /** Path of the client config. */
  readonly file: string | undefined;
  readonly metrics?: Registry;
}

/** As a daemon's options say; rejects as `configFromOptions` does. */
export async function connectByOptions(context: ConnectContext, settings: ConnectSettings): Promise<Connection> {
  const { values, dialect, clock } = context;
  const { file, ...more } = settings;
  const config = await configFromOptions({ file, master: values.master, metrics: settings.metrics }, context);
  const rates = { qps: values['orch-api-qps'], burst: values['orch-api-burst'] };
  return new Connection(config, { dialect, clock, contentType: values['orch-api-content-type'], ...rates, ...more });
}
