/** Requests and responses of a client, and the connections to one server in one protocol. */
import type { Readable } from 'node:stream';

export interface ExchangeRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Buffer | string | undefined;
  /** A long-lived request, which must not occupy a connection that other requests wait for. */
  readonly stream: boolean;
  readonly signal: AbortSignal;
  /**
   * Called when a connection is available, right before the first byte is sent; if it throws, the request ends unsent.
   */
  readonly beforeSending?: (() => void) | undefined;
}

export interface ExchangeResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Readable;
  /** Whether the whole body has arrived; valid once it has ended. */
  isComplete(): boolean;
  /** Ends the exchange; must be called even after the body has ended. */
  cancel(): void;
}

export interface Connections {
  /** Rejects with the connection's error, or with UnsentError if the server never saw the request. */
  send(request: ExchangeRequest): Promise<ExchangeResponse>;
  /** Takes no more requests; connections close after their last exchange. */
  retire(): void;
  destroy(): void;
}

/** The connection broke before the server acted on the request, so it can be sent again. */
export class UnsentError extends Error {
  override readonly name = 'UnsentError';
}

export function flattenHeaders(
  headers: Readonly<Record<string, string | string[] | number | undefined>>,
): Record<string, string | undefined> {
  const flat: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith(':')) flat[name] = Array.isArray(value) ? value.join(', ') : value?.toString();
  }
  return flat;
}

/** The error of a request whose caller aborted it, equal to that of Node.js's client. */
export function abortError(): Error {
  return Object.assign(new Error('aborted'), { code: 'ABORT_ERR' });
}
