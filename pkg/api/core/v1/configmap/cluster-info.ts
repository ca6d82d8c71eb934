/** What a cluster tells strangers of itself, and the signatures by which those who have a token know that it is true. */
import { createHmac } from 'node:crypto';
import type { BootstrapToken } from '#api/core/v1/secret/bootstrap-token.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** Name of the map, in the public namespace. */
export const clusterInfoName = 'cluster-info';

/** Key of the client config, without any user, that says where the cluster is and whom to trust. */
export function clusterInfoKey({ shortName }: Dialect): string {
  return `${shortName}config`;
}

/** Of the keys of its signatures; the id of the token follows. */
export function clusterInfoSignaturePrefix(dialect: Dialect): string {
  return `jws-${clusterInfoKey(dialect)}-`;
}

/** A detached JSON Web Signature (RFC 7515, appendix F), `header..signature`: what is signed stands elsewhere. */
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
