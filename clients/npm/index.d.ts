export interface ClusterOptions {
  /** `all` when absent, `none`, or a list such as `garbagecollector,namespace`. */
  readonly controllers?: string;
  /** Number of simulated nodes; none when absent. */
  readonly nodes?: number;
  /** Names in the cluster's API; `kubernetes` when absent. */
  readonly dialect?: 'kubernetes' | 'orch';
  /** `manual`: the clock stands still until it is moved. */
  readonly clock?: 'real' | 'manual';
  /** Time at which a manual clock starts, RFC 3339. */
  readonly time?: string;
  /** Path of a file of rules by which simulated pods behave. */
  readonly podRules?: string;
  readonly featureGates?: Readonly<Record<string, boolean>>;
  /** Further flags of `orch test serve`. */
  readonly flags?: readonly string[];
  /** Path of `orch`; the variable ORCH, or `orch` of the PATH, when absent. */
  readonly program?: string;
}

export interface TestCluster {
  readonly name: string;
  readonly pid: number;
  /** URL of the API server. */
  readonly url: string;
  /** Path of a client configuration with all rights. */
  readonly kubeconfig: string;
  /** PEM. */
  readonly ca: string;
  readonly clientCertificate: string;
  readonly clientKey: string;
  readonly dialect: string;
  readonly nodes: readonly string[];
  /** Variables for programs that use the cluster: KUBECONFIG and others. */
  readonly env: Readonly<Record<string, string>>;
  /** Resolves when it has ended and its files are removed. Idempotent. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Rejects with the words of the program if it cannot start. */
export function startCluster(options?: ClusterOptions): Promise<TestCluster>;
