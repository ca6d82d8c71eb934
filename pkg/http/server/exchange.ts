/** A request, its response, and the exchange that carries both in any version of HTTP. */
import type { Duplex, Readable } from 'node:stream';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Cancellation, LazyAbort } from '#apimachinery/cancellation.js';
import type { Body } from '#http/server/body.js';
import type { ByteBudget } from '#http/server/byte-budget.js';

export interface HttpRequest {
  readonly method: string;
  /** Path and query as received. */
  readonly url: string;
  /** Lower-case names; repeated headers joined by `, `. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Names and values alternating, as received; absent within the process. */
  readonly rawHeaders?: readonly string[];
  /** The whole body, limited in size; empty if there is none. The handler sets it after reading. */
  body: Buffer;
  /**
   * Set if the body is still to be read, so that an unauthorized client cannot make the server buffer it. Rejects with
   * a StatusError (413 above the limit).
   */
  readonly readBody?: (() => Promise<Buffer>) | undefined;
  /** The body as a stream of any size, for forwarding; call once, instead of `readBody`. */
  readonly openBody?: (() => StreamedBody) | undefined;
  readonly remoteAddress: string;
  /** DER of the client certificate, if the TLS layer accepted one. */
  readonly clientCertificate?: Buffer | undefined;
  /** Identical for all requests of a connection; absent without connections. */
  readonly peer?: object;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** Same as `signal` without creating one; absent: only `signal` exists. */
  readonly cancellation?: Cancellation;
  /**
   * Counts the request for this user until its response is complete. False if the user has too many open requests: the
   * handler refuses this one. Absent: nothing is counted.
   */
  claim?(user: string, groups: readonly string[]): boolean;
  /** See `Peer`. */
  readonly account?: Account | undefined;
  /** Aborts `signal` for another reason, such as a timeout. Absent: the handler may not abort it. */
  cancel?(reason: unknown): void;
}

/** A request's body as a stream. */
export interface StreamedBody {
  /** Applies back-pressure. Fails if the client disconnects. */
  readonly source: Readable;
  /** Announced bytes; undefined if unknown. */
  readonly length: number | undefined;
  /** The rest of the body is not needed. Idempotent. */
  leave(): void;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** Values of `Set-Cookie`, the only header that cannot be joined; absent: none. */
  readonly cookies?: readonly string[] | undefined;
  readonly body: Body | undefined;
  /** The memory that the response may hold; absent: the server's. */
  budget?: ByteBudget | undefined;
}

/** Returns without a promise if the response is ready. Never throws. */
export type HttpHandler = (request: HttpRequest) => MaybePromise<HttpResponse>;

/**
 * Handles an upgrade request (WebSocket). Undefined: the handler took over and owns the socket. Otherwise the response
 * is written and the connection closed. Never rejects.
 */
export type UpgradeHandler = (request: HttpRequest, socket: Duplex, head: Buffer) => Promise<HttpResponse | undefined>;

/** Headers of plain text that browsers must not sniff, as Go's `http.Error` sets them. */
export const plainTextHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/plain; charset=utf-8',
  'x-content-type-options': 'nosniff',
};

export function plainText(status: number, body: string): HttpResponse {
  return { status, headers: { ...plainTextHeaders }, body: Buffer.from(body) };
}

/** The time that the requests of a user, or of an address before its user is known, have used. */
export interface Account {
  /** Adds time of the event loop. `nowMs`: monotonic. */
  charge(ms: number, nowMs: number): void;
  /** Time used lately, in relation to the user's weight. */
  used(nowMs: number): number;
}

/** The other end of a connection. */
export interface Peer {
  readonly address: string;
  /** DER of the presented certificate. */
  readonly certificate: Buffer | undefined;
  /** Of the latest request that was authenticated; undefined before. */
  readonly user?: string | undefined;
  /** Absent: its requests are not timed. */
  readonly account?: Account | undefined;
  /** Sets the user, whose connection this is from now on. */
  claim?(user: string, groups: readonly string[]): void;
}

/** A request in progress and the output for its response. */
export interface Exchange {
  readonly request: HttpRequest;
  /** Aborted with `clientGone` if the client disconnects before the response is complete. */
  readonly gone: LazyAbort;
  /** The client disconnected, or the response was broken off. */
  readonly destroyed: boolean;
  readonly headersSent: boolean;
  /** The current listener, if any. */
  listener: ExchangeListener | undefined;
  /** The handler has returned a response, which is about to be written. */
  answered?(): void;
  /**
   * Sends the head; it may wait for following data. Names are in lower case. Throws TypeErrors for invalid headers, and
   * nothing was written then. `cookies`: values of `set-cookie`, one field each.
   */
  head(status: number, headers: Readonly<Record<string, string>>, cookies?: readonly string[]): void;
  /** Sends the head without waiting for a body; called before a body that is written without `left`. */
  flush(): void;
  /** True if writing a body is cheaper when the head has its length. */
  readonly needsLength: boolean;
  /**
   * Writes a part of the body. False if the caller should wait for `drained`. `left` is called when the memory may be
   * reused.
   */
  write(bytes: Buffer, left?: () => void): boolean;
  /** Ends the response, with an optional last part. */
  end(bytes?: Buffer, left?: () => void): void;
  /** Breaks off the response. */
  destroy(): void;
}

export interface ExchangeListener {
  /** There is room again. */
  drained(): void;
  /** Nothing more can be written; no loss if everything was. */
  closed(): void;
}

/** Abort reason: only the head was requested. */
export const headSent = new Error('the answer has no body');
/** Abort reason: the client disconnected. Shared, because creating errors is expensive. */
export const clientGone = new Error('the client went away');

export function brokenOff(): Error {
  return new Error('the request was broken off');
}

/** Serves exchanges. Resolves, or returns, when the response was handed over or is not needed. */
export interface ExchangeServer {
  /** Never throws, never rejects. */
  serve(exchange: Exchange): MaybePromise<void>;
}
