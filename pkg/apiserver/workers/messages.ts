/** Messages between the supervisor of an API server and its worker processes, as JSON. */

/** A metric in prom-client's JSON form. */
export interface MetricData {
  readonly name: string;
  readonly help: string;
  readonly type: unknown;
  aggregator: string;
  readonly values: readonly object[];
}

/** Passed to a worker at its start; it has the same command line as the supervisor. */
export interface WorkerPlace {
  readonly index: number;
  /** Number of workers, which share the server's limits. */
  readonly workers: number;
  /** True if other workers serve already, so that this one accepts connections only when it is ready. */
  readonly othersServe: boolean;
}

export type ToWorker =
  | { readonly type: 'stop' }
  /** Requests the worker's metrics; it replies with `metrics`. */
  | { readonly type: 'collect'; readonly id: number }
  /** The reply to `gather`. */
  | { readonly type: 'gathered'; readonly id: number; readonly metrics: readonly (readonly MetricData[])[] }
  | { readonly type: 'verbosity'; readonly level: number };

export type FromWorker =
  /** A heartbeat: the worker's event loop runs. */
  | { readonly type: 'beat' }
  | { readonly type: 'serving' }
  | { readonly type: 'metrics'; readonly id: number; readonly metrics: readonly MetricData[] }
  /** Requests the metrics of all other processes. */
  | { readonly type: 'gather'; readonly id: number }
  /** A client has changed the verbosity of the log. */
  | { readonly type: 'verbosity'; readonly level: number };
