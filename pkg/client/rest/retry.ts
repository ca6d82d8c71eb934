/** Which failed requests are retried, and after which delay. Pure. */
import { exponentialDelayMs } from '#apimachinery/backoff/backoff.js';
import { retryAfterSeconds } from '#client/rest/response.js';
import type { TransportResponse } from '#client/rest/transport.js';
import { isTransportError } from '#http/client/transport-error.js';

/** As in client-go. */
const maxResponseRetries = 10;
/** About three seconds in total; callers have their own back-off. */
const maxConnectRetries = 5;

/** Delay before retrying the response's request; undefined: no retry. `retries`: earlier retries. */
export function responseRetryMs(
  response: Pick<TransportResponse, 'status' | 'headers'>,
  retries: number,
): number | undefined {
  if (retries >= maxResponseRetries) return undefined;
  const seconds = retryAfterSeconds(response);
  // With Retry-After the server says that it did not act on the request. Without it the refusal is final, such as an
  // eviction that a budget does not allow.
  const again = response.status === 429 || response.status >= 500;
  return again && seconds !== undefined ? seconds * 1000 : undefined;
}

/** Delay before retrying a request without response; undefined: no retry. */
export function errorRetryMs(error: unknown, method: string, retries: number): number | undefined {
  if (retries >= maxConnectRetries) return undefined;
  const safe = method === 'GET' || method === 'HEAD';
  const idempotent = safe || method === 'PUT' || method === 'DELETE';
  // It was never sent, so a retry cannot apply it twice.
  if (idempotent && isTransportError(error, 'ConnectionRefused')) return exponentialDelayMs(retries, 100, 2000);
  // The server may close a kept-alive connection just when it is reused.
  if (safe && isTransportError(error, 'ConnectionReset')) return exponentialDelayMs(retries, 10, 2000);
  return undefined;
}
