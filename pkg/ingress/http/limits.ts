/** What clients and backends may take. All times in milliseconds. */
export interface IngressLimits {
  /** Connections of all clients, and those of one address; 0: any number. */
  readonly maxConnections: number;
  readonly maxConnectionsPerClient: number;
  /** Streams that one HTTP/2 connection may have open. */
  readonly maxStreams: number;
  /** Of all headers of a request, or of a backend's answer. */
  readonly maxHeaderBytes: number;
  /** For the TLS handshake. */
  readonly handshakeMs: number;
  /** For the headers of one request. */
  readonly headersMs: number;
  /** For a whole request to arrive. */
  readonly requestMs: number;
  /** Between two requests. */
  readonly idleMs: number;
  /** For a connection with a backend. */
  readonly dialMs: number;
  /** Silence of a backend that has a request, and of a client that reads its answer. */
  readonly backendMs: number;
  /** Silence of both sides of an upgraded connection. */
  readonly tunnelMs: number;
  /** For requests under way when the controller stops. */
  readonly graceMs: number;
}

export const standardLimits: IngressLimits = {
  maxConnections: 10_000,
  maxConnectionsPerClient: 1000,
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
