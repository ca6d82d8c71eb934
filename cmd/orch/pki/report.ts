/** Which certificates a cluster has, and how long they last. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '#apimachinery/errors/message.js';

export interface CertificateReport {
  /** Its file, below the folder. */
  readonly file: string;
  readonly subject: string;
  readonly issuer: string;
  /** Who it is for: `DNS:localhost`, `IP Address:127.0.0.1`. */
  readonly names: readonly string[];
  /** ISO 8601; absent where the file cannot be read as a certificate. */
  readonly notAfter?: string;
  readonly daysLeft?: number;
  readonly problem?: string;
}

const dayMs = 24 * 3600_000;

/**
 * What ends first comes first, after what cannot be read.
 * @param files Below the folder.
 * @param now Milliseconds since the epoch.
 */
export function reportCertificates(folder: string, files: readonly string[], now: number): CertificateReport[] {
  return files
    .map((file) => reportOne(folder, file, now))
    .sort((a, b) => (a.daysLeft ?? Number.NEGATIVE_INFINITY) - (b.daysLeft ?? Number.NEGATIVE_INFINITY));
}

function reportOne(folder: string, file: string, now: number): CertificateReport {
  try {
    const certificate = new X509Certificate(readFileSync(join(folder, file)));
    const ends = Date.parse(certificate.validTo);
    return {
      file,
      subject: oneLine(certificate.subject),
      issuer: oneLine(certificate.issuer),
      names: (certificate.subjectAltName ?? '').split(', ').filter((name) => name !== ''),
      notAfter: new Date(ends).toISOString(),
      daysLeft: Math.floor((ends - now) / dayMs),
    };
  } catch (error) {
    return { file, subject: '', issuer: '', names: [], problem: messageOf(error) };
  }
}

function oneLine(name: string): string {
  return name.split('\n').join(', ');
}
