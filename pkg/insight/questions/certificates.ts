/** What is wrong with a certificate in a secret. Pure. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Secret } from '#api/core/v1/types.gen.js';

export interface CertificateProblem {
  readonly reason: string;
  readonly summary: string;
  readonly action: string;
}

const renew = 'Have a new certificate issued, and put it into the secret.';

/** `hosts`: those that the certificate must be for. */
export function certificateProblems(nowMs: number, secret: Secret, hosts: readonly string[]): CertificateProblem[] {
  const name = secret.metadata.name ?? '';
  const invalid = {
    reason: 'CertificateInvalid',
    summary: `Secret ${name} holds no valid certificate in tls.crt.`,
    action: renew,
  };
  const pem = Buffer.from(secret.data?.['tls.crt'] ?? '', 'base64');
  const certificate = pem.length === 0 ? undefined : parsed(pem);
  if (certificate === undefined) return [invalid];
  const time = timeProblem(nowMs, certificate, name);
  if (time !== undefined) return [time];
  if (!matchesKey(certificate, secret)) {
    return [
      {
        reason: 'KeyDoesNotMatch',
        summary: `The key tls.key in secret ${name} is not that of the certificate tls.crt.`,
        action: 'Put a certificate and its own key into the secret.',
      },
    ];
  }
  const others = hosts.filter((host) => !isCovered(certificate, host));
  if (others.length === 0) return [];
  return [
    {
      reason: 'CertificateForOtherHost',
      summary: `The certificate in secret ${name} is not for ${others.join(', ')}, but for ${certificate.subjectAltName ?? certificate.subject}.`,
      action: renew,
    },
  ];
}

/** Undefined for what is no certificate. */
function parsed(pem: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

function timeProblem(nowMs: number, certificate: X509Certificate, name: string): CertificateProblem | undefined {
  if (Date.parse(certificate.validTo) < nowMs)
    return {
      reason: 'CertificateExpired',
      summary: `The certificate in secret ${name} ended on ${certificate.validTo}.`,
      action: renew,
    };
  if (Date.parse(certificate.validFrom) > nowMs)
    return {
      reason: 'CertificateNotYetValid',
      summary: `The certificate in secret ${name} begins on ${certificate.validFrom}.`,
      action: 'Check the clocks, or have a new certificate issued.',
    };
  return undefined;
}

/** True without a key, and for keys that cannot be read: those are told of by their users. */
function matchesKey(certificate: X509Certificate, { data }: Secret): boolean {
  const key = Buffer.from(data?.['tls.key'] ?? '', 'base64');
  if (key.length === 0) return true;
  try {
    return certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    return true;
  }
}

/** A wildcard host is covered by the same wildcard. */
function isCovered(certificate: X509Certificate, host: string): boolean {
  if (host.startsWith('*.')) return (certificate.subjectAltName ?? '').split(', ').includes(`DNS:${host}`);
  return certificate.checkHost(host) !== undefined;
}

/** What is wrong with a bundle of authorities, such as `caBundle`; undefined if one of them is valid. */
export function bundleProblem(nowMs: number, bundle: string): string | undefined {
  const text = Buffer.from(bundle, 'base64').toString('latin1');
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  const certificates = blocks.map((block) => parsed(Buffer.from(block))).filter((each) => each !== undefined);
  if (certificates.length === 0) return 'it holds no certificate';
  const ends = certificates.map(({ validTo }) => Date.parse(validTo));
  const last = Math.max(...ends);
  return last < nowMs ? `its last certificate ended on ${new Date(last).toISOString()}` : undefined;
}
