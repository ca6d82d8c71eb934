/** A request and its response, and the exchange that carries both, whatever version of HTTP its client speaks. */
import type { Duplex, Readable } from 'node:stream';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Cancellation, LazyAbort } from '#apimachinery/cancellation.js';
import { badRequest, requestEntityTooLarge } from '#apimachinery/errors/status.js';
import type { HeaderField } from '#http/http2/hpack.js';
import type { Body } from '#http/server/body.js';

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
  readonly body: Body | undefined;
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

/** Who is at the other end of a connection. */
export interface Peer {
  readonly address: string;
  /** DER of the certificate that it has shown. */
  readonly certificate: Buffer | undefined;
}

export interface ServerRequestOptions {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Names and values in turn, or in pairs. */
  readonly rawHeaders: readonly string[] | readonly HeaderField[];
  readonly peer: Peer;
  readonly gone: LazyAbort;
  readonly readBody: (() => Promise<Buffer>) | undefined;
  readonly openBody: (() => StreamedBody) | undefined;
}

const noBody = Buffer.alloc(0);

/**
 * A class, and not an object with a getter: each of those has a hidden class of its own, which holds on to the request
 * until the next full garbage collection.
 */
export class ServerRequest implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly peer: Peer;
  readonly readBody: (() => Promise<Buffer>) | undefined;
  readonly openBody: (() => StreamedBody) | undefined;
  body = noBody;
  readonly #rawHeaders: readonly string[] | readonly HeaderField[];
  readonly #gone: LazyAbort;

  constructor({ method, url, headers, rawHeaders, peer, gone, readBody, openBody }: ServerRequestOptions) {
    this.method = method;
    this.url = url;
    this.headers = headers;
    this.#rawHeaders = rawHeaders;
    this.peer = peer;
    this.readBody = readBody;
    this.openBody = openBody;
    this.#gone = gone;
  }

  get rawHeaders(): readonly string[] {
    return this.#rawHeaders.flat();
  }

  get remoteAddress(): string {
    return this.peer.address;
  }

  get clientCertificate(): Buffer | undefined {
    return this.peer.certificate;
  }

  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  get cancellation(): Cancellation {
    return this.#gone;
  }

  cancel(reason: unknown): void {
    this.#gone.abort(reason);
  }
}

/** A request under way, and what its answer is written to. */
export interface Exchange {
  readonly request: HttpRequest;
  /** Aborted with `clientGone` when the client goes before its answer is there. */
  readonly gone: LazyAbort;
  /** The client is gone, or the answer was broken off. */
  readonly destroyed: boolean;
  readonly headersSent: boolean;
  /** Is told while there is one; one at a time. */
  listener: ExchangeListener | undefined;
  /** The handler has answered, the answer is going to be written. */
  answered?(): void;
  /**
   * The head. Names of headers are in lower case. It may wait for what follows it. Throws TypeErrors for headers that cannot
   * be sent; nothing has been written then. `cookies`: values of `set-cookie`, each of which is a field of its own.
   */
  head(status: number, headers: Readonly<Record<string, string>>, cookies?: readonly string[]): void;
  /** The head leaves without waiting for a body; called before a body that is written without `left`. */
  flush(): void;
  /** A body is written at less cost when the head says how long it is. */
  readonly needsLength: boolean;
  /**
   * A part of the body. False when it would be better to wait until the listener is told of room. `left` is called when the
   * memory may be used for something else.
   */
  write(bytes: Buffer, left?: () => void): boolean;
  /** The end, with the last part of the body if there is one. */
  end(bytes?: Buffer, left?: () => void): void;
  /** Breaks the answer off. */
  destroy(): void;
}

export interface ExchangeListener {
  /** There is room again. */
  drained(): void;
  /** Nothing more can be written; it is no loss when all was. */
  closed(): void;
}

/** Why the work for an answer is stopped of which only the head is wanted. */
export const headSent = new Error('the answer has no body');
/** Why the work for a request is stopped whose client is gone; one for all, since making errors is not cheap. */
export const clientGone = new Error('the client went away');

export function brokenOff(): Error {
  return new Error('the request was broken off');
}

/**
 * The whole body. Throws 413 as soon as more than `maxBytes` are announced or arrive, after `refuse` was called, and 400 when
 * it does not come to its end: what goes wrong on the way is the client's doing.
 */
export function readBody(
  { source, length = 0 }: Pick<StreamedBody, 'source' | 'length'>,
  maxBytes: number,
  refuse: () => void,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    let over = false;
    const tooLarge = () => {
      over = true;
      parts.length = 0;
      source.pause();
      refuse();
      reject(requestEntityTooLarge(`limit is ${maxBytes}`));
    };
    const broken = (error: unknown) => {
      if (!over) reject(badRequest(String(error), error));
      over = true;
    };
    if (length > maxBytes) return tooLarge();
    if (source.destroyed) return broken(brokenOff());
    source.on('data', (part: Buffer) => {
      size += part.length;
      if (size <= maxBytes) parts.push(part);
      else if (!over) tooLarge();
    });
    source.on('end', () => {
      if (over) return;
      over = true;
      const [only] = parts;
      resolve(parts.length === 1 && only !== undefined ? only : Buffer.concat(parts, size));
    });
    source.on('error', broken);
    source.on('close', () => broken(brokenOff()));
  });
}

/** Serves what a connection brings; resolves, or returns, when the answer has been handed over, or is not wanted any more. */
export interface ExchangeServer {
  /** Never throws, never rejects. */
  serve(exchange: Exchange): MaybePromise<void>;
}
