/** Messages of failed connections, as in 1.24. */

import { isIP } from 'node:net';
import type { PeerCertificate } from 'node:tls';
import { canonicalAddress } from '#apimachinery/net/ip.js';

/** Go's messages for error codes while connecting. */
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

/** The message for a failed connection or request to the address `dialled`. */
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
 * The message of a failed TLS handshake; OpenSSL's own text is for developers
 * (`write EPROTO 806C…:error:0A000438:SSL routines:ssl3_read_bytes:tlsv1 alert internal error:../deps/…`).
 */
function tlsWords(message: string): string | undefined {
  const reason = /:SSL routines:[^:]*:([^:]+)/.exec(message)?.[1];
  if (reason === undefined) return undefined;
  if (reason === 'wrong version number') return 'http: server gave HTTP response to HTTPS client';
  const alert = /^\S+ alert (.+)$/.exec(reason)?.[1];
  return alert === undefined ? `tls: ${reason}` : `remote error: tls: ${alert}`;
}

const unknownAuthority = 'certificate signed by unknown authority';
const expired = 'certificate has expired or is not yet valid';

const wordsOfCodes: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  CERT_UNTRUSTED: unknownAuthority,
  CERT_HAS_EXPIRED: expired,
  CERT_NOT_YET_VALID: expired,
};

/** Limit of listed names; more are only counted. */
const mostNames = 100;
const alternativeName = /(DNS|IP Address):("(?:[^"\\]|\\.)*"|[^,]*)/g;

/** Node.js's error for a certificate with other names. */
interface NameError extends Error {
  readonly host?: string;
  readonly cert?: Pick<PeerCertificate, 'subjectaltname'>;
}

/** Go's message for a refused server certificate, without the common prefix; undefined for other errors. Pure. */
function certificateWords(error: NodeJS.ErrnoException): string | undefined {
  const { code = '' } = error;
  return code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? wrongName(error) : wordsOfCodes[code];
}

function wrongName({ host = '', cert }: NameError): string {
  const isAddress = isIP(host) !== 0;
  const names = alternativeNames(cert?.subjectaltname ?? '', isAddress ? 'IP Address' : 'DNS');
  if (names.length >= mostNames)
    return `certificate is valid for ${names.length} ${isAddress ? 'IP SANs' : 'names'}, but none matched ${host}`;
  if (names.length > 0) return `certificate is valid for ${names.join(', ')}, not ${host}`;
  return isAddress
    ? `cannot validate certificate for ${host} because it doesn't contain any IP SANs`
    : `certificate is not valid for any names, but wanted to match ${host}`;
}

function alternativeNames(text: string, kind: 'DNS' | 'IP Address'): string[] {
  return [...text.matchAll(alternativeName)]
    .filter((match) => match[1] === kind)
    .map(([, , name = '']) => (kind === 'DNS' ? unquoted(name) : (canonicalAddress(name) ?? name)));
}

/** Node.js encodes names with commas as JSON. */
function unquoted(name: string): string {
  if (!name.startsWith('"')) return name;
  try {
    return String(JSON.parse(name));
  } catch {
    return name;
  }
}
