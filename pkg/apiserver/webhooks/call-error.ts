/** Why a webhook gave no answer, in the words of 1.24. */
import { StatusError } from '#apimachinery/errors/status.js';

/**
 * `unusable`: its configuration leads nowhere. `unreachable`: no connection, or one that broke. `deadline`: no answer in
 * time. `canceled`: nobody waits any more. `refused`: it answered with a failure. `invalid`: its answer is none.
 */
export type CallFailure = 'unusable' | 'unreachable' | 'deadline' | 'canceled' | 'refused' | 'invalid';

export class WebhookCallError extends Error {
  override readonly name = 'WebhookCallError';
  readonly failure: CallFailure;
  /** Of the answer, where there was one; metrics tell it. */
  readonly code: number;

  constructor(failure: CallFailure, message: string, { code = 503, cause }: { code?: number; cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.failure = failure;
    this.code = code;
  }
}

/** What systems' and TLS' codes are called by the original's library, where it connects. */
const connectWords: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  EADDRNOTAVAIL: 'connect: cannot assign requested address',
  EACCES: 'connect: permission denied',
  ETIMEDOUT: 'i/o timeout',
};

const unknownAuthority = 'x509: certificate signed by unknown authority';

const otherWords: Readonly<Record<string, string>> = {
  ECONNRESET: 'EOF',
  EPIPE: 'write: broken pipe',
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  CERT_UNTRUSTED: unknownAuthority,
  CERT_HAS_EXPIRED: 'x509: certificate has expired or is not yet valid',
  CERT_NOT_YET_VALID: 'x509: certificate has expired or is not yet valid',
  ERR_SSL_WRONG_VERSION_NUMBER: 'http: server gave HTTP response to HTTPS client',
};

/** What a failed connection or request comes to; `dialled` is the address that was tried. */
export function reasonOf(error: unknown, dialled: string): string {
  if (!(error instanceof Error)) return String(error);
  const { code = '', hostname } = error as NodeJS.ErrnoException & { readonly hostname?: string };
  const connecting = connectWords[code];
  if (connecting !== undefined) return `dial tcp ${dialled}: ${connecting}`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${hostname ?? dialled}: no such host`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const { reason = error.message } = error as Error & { readonly reason?: string };
    return `x509: certificate is not valid: ${reason}`;
  }
  return otherWords[code] ?? error.message;
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

/** Characters of an answer's text that a message shows. */
const maxShown = 2048;

/** An answer that is no success, such as one that leads elsewhere. `text` is the beginning of its body. */
export function answerFailure(code: number, text: string): WebhookCallError {
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
 * 429: so many calls of that webhook are under way that another one would have to wait for them. Whoever asked may try
 * again; nobody else's place in the server is taken meanwhile.
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
