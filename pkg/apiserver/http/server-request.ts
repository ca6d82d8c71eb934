/** A request of Node.js's servers as the handler sees it. */
import type { Cancellation, CancellationListener } from '#apimachinery/cancellation.js';
import type { ApiRequest, StreamedBody } from '#apiserver/http/exchange.js';
import type { HeaderField } from '#http2/hpack.js';

/**
 * An AbortController that makes its signal when it is first read: most requests are answered before. A listener of the end
 * alone needs no signal.
 */
export class LazyAbort implements Cancellation {
  #controller: AbortController | undefined;
  #reason: unknown;
  #listeners: CancellationListener[] | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#reason !== undefined;
  }

  /** Why it was aborted; undefined when it was not. */
  get reason(): unknown {
    return this.#reason;
  }

  throwIfAborted(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** Each is called once. */
  addEventListener(_type: 'abort', listener: CancellationListener): void {
    this.#listeners ??= [];
    if (!this.#listeners.includes(listener)) this.#listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: CancellationListener): void {
    const at = this.#listeners?.indexOf(listener) ?? -1;
    if (at >= 0) this.#listeners?.splice(at, 1);
  }

  /** The first reason counts. */
  abort(reason: unknown): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    const listeners = this.#listeners ?? [];
    this.#listeners = undefined;
    for (const listener of listeners) {
      if (typeof listener === 'function') listener();
      else listener.handleEvent();
    }
  }
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
export class ServerRequest implements ApiRequest {
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
