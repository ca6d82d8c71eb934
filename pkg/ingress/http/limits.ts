/** Limits of clients and backends. Times are in milliseconds. */
export interface IngressLimits {
  /** Limits of all client connections and of one address; 0: none. */
  readonly maxConnections: number;
  readonly maxConnectionsPerClient: number;
  /** Limit of requests in progress, upgraded connections among them; 0: none. */
  readonly maxRequests: number;
  /** Limit of open streams per HTTP/2 connection. */
  readonly maxStreams: number;
  /** Limit of a request's or response's headers. */
  readonly maxHeaderBytes: number;
  /** For the TLS handshake. */
  readonly handshakeMs: number;
  /** For the headers of one request. */
  readonly headersMs: number;
  /** For a whole request to arrive. */
  readonly requestMs: number;
  /** Between two requests. */
  readonly idleMs: number;
  /** For connecting to a backend. */
  readonly dialMs: number;
  /** Silence of a backend during a request, and of a client during a response. */
  readonly backendMs: number;
  /** Silence of both sides of an upgraded connection. */
  readonly tunnelMs: number;
  /** For running requests when the controller stops. */
  readonly graceMs: number;
}

export const standardLimits: IngressLimits = {
  maxConnections: 10_000,
  maxConnectionsPerClient: 1000,
  maxRequests: 10_000,
  maxStreams: 128,
  maxHeaderBytes: 32 * 1024,
  handshakeMs: 10_000,
  headersMs: 20_000,
  requestMs: 3_600_000,
  idleMs: 75_000,
  dialMs: 3000,
  backendMs: 60_000,
  tunnelMs: 3_600_000,
  graceMs: 10_000,
};
