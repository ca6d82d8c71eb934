/** The public cluster info, and the signatures by which token holders verify it. */
import { createHmac } from 'node:crypto';
import type { BootstrapToken } from '#api/core/v1/secret/bootstrap-token.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** Name of the config map, in the public namespace. */
export const clusterInfoName = 'cluster-info';

/** Key of a client config without user, which contains the cluster's address and trusted certificates. */
export function clusterInfoKey({ shortName }: Dialect): string {
  return `${shortName}config`;
}

/** Prefix of the keys of its signatures; the token's id follows. */
export function clusterInfoSignaturePrefix(dialect: Dialect): string {
  return `jws-${clusterInfoKey(dialect)}-`;
}

/** A detached JSON Web Signature (RFC 7515, appendix F), `header..signature`: the content is not part of it. */
export function clusterInfoSignature(content: string, token: BootstrapToken): string {
  const header = base64url(JSON.stringify({ alg: 'HS256', kid: token.id }));
  const signature = createHmac('sha256', token.secret)
    .update(`${header}.${base64url(content)}`)
    .digest('base64url');
  return `${header}..${signature}`;
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}
