/** TLS certificates by host. */
import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Secret } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { CertificatePair } from '#daemon/serving/serving-certificate.js';

interface ReadCertificate {
  readonly pair?: CertificatePair;
  readonly why?: string;
}

export class Certificates {
  /** Results per secret object; a changed secret is a new object. */
  readonly #certificates = new WeakMap<Secret, ReadCertificate>();

  /** Undefined if the secret contains a valid certificate and key. */
  whyUnusable(secret: Secret): string | undefined {
    return this.#of(secret).why;
  }

  /** Undefined if the host, which is empty for a client that names none, has no certificate. */
  pairFor(host: string, certificates: ReadonlyMap<string, Secret>): CertificatePair | undefined {
    const dot = host.indexOf('.');
    const secret =
      certificates.get(host) ?? (dot > 0 ? certificates.get(`*${host.slice(dot)}`) : undefined) ?? certificates.get('');
    return secret && this.#of(secret).pair;
  }

  #of(secret: Secret): ReadCertificate {
    const cached = this.#certificates.get(secret);
    if (cached !== undefined) return cached;
    const read = readPair(secret);
    this.#certificates.set(secret, read);
    return read;
  }
}

/** Every handshake signs with the key, and no client is served meanwhile: 3 ms with 4096 bits, 100 ms with 16,384. */
const maxRsaBits = 4096;
/** Clients refuse longer chains, and every handshake sends them. */
const maxChainBytes = 100 * 1024;

function readPair({ data = {} }: Secret): ReadCertificate {
  const pem = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString();
  const [cert, key] = [pem('tls.crt'), pem('tls.key')];
  if (cert.length === 0 || key.length === 0) return { why: 'tls.crt and tls.key must be set' };
  if (cert.length > maxChainBytes) return { why: `tls.crt is longer than ${maxChainBytes} bytes` };
  try {
    const { publicKey } = new X509Certificate(cert);
    const bits = publicKey.asymmetricKeyDetails?.modulusLength ?? 0;
    if (bits > maxRsaBits) return { why: `the key of tls.crt has ${bits} bits; at most ${maxRsaBits} are served` };
    createSecureContext({ cert, key });
    return { pair: { cert, key } };
  } catch (error) {
    // OpenSSL's message names the problem but no part of the key.
    return { why: `tls.crt and tls.key are no certificate and its key: ${messageOf(error)}` };
  }
}
