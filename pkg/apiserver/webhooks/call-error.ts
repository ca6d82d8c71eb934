/** Failures of webhook calls, with the messages of 1.24. */
import { StatusError } from '#apimachinery/errors/status.js';

/**
 * `unusable`: invalid configuration. `unreachable`: no connection, or a broken one. `deadline`: no response in time. `canceled`:
 * the caller has ended the call. `refused`: an error response. `invalid`: a malformed response.
 */
export type CallFailure = 'unusable' | 'unreachable' | 'deadline' | 'canceled' | 'refused' | 'invalid';

export class WebhookCallError extends Error {
  override readonly name = 'WebhookCallError';
  readonly failure: CallFailure;
  /** Status code of the response, if any; shown in metrics. */
  readonly code: number;
  /** True if the same call may succeed soon. */
  readonly passes: boolean;
  /** The server's request for a pause; 0: none. */
  readonly retryAfterMs: number;

  constructor(failure: CallFailure, message: string, details: CallErrorDetails = {}) {
    const { code = 503, passes = false, retryAfterMs = 0, cause } = details;
    super(message, cause === undefined ? undefined : { cause });
    this.failure = failure;
    this.code = code;
    this.passes = passes;
    this.retryAfterMs = retryAfterMs;
  }
}

interface CallErrorDetails {
  readonly code?: number;
  readonly passes?: boolean;
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

const fixedWords: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  403: 'forbidden',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  406: 'the server was unable to respond with a content type that the client supports',
  409: 'the server reported a conflict',
  415: 'the body of the request was in an unknown format',
  422: 'the server rejected our request due to an error in our request',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504: 'the server was unable to return a response in the time allotted, but may still be processing the request',
};

/** Limit of a response's characters in a message. */
const maxShown = 2048;

/** The error for a response without success, redirections included. `text` is the beginning of its body. */
export function responseFailure(code: number, text: string): WebhookCallError {
  const shown = text.trim().slice(0, maxShown);
  const fixed = fixedWords[code];
  if (fixed !== undefined) return new WebhookCallError('refused', fixed, { code });
  const message =
    code >= 500
      ? `an error on the server (${JSON.stringify(shown === '' ? 'unknown' : shown)}) has prevented the request from succeeding`
      : `the server responded with the status code ${code} but did not return more information`;
  return new WebhookCallError('refused', message, { code });
}

/**
 * 429: the limit of concurrent calls of this webhook is reached. The client may try again; requests without this webhook are not
 * affected.
 */
export function tooManyCalls(url: string, calls: number): StatusError {
  return new StatusError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `${calls} calls of the webhook ${url} are under way already, please try again later`,
    reason: 'TooManyRequests',
    details: { retryAfterSeconds: 1 },
    code: 429,
  });
}
