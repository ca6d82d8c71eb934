/** An extender as a configuration file describes it. */
export interface ExtenderSettings {
  /** An http or https URL; verbs are appended to its path. */
  readonly urlPrefix: string;
  /** Undefined: it is not asked at that point. */
  readonly filterVerb: string | undefined;
  readonly prioritizeVerb: string | undefined;
  readonly preemptVerb: string | undefined;
  readonly bindVerb: string | undefined;
  /** By which its scores are multiplied. */
  readonly weight: number;
  readonly enableHttps: boolean;
  readonly tls: ExtenderTls | undefined;
  /** For a whole exchange. */
  readonly timeoutMs: number;
  /** It knows the nodes, and is told their names only. */
  readonly nodeCacheCapable: boolean;
  /** It is asked about pods with one of these extended resources only; empty: about all. */
  readonly managedResources: readonly { readonly name: string; readonly ignoredByScheduler: boolean }[];
  readonly ignorable: boolean;
}

/** Data wins over files, and is PEM. */
export interface ExtenderTls {
  readonly insecure: boolean;
  readonly serverName: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  readonly caFile: string | undefined;
  readonly certData: string | undefined;
  readonly keyData: string | undefined;
  readonly caData: string | undefined;
}
