/** What the supervisor of an API server and its worker processes tell each other, as JSON. */

/** A metric as prom-client gives it as JSON. */
export interface MetricData {
  readonly name: string;
  readonly help: string;
  readonly type: unknown;
  aggregator: string;
  readonly values: readonly object[];
}

/** What a worker is told at its start. The rest it reads from the command line, which is the supervisor's. */
export interface WorkerPlace {
  readonly index: number;
  /** How many workers share the server's limits. */
  readonly workers: number;
  /** The other workers serve already: this one accepts connections when it can serve them. */
  readonly othersServe: boolean;
}

export type ToWorker =
  | { readonly type: 'stop' }
  /** The worker answers with `metrics`. */
  | { readonly type: 'collect'; readonly id: number }
  /** The answer to `gather`. */
  | { readonly type: 'gathered'; readonly id: number; readonly metrics: readonly (readonly MetricData[])[] }
  | { readonly type: 'verbosity'; readonly level: number };

export type FromWorker =
  /** The event loop of the worker runs. */
  | { readonly type: 'beat' }
  /** The worker serves. */
  | { readonly type: 'serving' }
  | { readonly type: 'metrics'; readonly id: number; readonly metrics: readonly MetricData[] }
  /** Asks for the metrics of all other processes. */
  | { readonly type: 'gather'; readonly id: number }
  /** A client has changed the verbosity of the log. */
  | { readonly type: 'verbosity'; readonly level: number };
