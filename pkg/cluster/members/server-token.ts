/**
 * The token of a new server: a bootstrap token that reads the cluster's encrypted authorities, and the key that decrypts
 * them. The key is never stored in the cluster, neither in Secrets nor in the store or backups.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { type BootstrapToken, parseBootstrapToken } from '#api/core/v1/secret/bootstrap-token.js';

export interface ServerToken extends BootstrapToken {
  /** 32 bytes. */
  readonly key: Buffer;
}

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const algorithm = 'aes-256-gcm';

export function newServerKey(): Buffer {
  return randomBytes(keyBytes);
}

/** The bootstrap token, a dot, and the key in base64url. */
export function formatServerToken({ id, secret, key }: ServerToken): string {
  return `${id}.${secret}.${key.toString('base64url')}`;
}

/** Undefined for a malformed token. */
export function parseServerToken(text: string): ServerToken | undefined {
  const at = text.lastIndexOf('.');
  const token = parseBootstrapToken(text.slice(0, Math.max(0, at)));
  const key = Buffer.from(text.slice(at + 1), 'base64url');
  return token === undefined || key.length !== keyBytes ? undefined : { ...token, key };
}

/** Encrypts a text: nonce, tag and ciphertext in base64. The token's id is authenticated too. */
export function seal(text: string, { id, key }: Pick<ServerToken, 'id' | 'key'>): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(id));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
}

/** Throws an Error for a wrong key or a changed text. */
export function unseal(sealed: string, { id, key }: Pick<ServerToken, 'id' | 'key'>): string {
  const bytes = Buffer.from(sealed, 'base64');
  if (bytes.length < nonceBytes + tagBytes) throw new Error('the sealed authorities are truncated');
  const nonce = bytes.subarray(0, nonceBytes);
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(id));
  decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
  return decipher.update(bytes.subarray(nonceBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8');
}
