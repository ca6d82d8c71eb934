/** Failures of calls of a kubeconfig file's server, with the messages of 1.24's client. Pure. */
import { reasonOf } from '#apiserver/service-routing/dial-failure.js';
import { responseFailure, WebhookCallError } from '#apiserver/webhooks/call-error.js';
import { isTransportError } from '#http/client/transport-error.js';

/** Codes of answers after which 1.24 tries again: InternalError, Timeout, TooManyRequests. */
const passingCodes = new Set([429, 500, 504]);
/** Longer pauses than this are not waited for. */
const maxRetryAfterSeconds = 3600;
/** Limit of a Status's message in an error. */
const maxMessage = 2048;

/** The error for an answer without success. A Status in the body says why. `retryAfter`: the header, in seconds. */
export function refusedCall(code: number, body: string, retryAfter: string | undefined): WebhookCallError {
  const { failure, message } = responseFailure(code, body);
  const seconds = /^\d{1,9}$/.test(retryAfter ?? '') ? Math.min(Number(retryAfter), maxRetryAfterSeconds) : undefined;
  const mayReturn = seconds !== undefined && (code === 429 || code >= 500);
  return new WebhookCallError(failure, statusMessage(body) ?? (code === 403 ? plainMessage(body) : message), {
    code,
    passes: passingCodes.has(code) || mayReturn,
    retryAfterMs: mayReturn ? seconds * 1000 : 0,
  });
}

/** In 1.24 the text of a server that forbids a call is the whole message. */
function plainMessage(body: string): string {
  const text = body.trim().slice(0, maxMessage);
  return text === '' ? 'unknown' : text;
}

function statusMessage(body: string): string | undefined {
  if (!body.trimStart().startsWith('{')) return undefined;
  let status: unknown;
  try {
    status = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (typeof status !== 'object' || status === null) return undefined;
  const { kind, message } = status as { readonly kind?: unknown; readonly message?: unknown };
  if (kind !== 'Status' || typeof message !== 'string' || message === '') return undefined;
  return message.slice(0, maxMessage);
}

export interface LostCall {
  /** As shown in the message. */
  readonly url: string;
  readonly server: URL;
  /** The time limit has passed. */
  readonly late: boolean;
}

/** The error of a call without a complete answer. Only broken connections are worth another attempt. */
export function lostConnection(error: unknown, { url, server, late }: LostCall): WebhookCallError {
  const port = server.port === '' ? (server.protocol === 'https:' ? '443' : '80') : server.port;
  const why = late
    ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
    : reasonOf(rootOf(error), `${server.hostname}:${port}`);
  return new WebhookCallError(late ? 'deadline' : 'unreachable', `Post ${JSON.stringify(url)}: ${why}`, {
    cause: error,
    passes: !late && isTransportError(error, 'ConnectionReset'),
    ...(late ? { code: 504 } : {}),
  });
}

/** The innermost error: the client wraps those of its connections. */
function rootOf(error: unknown): unknown {
  let root = error;
  while (root instanceof Error && root.cause instanceof Error) root = root.cause;
  return root;
}
