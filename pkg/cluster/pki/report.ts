/** Reports the certificates of a machine and how long they last. */
import { X509Certificate } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Layout } from '#cluster/config/layout.js';
import { certificateFile, certificateNames } from '#cluster/pki/certificate-folder.js';

export interface CertificateReport {
  /** Path below the folder. */
  readonly file: string;
  readonly subject: string;
  readonly issuer: string;
  /** Subject alternative names: `DNS:localhost`, `IP Address:127.0.0.1`. */
  readonly names: readonly string[];
  /** ISO 8601; absent for a file that holds no readable certificate. */
  readonly notAfter?: string;
  readonly daysLeft?: number;
  readonly problem?: string;
}

const dayMs = 24 * 3600_000;

/**
 * Unreadable files first, then by the end of the certificate.
 * @param files Paths below the folder.
 * @param now Milliseconds since the epoch.
 */
export function reportFiles(folder: string, files: readonly string[], now: number): CertificateReport[] {
  return files.map((file) => reportOne(folder, file, now)).sort((a, b) => endOf(a) - endOf(b));
}

/** End of the certificate in milliseconds since the epoch; -Infinity for an unreadable file. */
export function endOf({ notAfter }: CertificateReport): number {
  return notAfter === undefined ? Number.NEGATIVE_INFINITY : Date.parse(notAfter);
}

/**
 * All certificates of this machine, by paths below the data directory: those of the cluster, and those that the cluster
 * has issued to its node agents. Throws the file system's errors.
 */
export function reportCertificates(layout: Layout, now: number): CertificateReport[] {
  const below = (folder: string) => relative(layout.root, folder);
  const files = certificateNames(layout.pki).map((name) => join(below(layout.pki), certificateFile(name)));
  for (const node of foldersIn(layout.node(''))) {
    const folder = agentCertificates(layout, node);
    if (!existsSync(folder)) continue;
    const current = readdirSync(folder).filter((file) => file.endsWith('-current.pem'));
    files.push(...current.map((file) => join(below(folder), file)));
  }
  return reportFiles(layout.root, files, now);
}

/** Folder of the certificates that the cluster has issued to a node's agent. */
export function agentCertificates(layout: Layout, node: string): string {
  return join(layout.node(node), 'pki');
}

function foldersIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((each) => (each.isDirectory() ? [each.name] : []));
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
