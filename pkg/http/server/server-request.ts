/** A request of Node.js's servers as the handler sees it. */
import type { Cancellation, LazyAbort } from '#apimachinery/cancellation.js';
import type { HeaderField } from '#http/http2/hpack.js';
import type { HttpRequest, StreamedBody } from '#http/server/exchange.js';

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
