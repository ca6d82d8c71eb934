/** A received request, and what its user holds of the server. */
import type { Cancellation, LazyAbort } from '#apimachinery/cancellation.js';
import type { HeaderField } from '#http/http2/hpack.js';
import type { Account, HttpRequest, Peer, StreamedBody } from '#http/server/exchange.js';

/**
 * Divides something among clients whose number is unknown: a client may hold as much as is free. So one client holds at most
 * half of it, `n` clients hold at most `n / (n + 1)`, and there is always room for another (Choudhury and Hahne, "Dynamic
 * Queue Length Thresholds for Shared-Memory Packet Switches", 1998).
 */
export class Shares {
  readonly #most: number;
  #used = 0;
  readonly #held = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  get used(): number {
    return this.#used;
  }

  /** False if the client's share is used up. */
  take(client: string, amount: number): boolean {
    const held = (this.#held.get(client) ?? 0) + amount;
    if (held + this.#used > this.#most) return false;
    this.#held.set(client, held);
    this.#used += amount;
    return true;
  }

  give(client: string, amount: number): void {
    const held = (this.#held.get(client) ?? 0) - amount;
    if (held > 0) this.#held.set(client, held);
    else this.#held.delete(client);
    this.#used -= amount;
  }
}

/** After this time, use counts for a third. */
const fadingMs = 1000;
/** Use is not faded for each request. */
const stepMs = 50;

/** Use that fades. */
export class FadingAccount implements Account {
  readonly weight: number;
  #usedMs = 0;
  #atMs = 0;

  /** `weight`: how much more than others a user may use. */
  constructor(weight = 1) {
    this.weight = weight;
  }

  charge(ms: number, nowMs: number): void {
    if (nowMs - this.#atMs > stepMs) this.#fade(nowMs);
    this.#usedMs += ms;
  }

  used(nowMs: number): number {
    if (nowMs - this.#atMs > stepMs) this.#fade(nowMs);
    return this.#usedMs / this.weight;
  }

  #fade(nowMs: number): void {
    this.#usedMs *= Math.exp((this.#atMs - nowMs) / fadingMs);
    this.#atMs = nowMs;
  }
}

/** What all users of a server share. */
export interface ServerShares {
  /** Open requests, watches included. */
  readonly requests: Shares;
  /** Bytes of requests' bodies, from their arrival until the response is complete. */
  readonly bodyBytes: Shares;
}

export interface ServerRequestOptions {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Names and values, alternating or as pairs. */
  readonly rawHeaders: readonly string[] | readonly HeaderField[];
  readonly peer: Peer;
  readonly gone: LazyAbort;
  readonly shares: ServerShares;
  readonly readBody: (() => Promise<Buffer>) | undefined;
  readonly openBody: (() => StreamedBody) | undefined;
}

const noBody = Buffer.alloc(0);

/**
 * A class instead of an object with a getter: each such object has its own hidden class, which retains the request
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
  readonly #shares: ServerShares;
  #user: string | undefined;
  #heldBytes = 0;
  #released = false;

  constructor(options: ServerRequestOptions) {
    this.method = options.method;
    this.url = options.url;
    this.headers = options.headers;
    this.#rawHeaders = options.rawHeaders;
    this.peer = options.peer;
    this.readBody = options.readBody;
    this.openBody = options.openBody;
    this.#gone = options.gone;
    this.#shares = options.shares;
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

  get account(): Account | undefined {
    return this.peer.account;
  }

  claim(user: string, groups: readonly string[]): boolean {
    const { peer } = this;
    if (peer.user !== user) peer.claim?.(user, groups);
    if (this.#user !== undefined || this.#released) return true;
    if (!this.#shares.requests.take(user, 1)) return false;
    this.#user = user;
    return true;
  }

  /** Counts bytes that arrived for the user, or for the address before there is one. False if there are too many. */
  hold(bytes: number): boolean {
    if (this.#released || !this.#shares.bodyBytes.take(this.#holder, bytes)) return false;
    this.#heldBytes += bytes;
    return true;
  }

  /** Called when the response is complete or the client is gone. Idempotent. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    if (this.#user !== undefined) this.#shares.requests.give(this.#user, 1);
    if (this.#heldBytes > 0) this.#shares.bodyBytes.give(this.#holder, this.#heldBytes);
  }

  get #holder(): string {
    return this.#user ?? this.peer.address;
  }
}
