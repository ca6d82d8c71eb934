/** Errors of requests without a complete response. */

export type TransportErrorReason =
  /** No server listens, or the host is unknown or unreachable: the request was not sent. */
  | 'ConnectionRefused'
  /** The connection broke; the server may have acted on the request. */
  | 'ConnectionReset'
  | 'Timeout'
  /** The TLS handshake failed: the request was not sent. */
  | 'TLS'
  /** The caller's signal aborted. */
  | 'Aborted'
  /** A leader's write after this process lost its lease: it was not sent. */
  | 'TermOver'
  /** The response violates the protocol. */
  | 'Protocol'
  /** The transport was closed. */
  | 'Closed';

export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly reason: TransportErrorReason;

  constructor(reason: TransportErrorReason, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.reason = reason;
  }
}

/** True for a TransportError with this reason, whichever copy of the module created it. */
export function isTransportError(error: unknown, reason?: TransportErrorReason): boolean {
  if (!(error instanceof Error) || error.name !== 'TransportError' || !('reason' in error)) return false;
  return reason === undefined || error.reason === reason;
}

const refused = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOENT']);
const timeouts = new Set(['ETIMEDOUT', 'ESOCKETTIMEDOUT']);

/** Converts an error of Node.js's HTTP client; `target` names the server in the message. */
export function transportErrorFrom(error: unknown, target: string): TransportError {
  if (error instanceof TransportError) return error;
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
  const text = error instanceof Error && error.message !== '' ? error.message : code;
  const unsent = error instanceof Error && error.name === 'UnsentError';
  const options = { cause: error };
  if (refused.has(code))
    return new TransportError('ConnectionRefused', `cannot connect to ${target}: ${text}`, options);
  if (timeouts.has(code)) return new TransportError('Timeout', `no answer from ${target}: ${text}`, options);
  if (/^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|EPROTO)/.test(code)) {
    return new TransportError('TLS', `TLS with ${target} failed: ${text}`, options);
  }
  if (code === 'ABORT_ERR') return new TransportError('Aborted', `request to ${target} aborted`, options);
  if (unsent) return new TransportError('ConnectionRefused', `${target} did not take the request: ${text}`, options);
  if (code.startsWith('HPE_')) return new TransportError('Protocol', `bad answer from ${target}: ${text}`, options);
  return new TransportError('ConnectionReset', `connection to ${target} broke: ${text}`, options);
}
