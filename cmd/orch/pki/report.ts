/** Which certificates a cluster has, and how long they last. */
import { X509Certificate } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Layout } from '#cmd/orch/context/layout.js';
import { certificateFile, certificateNames } from '#cmd/orch/pki/certificate-folder.js';

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
  return files.map((file) => reportOne(folder, file, now)).sort((a, b) => endOf(a) - endOf(b));
}

/** Milliseconds since the epoch; of what cannot be read, the beginning of time. */
export function endOf({ notAfter }: CertificateReport): number {
  return notAfter === undefined ? Number.NEGATIVE_INFINITY : Date.parse(notAfter);
}

/**
 * All that are kept on this machine, by paths below the data directory: those of the cluster, and those that its nodes' agents
 * were given by the cluster. Throws the file system's errors.
 */
export function keptCertificates(layout: Layout, now: number): CertificateReport[] {
  const below = (folder: string) => relative(layout.root, folder);
  const files = certificateNames(layout.pki).map((name) => join(below(layout.pki), certificateFile(name)));
  for (const node of foldersIn(layout.node(''))) {
    const folder = agentCertificates(layout, node);
    if (!existsSync(folder)) continue;
    const current = readdirSync(folder).filter((file) => file.endsWith('-current.pem'));
    files.push(...current.map((file) => join(below(folder), file)));
  }
  return reportCertificates(layout.root, files, now);
}

/** Where the agent of a node keeps the certificates that it asks the cluster for. */
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
