/** Ciphers for stored values, byte-compatible with 1.24, so that servers of both can use the same store. */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js';

/** Returns unpredictable bytes. */
export type RandomBytes = (size: number) => Buffer;

export interface ValueCipher {
  /** `context` is the value's key in the store. */
  encrypt(value: Buffer, context: string): Buffer;
  /** Throws TransformError. */
  decrypt(bytes: Buffer, context: string): Buffer;
  /** Whether `decrypt` detects every change. */
  readonly authenticated: boolean;
}

/** A stored value that cannot be decrypted. The message contains nothing of the value or the secrets. */
export class TransformError extends Error {
  override readonly name = 'TransformError';
}

const tooShort = 'the stored data was shorter than the required size';
const notAuthentic = 'message authentication failed';

/** Lengths of each cipher's secret; bytes. */
export const secretLengths = { aescbc: [16, 24, 32], aesgcm: [16, 24, 32], secretbox: [32] } as const;

export type CipherName = keyof typeof secretLengths;

/** Creates a cipher with a secret of a valid length. */
export function valueCipher(name: CipherName, secret: Buffer, random: RandomBytes): ValueCipher {
  switch (name) {
    case 'aescbc':
      return new AesCbc(secret, random);
    case 'aesgcm':
      return new AesGcm(secret, random);
    case 'secretbox':
      return new Secretbox(secret, random);
    default:
      return name satisfies never;
  }
}

const blockBytes = 16;

/** `initial vector (16) | blocks`, with PKCS#7 padding. */
class AesCbc implements ValueCipher {
  readonly authenticated = false;
  readonly #secret: Buffer;
  readonly #random: RandomBytes;
  readonly #algorithm: string;

  constructor(secret: Buffer, random: RandomBytes) {
    this.#secret = secret;
    this.#random = random;
    this.#algorithm = `aes-${secret.length * 8}-cbc`;
  }

  encrypt(value: Buffer): Buffer {
    const start = this.#random(blockBytes);
    const cipher = createCipheriv(this.#algorithm, this.#secret, start);
    return Buffer.concat([start, cipher.update(value), cipher.final()]);
  }

  decrypt(bytes: Buffer): Buffer {
    if (bytes.length < 2 * blockBytes) throw new TransformError(tooShort);
    if (bytes.length % blockBytes !== 0) {
      throw new TransformError('the stored data is not a multiple of the block size');
    }
    const cipher = createDecipheriv(this.#algorithm, this.#secret, bytes.subarray(0, blockBytes));
    cipher.setAutoPadding(false);
    const padded = Buffer.concat([cipher.update(bytes.subarray(blockBytes)), cipher.final()]);
    const padding = padded[padded.length - 1] ?? 0;
    const end = padded.length - padding;
    const valid = padding > 0 && padding <= blockBytes && padded.subarray(end).every((byte) => byte === padding);
    if (!valid) throw new TransformError('invalid padding on input');
    return padded.subarray(0, end);
  }
}

const gcmNonceBytes = 12;
const gcmTagBytes = 16;

/** `nonce (12) | ciphertext | tag (16)`. The store key is authenticated, too, so values cannot be swapped. */
class AesGcm implements ValueCipher {
  readonly authenticated = true;
  readonly #secret: Buffer;
  readonly #random: RandomBytes;
  readonly #algorithm: 'aes-128-gcm' | 'aes-192-gcm' | 'aes-256-gcm';

  constructor(secret: Buffer, random: RandomBytes) {
    this.#secret = secret;
    this.#random = random;
    this.#algorithm = `aes-${(secret.length * 8) as 128 | 192 | 256}-gcm`;
  }

  encrypt(value: Buffer, context: string): Buffer {
    const nonce = this.#random(gcmNonceBytes);
    const cipher = createCipheriv(this.#algorithm, this.#secret, nonce).setAAD(Buffer.from(context));
    return Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()]);
  }

  decrypt(bytes: Buffer, context: string): Buffer {
    if (bytes.length < gcmNonceBytes + gcmTagBytes) throw new TransformError(tooShort);
    const end = bytes.length - gcmTagBytes;
    const cipher = createDecipheriv(this.#algorithm, this.#secret, bytes.subarray(0, gcmNonceBytes), {
      authTagLength: gcmTagBytes,
    });
    cipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(end));
    const value = cipher.update(bytes.subarray(gcmNonceBytes, end));
    try {
      return Buffer.concat([value, cipher.final()]);
    } catch {
      throw new TransformError(notAuthentic);
    }
  }
}

const boxNonceBytes = 24;
const boxTagBytes = 16;

/** `nonce (24) | tag (16) | ciphertext`: XSalsa20 and Poly1305, as in NaCl's secretbox. */
class Secretbox implements ValueCipher {
  readonly authenticated = true;
  readonly #secret: Buffer;
  readonly #random: RandomBytes;

  constructor(secret: Buffer, random: RandomBytes) {
    this.#secret = secret;
    this.#random = random;
  }

  encrypt(value: Buffer): Buffer {
    const nonce = this.#random(boxNonceBytes);
    return Buffer.concat([nonce, xsalsa20poly1305(this.#secret, nonce).encrypt(value)]);
  }

  decrypt(bytes: Buffer): Buffer {
    if (bytes.length < boxNonceBytes + boxTagBytes) throw new TransformError(tooShort);
    const nonce = bytes.subarray(0, boxNonceBytes);
    try {
      const value = xsalsa20poly1305(this.#secret, nonce).decrypt(bytes.subarray(boxNonceBytes));
      return Buffer.from(value.buffer, value.byteOffset, value.length);
    } catch {
      throw new TransformError(notAuthentic);
    }
  }
}
