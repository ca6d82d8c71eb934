/** TLS certificates by host. */
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Secret } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';

interface ReadCertificate {
  readonly context?: SecureContext;
  readonly why?: string;
}

export class Certificates {
  /** Results per secret object; a changed secret is a new object. */
  readonly #certificates = new WeakMap<Secret, ReadCertificate>();

  /** Undefined if the secret contains a valid certificate and key. */
  whyUnusable(secret: Secret): string | undefined {
    return this.#of(secret).why;
  }

  /** Undefined if the host has no certificate. */
  contextFor(host: string, certificates: ReadonlyMap<string, Secret>): SecureContext | undefined {
    const dot = host.indexOf('.');
    const secret =
      certificates.get(host) ?? (dot > 0 ? certificates.get(`*${host.slice(dot)}`) : undefined) ?? certificates.get('');
    return secret && this.#of(secret).context;
  }

  #of(secret: Secret): ReadCertificate {
    const cached = this.#certificates.get(secret);
    if (cached !== undefined) return cached;
    const read = readPair(secret);
    this.#certificates.set(secret, read);
    return read;
  }
}

function readPair({ data = {} }: Secret): ReadCertificate {
  const pem = (key: string) => Buffer.from(data[key] ?? '', 'base64');
  const [cert, key] = [pem('tls.crt'), pem('tls.key')];
  if (cert.length === 0 || key.length === 0) return { why: 'tls.crt and tls.key must be set' };
  try {
    return { context: createSecureContext({ cert, key, minVersion: 'TLSv1.2' }) };
  } catch (error) {
    // OpenSSL's message names the problem but no part of the key.
    return { why: `tls.crt and tls.key are no certificate and its key: ${messageOf(error)}` };
  }
}
