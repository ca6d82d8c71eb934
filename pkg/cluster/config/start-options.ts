/** Options of one start of a cluster. The background process and `orch upgrade` get them as JSON. */
import { upOptions } from '#cluster/config/options.js';

export interface StartOptions {
  readonly dataDir: string;
  /** A process for each daemon. */
  readonly separate: boolean;
  /** Address on which the API server listens. */
  readonly bindAddress: string;
  /** Address of the API server for other machines; undefined: that of the nodes. */
  readonly advertiseAddress: string | undefined;
  /** Addresses from `--node-ip`; none: the machine's. */
  readonly nodeIPs: readonly string[];
  readonly verbosity: number;
  /** Socket of a container runtime that the user runs. */
  readonly foreignRuntime: string | undefined;
  readonly foreignEtcd: ForeignEtcd | undefined;
  /** Name server of the pods: `built-in`, `none`, or an address. */
  readonly clusterDns: string;
  /** Create the StorageClass whose volumes are directories of nodes. */
  readonly localStorage: boolean;
  /** Service proxy of the nodes: `built-in`, or `none`. */
  readonly serviceProxy: string;
  /** Ports of the built-in ingress controller, 0 for none; undefined: no such controller. */
  readonly ingress: IngressPorts | undefined;
  /** Feature gates of all daemons. */
  readonly featureGates: Readonly<Record<string, boolean>>;
  /** Path of the scheduler's configuration file. */
  readonly schedulerConfig: string | undefined;
  readonly daemonOptions: DaemonOptions;
  /** Pods of the previous programs are still running: they stay even when this start fails. */
  readonly takesOver?: boolean;
}

/** The user's options for single daemons, `name=value`. */
export interface DaemonOptions {
  readonly apiServer: readonly string[];
  readonly controllerManager: readonly string[];
  readonly scheduler: readonly string[];
  readonly nodeAgent: readonly string[];
}

export interface IngressPorts {
  readonly http: number;
  readonly https: number;
}

export interface ForeignEtcd {
  readonly endpoints: readonly string[];
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
}

/** Defaults of options that the JSON of an older release lacks: those of `orch up`. */
const defaults: Omit<StartOptions, 'dataDir'> = {
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

/** Parses the options that another process has written, perhaps one of an older release. Throws an Error. */
export function readStart(json: string): StartOptions {
  const start = { ...defaults, ...(JSON.parse(json) as Partial<StartOptions>) };
  const { dataDir } = start;
  if (dataDir === undefined) throw new Error('the start options have no dataDir');
  return { ...start, dataDir };
}
