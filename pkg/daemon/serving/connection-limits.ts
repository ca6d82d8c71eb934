/** Time limits of a connection, for the API server and all other daemons. */

export interface ConnectionLimits {
  /** Without a request. */
  readonly idleMs: number;
  /** For the TLS handshake. */
  readonly handshakeMs: number;
  /** For the headers of one request. */
  readonly headersMs: number;
  /** For a whole HTTP/1.1 request to arrive; the response is not limited here. */
  readonly requestMs: number;
}

/** The first three are 1.24's: IdleTimeout, and twice ReadHeaderTimeout. */
export const standardLimits: ConnectionLimits = {
  idleMs: 90_000,
  handshakeMs: 32_000,
  headersMs: 32_000,
  requestMs: 65_000,
};

/** Limit of all headers; tokens can be long. */
export const maxHeaderBytes = 64 * 1024;
/** Idle time before TCP probes the client. */
export const tcpKeepAliveMs = 30_000;
/** How often Node.js checks for expired connections. */
const checkingMs = 2_000;

/** The limits as properties of Node.js's HTTP servers, to be set before they listen. */
export function http1Limits({ idleMs, headersMs, requestMs }: ConnectionLimits) {
  return {
    keepAliveTimeout: idleMs,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(checkingMs, headersMs),
  };
}
