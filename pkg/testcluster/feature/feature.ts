/**
 * What a cluster for tests has beside a cluster: features, each with endpoints below `/test`.
 *
 * A feature is a function of the cluster's parts. It is added to the list of `features.ts`. Only clusters that were started
 * for tests have these paths. Users need the right to the URL, as for every path without resources (verb `get`, `post` or
 * `delete`); the rights of `system:masters` include it.
 */

import type { Duplex } from 'node:stream';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ApiRequest, ApiResponse, UserInfo } from '#apiserver/http/exchange.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';
import type { SimulatedNode } from '#cluster/embedded/embedded-cluster.js';
import type { ClusterProcess } from '#cluster/supervise/cluster-process.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Simulation } from '#nodeagent/simulated/simulation.js';
import type { Store } from '#storage/store.js';

/** The parts of a test cluster that features use. */
export interface TestClusterParts {
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  /** The daemons; call it once the cluster starts. Its API server exists when the first request arrives. */
  process(): ClusterProcess;
  /** Undefined for a cluster on an etcd. */
  readonly store: Store | undefined;
  /** The plan of faults at the start, as text or value; undefined: none. */
  readonly faultPlan: unknown;
  /** Rules and counts of the simulated pods. */
  readonly simulation: Simulation;
  /** Simulated nodes by name; call it once the cluster starts. */
  nodes(): ReadonlyMap<string, SimulatedNode>;
  /** Like a power failure. Throws for an unknown name. */
  stopNode(name: string): Promise<void>;
}

export type TestMethod = 'GET' | 'POST' | 'DELETE';

export interface TestRequest {
  readonly method: TestMethod;
  readonly query: URLSearchParams;
  /** The decoded JSON body; undefined without one. Untrusted. */
  readonly body: unknown;
  /** Aborts when the client disconnects or the request times out. */
  readonly signal: AbortSignal;
}

/** An endpoint of JSON. */
export interface TestEndpoint {
  /** `/test/clock`. */
  readonly path: string;
  /** Other methods get 405. */
  readonly methods: readonly TestMethod[];
  /** Resolves with the JSON of the response. Errors of the API (`badRequest(…)`) become their Status, others 500. */
  handle(request: TestRequest): Promise<object>;
}

/** A request of the API that was authenticated and authorized. */
export interface ObservedRequest {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly signal: AbortSignal;
  /** Connection of a request for an upgrade; `around` may replace it before it calls `next`. */
  connection?: Duplex | undefined;
}

export interface TestFeature {
  readonly endpoints?: readonly TestEndpoint[];
  /**
   * Called for every request outside of `/test`, also those of the controllers and nodes of this process, instead of the API:
   * it calls `next`, now or after a time, or answers with an error. Absent: nothing is observed and nothing costs time.
   */
  around?(request: ObservedRequest, next: () => MaybePromise<ApiResponse>): MaybePromise<ApiResponse>;
  /** Called when work of the API server begins that no request waits for; it calls the returned function at its end. */
  beginWork?(description: string): () => void;
  /** Called when the cluster has started. */
  started?(): Promise<void>;
  /** Called before the daemons stop. */
  close?(): Promise<void>;
}

export type TestFeatureFactory = (cluster: TestClusterParts) => TestFeature;
