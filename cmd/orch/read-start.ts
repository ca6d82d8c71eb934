import type { StartOptions } from '#cmd/orch/context/start-options.js';
import { upOptions } from '#cmd/orch/options.js';

/** What a start means that says nothing of an option: as `orch up` without it. */
const unsaid: Omit<StartOptions, 'dataDir'> = {
  separate: false,
  bindAddress: upOptions['bind-address'].default,
  advertiseAddress: undefined,
  nodeIPs: [],
  verbosity: upOptions.v.default,
  foreignRuntime: undefined,
  foreignEtcd: undefined,
  clusterDns: upOptions['cluster-dns'].default,
  localStorage: upOptions['local-storage'].default,
  serviceProxy: upOptions['service-proxy'].default,
  ingress: undefined,
  featureGates: {},
  schedulerConfig: undefined,
  daemonOptions: { apiServer: [], controllerManager: [], scheduler: [], nodeAgent: [] },
};

/** The start that another process has written down; an older release had fewer options. Throws an Error. */
export function readStart(json: string): StartOptions {
  const start = { ...unsaid, ...(JSON.parse(json) as Partial<StartOptions>) };
  const { dataDir } = start;
  if (dataDir === undefined) throw new Error('the start names no data directory');
  return { ...start, dataDir };
}
