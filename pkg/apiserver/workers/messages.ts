/** What the main thread of an API server and its workers tell each other. */
import type { MessagePort } from 'node:worker_threads';

/** A metric as prom-client gives it as JSON. */
export interface MetricData {
  readonly name: string;
  readonly help: string;
  readonly type: unknown;
  aggregator: string;
  readonly values: readonly object[];
}

/** What a worker is given when it starts; together with the command line that is all it needs. */
export interface WorkerData {
  readonly index: number;
  readonly workers: number;
  /** See `ControlBlock`. */
  readonly control: SharedArrayBuffer;
  /** A descriptor of the listening socket, to be copied. */
  readonly descriptor: number;
  /** Where the main thread tells of the objects. */
  readonly feed: MessagePort;
  /** Of the whole server, where it has one: see `newIdentity`. */
  readonly identity?: string | undefined;
  /** Accept connections before there is anything to serve: none but this one will answer them. */
  readonly early: boolean;
}

export type ToWorker =
  | { readonly type: 'stop' }
  /** To be answered with `metrics`. */
  | { readonly type: 'collect'; readonly id: number }
  /** The answer to `gather`. */
  | { readonly type: 'gathered'; readonly id: number; readonly metrics: readonly (readonly MetricData[])[] }
  | { readonly type: 'verbosity'; readonly level: number };

export type FromWorker =
  /** The feed can begin. */
  | { readonly type: 'following' }
  | { readonly type: 'ready' }
  | { readonly type: 'metrics'; readonly id: number; readonly metrics: readonly MetricData[] }
  /** Asks for the metrics of all other threads. */
  | { readonly type: 'gather'; readonly id: number }
  /** Was told to log more or less. */
  | { readonly type: 'verbosity'; readonly level: number };
