/** How requests are sent to one server and responses received, in one protocol. */
import type { Readable } from 'node:stream';

export interface ExchangeRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Buffer | string | undefined;
  /** Long-lived: it must not occupy a connection that other requests wait for. */
  readonly stream: boolean;
  readonly signal: AbortSignal;
  /** Called when there is a connection for it, right before its first byte; what it throws ends the request unsent. */
  readonly beforeSending?: (() => void) | undefined;
}

export interface ExchangeResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Readable;
  /** Whether all of the body has come; to be asked when it has ended. */
  isComplete(): boolean;
  /** Ends the exchange; to be called also when the body has ended. */
  cancel(): void;
}

export interface Connections {
  /** Rejects with the error of the connection, or with UnsentError when the server never saw the request. */
  send(request: ExchangeRequest): Promise<ExchangeResponse>;
  /** Takes no more requests; connections close when what they carry has ended. */
  retire(): void;
  destroy(): void;
}

/** The connection broke before the server acted on the request, which can therefore be sent again. */
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

/** The error of a request whose caller's signal aborted, as Node.js's client has it. */
export function abortError(): Error {
  return Object.assign(new Error('aborted'), { code: 'ABORT_ERR' });
}
