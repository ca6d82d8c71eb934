/** The interface between the typed verbs and the part of the client that sends requests. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { ObjectEncoding } from '#client/rest/object-encoding.js';
import type { TransportResponse } from '#client/rest/transport.js';

/** A request with everything that the client adds to it. */
export interface ClientRequest {
  readonly method: string;
  /** Label in metrics: GET, LIST, WATCH, … */
  readonly verb?: string;
  readonly path: string;
  readonly body?: Buffer | string | undefined;
  readonly contentType?: string | undefined;
  /** Accept header; default: JSON. */
  readonly accept?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Limit of the response that `value` reads. */
  readonly maxBytes?: number | undefined;
}

/** Sends requests with retries. Both methods throw StatusError and TransportError. */
export interface RequestSender {
  readonly dialect: Dialect;
  readonly encoding: ObjectEncoding;
  /** The decoded response. */
  value(request: ClientRequest): Promise<unknown>;
  /** A successful response with its body unread. */
  open(request: ClientRequest): Promise<TransportResponse>;
}
