/** What the typed verbs hand to the part of the client that sends requests. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { ObjectEncoding } from '#client/rest/object-encoding.js';
import type { TransportResponse } from '#client/rest/transport.js';

/** One request with all that the client adds to it. */
export interface ClientRequest {
  readonly method: string;
  /** Label in metrics: GET, LIST, WATCH, … */
  readonly verb?: string;
  readonly path: string;
  readonly body?: Buffer | string | undefined;
  readonly contentType?: string | undefined;
  /** Accept header; JSON unless told. */
  readonly accept?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Longest answer that `value` reads. */
  readonly maxBytes?: number | undefined;
}

/** Sends requests until an answer stands. Both methods throw StatusError and TransportError. */
export interface RequestSender {
  readonly dialect: Dialect;
  readonly encoding: ObjectEncoding;
  /** What the answer holds, in the encoding that it has. */
  value(request: ClientRequest): Promise<unknown>;
  /** A successful answer with its body unread. */
  open(request: ClientRequest): Promise<TransportResponse>;
}
