/** An extender's settings from the configuration file. */
export interface ExtenderSettings {
  /** An http or https URL; verbs are appended to its path. */
  readonly urlPrefix: string;
  /** Undefined: the extender is not called at that point. */
  readonly filterVerb: string | undefined;
  readonly prioritizeVerb: string | undefined;
  readonly preemptVerb: string | undefined;
  readonly bindVerb: string | undefined;
  /** Factor of its scores. */
  readonly weight: number;
  readonly enableHttps: boolean;
  readonly tls: ExtenderTls | undefined;
  /** Limit of a whole exchange. */
  readonly timeoutMs: number;
  /** The extender caches nodes, so only their names are sent. */
  readonly nodeCacheCapable: boolean;
  /** The extender handles only pods that request one of these extended resources; empty: all pods. */
  readonly managedResources: readonly { readonly name: string; readonly ignoredByScheduler: boolean }[];
  readonly ignorable: boolean;
}

/** PEM data overrides files. */
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
