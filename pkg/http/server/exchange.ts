/** A request and its response, free of the version of HTTP that carries them. */
import type { Duplex, Readable } from 'node:stream';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Cancellation } from '#apimachinery/cancellation.js';

export interface HttpRequest {
  readonly method: string;
  /** Path and query as received. */
  readonly url: string;
  /** Lower-case names; repeated headers joined by `, `. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Names and values in turn, each line as it came; absent within the process. */
  readonly rawHeaders?: readonly string[];
  /** The whole body, already limited in size; empty when there is none. The handler sets it when it has read it. */
  body: Buffer;
  /**
   * Set where the body is still to be read: a client that may not ask for something does not make the server keep megabytes.
   * Rejects with a StatusError (413 for a body over the limit).
   */
  readonly readBody?: (() => Promise<Buffer>) | undefined;
  /** The same as it comes, whatever its size, for those who pass it on; once, and instead of `readBody`. */
  readonly openBody?: (() => StreamedBody) | undefined;
  readonly remoteAddress: string;
  /** DER of the client certificate, if the client presented one that the TLS layer accepted. */
  readonly clientCertificate?: Buffer | undefined;
  /** The same for all requests of one connection; absent where there are no connections. */
  readonly peer?: object;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
  /** The same as `signal`, without one being made for it; absent: there is only that. */
  readonly cancellation?: Cancellation;
  /** Aborts `signal` for another reason: that the time is over. Absent: the signal is not the handler's to abort. */
  cancel?(reason: unknown): void;
}

/** A request's body on its way. */
export interface StreamedBody {
  /** The client is held back until it is read. Fails when the client breaks off. */
  readonly source: Readable;
  /** In bytes, as announced; undefined: only its end will tell. */
  readonly length: number | undefined;
  /** What is left of it is not wanted. Idempotent. */
  leave(): void;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** Values of `Set-Cookie`, the one header that cannot be joined; absent: none. */
  readonly cookies?: readonly string[] | undefined;
  /** Buffers are written as they are; an iterable is streamed with back-pressure, one write per item. */
  readonly body: Buffer | AsyncIterable<Buffer> | undefined;
}

/** Without a promise where the answer is at hand. Never throws. */
export type HttpHandler = (request: HttpRequest) => MaybePromise<HttpResponse>;

/**
 * An upgrade request (WebSocket). Undefined: the handler has taken the socket over and owns it from then on. Otherwise the
 * answer is to be written, as to any request, and the connection to be closed. Never rejects.
 */
export type UpgradeHandler = (request: HttpRequest, socket: Duplex, head: Buffer) => Promise<HttpResponse | undefined>;

/** Of a text that a browser is not to take for anything else, as Go's `http.Error` has them. */
export const plainTextHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/plain; charset=utf-8',
  'x-content-type-options': 'nosniff',
};

export function plainText(status: number, body: string): HttpResponse {
  return { status, headers: { ...plainTextHeaders }, body: Buffer.from(body) };
}
