/** Why a connection came to nothing, in the words of 1.24. */
import { certificateWords } from '#apiserver/service-routing/certificate-failure.js';

/** What systems' and TLS' codes are called by the original's library, where it connects. */
const connectWords: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  EADDRNOTAVAIL: 'connect: cannot assign requested address',
  EACCES: 'connect: permission denied',
  ETIMEDOUT: 'i/o timeout',
};

const otherWords: Readonly<Record<string, string>> = {
  ECONNRESET: 'EOF',
  EPIPE: 'write: broken pipe',
  ERR_SSL_WRONG_VERSION_NUMBER: 'http: server gave HTTP response to HTTPS client',
};

/** What a failed connection or request comes to; `dialled` is the address that was tried. */
export function reasonOf(error: unknown, dialled: string): string {
  if (!(error instanceof Error)) return String(error);
  const { code = '', hostname } = error as NodeJS.ErrnoException & { readonly hostname?: string };
  const connecting = connectWords[code];
  if (connecting !== undefined) return `dial tcp ${dialled}: ${connecting}`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${hostname ?? dialled}: no such host`;
  const unverified = certificateWords(error);
  if (unverified !== undefined) return `tls: failed to verify certificate: x509: ${unverified}`;
  return otherWords[code] ?? tlsWords(error.message) ?? error.message;
}

/**
 * What the other side, or ours, had against a handshake: the library's text is one for its developers
 * (`write EPROTO 806C…:error:0A000438:SSL routines:ssl3_read_bytes:tlsv1 alert internal error:../deps/…`).
 */
function tlsWords(message: string): string | undefined {
  const reason = /:SSL routines:[^:]*:([^:]+)/.exec(message)?.[1];
  if (reason === undefined) return undefined;
  if (reason === 'wrong version number') return 'http: server gave HTTP response to HTTPS client';
  const alert = /^\S+ alert (.+)$/.exec(reason)?.[1];
  return alert === undefined ? `tls: ${reason}` : `remote error: tls: ${alert}`;
}
