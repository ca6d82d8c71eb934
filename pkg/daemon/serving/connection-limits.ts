/** What one connection may take of a server's time: the same for the API server and for every other daemon. */

export interface ConnectionLimits {
  /** Between two requests, or without any. */
  readonly idleMs: number;
  /** For the TLS handshake. */
  readonly handshakeMs: number;
  /** For the headers of one request. */
  readonly headersMs: number;
  /** For a whole request over HTTP/1.1 to arrive; how long its answer takes is not limited here. */
  readonly requestMs: number;
}

/** The first three are 1.24's: IdleTimeout, and twice ReadHeaderTimeout. */
export const standardLimits: ConnectionLimits = {
  idleMs: 90_000,
  handshakeMs: 32_000,
  headersMs: 32_000,
  requestMs: 65_000,
};

/** Bytes of all headers: tokens can be long. */
export const maxHeaderBytes = 64 * 1024;
/** Silence after which the system asks whether the client is still there. */
export const tcpKeepAliveMs = 30_000;
/** How often Node.js looks for connections that have used up their time. */
const checkingMs = 2_000;

/** How Node.js's servers take the limits of HTTP/1.1: as properties, before they listen. */
export function http1Limits({ idleMs, headersMs, requestMs }: ConnectionLimits) {
  return {
    keepAliveTimeout: idleMs,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(checkingMs, headersMs),
  };
}
