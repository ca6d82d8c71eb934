/**
 * What makes a machine a server: a bootstrap token, and a key that the cluster never has. With the token it gets the
 * authorities of the cluster, encrypted; only with the key can it read them. Whoever reads the cluster's secrets, its store
 * or its backups has one without the other.
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

/** The token of nodes and, behind another point, the key in base64url. */
export function formatServerToken({ id, secret, key }: ServerToken): string {
  return `${id}.${secret}.${key.toString('base64url')}`;
}

/** Undefined for what is none. */
export function parseServerToken(text: string): ServerToken | undefined {
  const at = text.lastIndexOf('.');
  const token = parseBootstrapToken(text.slice(0, Math.max(0, at)));
  const key = Buffer.from(text.slice(at + 1), 'base64url');
  return token === undefined || key.length !== keyBytes ? undefined : { ...token, key };
}

/** Nonce, tag and ciphertext in base64. The token's id is part of what is authenticated. */
export function seal(text: string, { id, key }: Pick<ServerToken, 'id' | 'key'>): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(id));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
}

/** Throws an Error for what was sealed with another key, or changed since. */
export function unseal(sealed: string, { id, key }: Pick<ServerToken, 'id' | 'key'>): string {
  const bytes = Buffer.from(sealed, 'base64');
  if (bytes.length < nonceBytes + tagBytes) throw new Error('the sealed authorities are cut off');
  const nonce = bytes.subarray(0, nonceBytes);
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(id));
  decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
  return decipher.update(bytes.subarray(nonceBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8');
}
