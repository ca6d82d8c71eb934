/** What an HTTPS server is built from: certificate, handler, and limits. */
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Greeting } from '#daemon/serving/client-hello.js';
import { type ConnectionLimits, standardLimits } from '#daemon/serving/connection-limits.js';
import type { CertificatePair } from '#daemon/serving/serving-certificate.js';
import type { WeightOf } from '#http/server/accounts.js';
import type { HttpHandler, HttpRequest, HttpResponse, UpgradeHandler } from '#http/server/exchange.js';
import type { ResponseWriter } from '#http/server/response-writer.js';

/** PEM texts; pass new ones to `reloadTLS` when files change. */
export interface TLSMaterial {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** Authorities of client certificates; absent: none are requested. */
  readonly clientCA?: string | Buffer;
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
  /** OpenSSL names, colon separated. */
  readonly ciphers?: string;
  /** Certificate for a client; undefined or absent: `cert`. The same object for the same certificate. */
  readonly pairFor?: (greeting: Greeting) => CertificatePair | undefined;
}

export interface ServerOptions {
  /** Address to listen on, such as `127.0.0.1`. */
  readonly host: string;
  /** 0: the system chooses. */
  readonly port: number;
  readonly tls: TLSMaterial;
  readonly handler: HttpHandler;
  readonly upgrade: UpgradeHandler;
  /** Response to a request that fails before the handler gets it. Never throws. */
  readonly failure: (error: unknown) => HttpResponse;
  readonly writer: ResponseWriter;
  readonly log: Logger;
  readonly clock: Clock;
  readonly maxBodyBytes: number;
  /** Limits over all clients, which share them; absent: `standardCapacity`. */
  readonly capacity?: Partial<ServerCapacity> | undefined;
  /** Weights of users while the server is busy. */
  readonly weightOf?: WeightOf | undefined;
  /** Absent: 1.24's limits. */
  readonly limits?: Partial<ServerLimits>;
  /** Limit of open streams per HTTP/2 connection; absent or 0: 250, as in 1.24. */
  readonly maxConcurrentStreams?: number | undefined;
  /** Value of the Strict-Transport-Security header; absent or empty: none. */
  readonly strictTransportSecurity?: string;
  /** Other processes may listen on the same address and port (SO_REUSEPORT); absent: they may not. */
  readonly sharesPort?: boolean;
  /** True for a request whose HTTP/2 client should reconnect, perhaps to another server; absent: never. */
  readonly goAway?: () => boolean;
  readonly observer?: ServerObserver;
}

/** Observes failures below the handler. */
export interface ServerObserver {
  /** A TLS handshake failed. */
  handshakeFailed(): void;
  /** A response broke off after its head, although the client was connected. */
  aborted(request: Pick<HttpRequest, 'method' | 'url' | 'headers'>): void;
}

export interface ServerLimits extends ConnectionLimits {
  /** Time for a client to read a response that was sent before its body had ended. */
  readonly lingerMs: number;
  /** Time in which a part of a request's body must arrive. */
  readonly bodyPeriodMs: number;
}

/** What all clients of a server share. A client gets as much as is free, so at most half. */
export interface ServerCapacity {
  readonly connections: number;
  /** Open requests of authenticated users (anonymous ones are one of them), watches included. */
  readonly requests: number;
  /** Of requests' bodies, from their arrival until the response is complete. */
  readonly bodyBytes: number;
}

/** Used where the options say nothing else. */
export const standardCapacity: ServerCapacity = {
  connections: 16_384,
  requests: 131_072,
  bodyBytes: 256 * 1024 * 1024,
};

/** Used where the options say nothing else. */
export const defaultLimits: ServerLimits = { ...standardLimits, lingerMs: 5_000, bodyPeriodMs: 10_000 };
