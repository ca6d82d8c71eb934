/**
 * A request and its response, free of any HTTP library: the HTTPS server and the in-process transport both hand these
 * to the same handler, so a cluster in one process needs no sockets.
 */

import type { Duplex, Readable } from 'node:stream';
import type { MaybePromise } from '#apimachinery/async/maybe-promise.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { DecodeError } from '#apimachinery/codec/json/decode-error.js';

/** Who asks. */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface ApiRequest {
  readonly method: string;
  /** Path and query as received. */
  readonly url: string;
  /** Lower-case names; repeated headers joined by `, `. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Names and values in turn, each line as it came; absent within the process. */
  readonly rawHeaders?: readonly string[];
  /** The whole body, already limited in size; empty when there is none. The pipeline sets it when it has read it. */
  body: Buffer;
  /** Set where the body was YAML and is JSON now: what it said twice (`ReadYAML`). */
  repeatedKeys?: readonly string[];
  /** Set where the body is YAML that cannot be read; it is left as it came. */
  yamlFault?: DecodeError;
  /**
   * Set where the body is still to be read: nobody who may not ask for something makes the server keep megabytes. Rejects
   * with a StatusError (413 for a body over the limit).
   */
  readonly readBody?: (() => Promise<Buffer>) | undefined;
  /** The same as it comes, whatever its size, for those who pass it on; once, and instead of `readBody`. */
  readonly openBody?: (() => StreamedBody) | undefined;
  readonly remoteAddress: string;
  /** DER of the verified client certificate, if the client presented one that the TLS layer accepted. */
  readonly clientCertificate?: Buffer | undefined;
  /** The same for all requests of one connection; absent where there are no connections. */
  readonly peer?: object;
  /** Set by the in-process transport only: the caller is already known. */
  readonly user?: UserInfo;
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

export interface ApiResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** Values of `Set-Cookie`, the one header that cannot be joined; absent: none. */
  readonly cookies?: readonly string[] | undefined;
  /** Buffers are written as they are; an iterable is streamed with back-pressure, one write per item. */
  readonly body: Buffer | AsyncIterable<Buffer> | undefined;
}

/** The whole API server as a function. Never rejects: failures become Status responses. */
export type ApiHandler = (request: ApiRequest) => Promise<ApiResponse>;

/** The same without a promise where the answer is at hand. Never throws. */
export type PromptHandler = (request: ApiRequest) => MaybePromise<ApiResponse>;

/**
 * An upgrade request (WebSocket). Undefined: the handler has taken the socket over and owns it from then on. Otherwise the
 * answer is to be written, as to any request, and the connection to be closed. Never rejects.
 */
export type UpgradeHandler = (request: ApiRequest, socket: Duplex, head: Buffer) => Promise<ApiResponse | undefined>;
