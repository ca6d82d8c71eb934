/** Which failed requests are sent again, and after how long. Pure. */
import { exponentialDelayMs } from '#apimachinery/backoff/backoff.js';
import { retryAfterSeconds } from '#client/rest/response.js';
import type { TransportResponse } from '#client/rest/transport.js';
import { isTransportError } from '#http/client/transport-error.js';

/** As in client-go. */
const maxResponseRetries = 10;
/** About three seconds in all: callers have back-off of their own. */
const maxConnectRetries = 5;

/** Wait before the answer's request is sent again, undefined when the answer stands. `retries`: how many there were. */
export function responseRetryMs(
  response: Pick<TransportResponse, 'status' | 'headers'>,
  retries: number,
): number | undefined {
  if (retries >= maxResponseRetries) return undefined;
  const seconds = retryAfterSeconds(response);
  // With Retry-After the server says that it did not act on the request. Without it a refusal is meant as one: of an
  // eviction that a budget does not allow, for instance.
  const again = response.status === 429 || response.status >= 500;
  return again && seconds !== undefined ? seconds * 1000 : undefined;
}

/** Wait before a request that got no answer is sent again, undefined when the error stands. */
export function errorRetryMs(error: unknown, method: string, retries: number): number | undefined {
  if (retries >= maxConnectRetries) return undefined;
  const safe = method === 'GET' || method === 'HEAD';
  const idempotent = safe || method === 'PUT' || method === 'DELETE';
  // Never sent: sending it (again) cannot do it twice.
  if (idempotent && isTransportError(error, 'ConnectionRefused')) return exponentialDelayMs(retries, 100, 2000);
  // A kept-alive connection may be closed by the server in the moment it is used again.
  if (safe && isTransportError(error, 'ConnectionReset')) return exponentialDelayMs(retries, 10, 2000);
  return undefined;
}
