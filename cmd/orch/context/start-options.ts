/** What one start of a cluster is told besides its settings. Goes to the background process as JSON. */
export interface StartOptions {
  readonly dataDir: string;
  /** A process for each daemon. */
  readonly separate: boolean;
  /** Address on which the API server listens. */
  readonly bindAddress: string;
  /** At which other machines reach it; undefined: that of the nodes. */
  readonly advertiseAddress: string | undefined;
  /** Asked for by the user; none: the machine's. */
  readonly nodeIPs: readonly string[];
  readonly verbosity: number;
  /** Socket of a runtime that is not ours. */
  readonly foreignRuntime: string | undefined;
  readonly foreignEtcd: ForeignEtcd | undefined;
  /** What answers the pods' questions about names: `built-in`, `none`, or somebody's address. */
  readonly clusterDns: string;
  /** Make the class of volumes that are directories of nodes. */
  readonly localStorage: boolean;
  /** What leads services to their pods: `built-in`, or `none`. */
  readonly serviceProxy: string;
  /** Ports of the built-in ingress controller, 0 for none; undefined: there is no such controller. */
  readonly ingress: IngressPorts | undefined;
  /** Of all daemons. */
  readonly featureGates: Readonly<Record<string, boolean>>;
  /** Path of the scheduler's configuration file. */
  readonly schedulerConfig: string | undefined;
  readonly daemonOptions: DaemonOptions;
  /** Pods of programs that have just ended run on: they stay also when this start fails. */
  readonly takesOver?: boolean;
}

/** Options that the user gives to single daemons, `name=value`. */
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
