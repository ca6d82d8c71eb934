/** A daemon's serving certificates, from replaceable files or self-signed. */

import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { type Clock, processClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { CertificateFiles } from '#daemon/certificates/certificate-files.js';
import type { ServingValues } from '#daemon/options/groups/serving.js';
import { OptionsError } from '#daemon/options/option.js';
import type { Greeting } from '#daemon/serving/client-hello.js';
import { directoryStore, type FileStore, memoryFileStore } from '#pki/file-store.js';
import { createSelfSigned } from '#pki/self-signed.js';

export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

export interface SniCertificate extends CertificatePair {
  /** Server names, in lower case; a leading `*.` stands for one label. */
  readonly names: readonly string[];
  /** Names come from the option instead of the certificate. */
  readonly explicit: boolean;
}

export interface ServingCertificates {
  readonly pair: CertificatePair;
  readonly sni: readonly SniCertificate[];
}

export interface LoadOptions {
  readonly values: Pick<
    ServingValues,
    'tls-cert-file' | 'tls-private-key-file' | 'tls-sni-cert-key' | 'cert-dir' | 'bind-address'
  >;
  /** Name of the self-signed pair's files and subject. */
  readonly name: string;
  readonly clock: Clock;
  /** Stores the self-signed pair without `--cert-dir`, so that reloading finds it. */
  readonly memory?: FileStore;
}

/** Reads the files, or reads or creates the self-signed pair. Throws OptionsError for unusable files. */
export async function loadServingCertificates(options: LoadOptions): Promise<ServingCertificates> {
  const { values } = options;
  const cert = values['tls-cert-file'] ?? '';
  const key = values['tls-private-key-file'] ?? '';
  const pair =
    cert === '' ? await selfSigned(options) : await readPair(cert, key, '--tls-cert-file and --tls-private-key-file');
  const sni = await Promise.all(values['tls-sni-cert-key'].map(readSni));
  return { pair, sni };
}

async function selfSigned({ values, name, clock, memory }: LoadOptions): Promise<CertificatePair> {
  const directory = values['cert-dir'] ?? '';
  const store = directory === '' ? (memory ?? memoryFileStore()) : directoryStore(directory);
  const [cert, key] = await Promise.all([store.read(`${name}.crt`), store.read(`${name}.key`)]);
  if (cert !== undefined && key !== undefined && isCurrent(cert, processClock(clock).now())) return { cert, key };
  const address = values['bind-address'];
  const anywhere = address === '' || address === '0.0.0.0' || address === '::';
  const identity = await createSelfSigned({
    commonName: name,
    names: ['localhost'],
    ips: [...new Set(['127.0.0.1', ...(anywhere ? [] : [address])])],
    now: processClock(clock).now(),
  });
  await store.write(`${name}.key`, identity.privateKey, 0o600);
  await store.write(`${name}.crt`, identity.certificate, 0o644);
  return { cert: identity.certificate, key: identity.privateKey };
}

function isCurrent(pem: string, nowMs: number): boolean {
  return Date.parse(new X509Certificate(pem).validTo) > nowMs;
}

/** Certificate files that may be replaced while the daemon runs; empty for a self-signed pair. */
export function servingFiles(
  values: Pick<ServingValues, 'tls-cert-file' | 'tls-private-key-file' | 'tls-sni-cert-key'>,
): string[] {
  const own = [values['tls-cert-file'] ?? '', values['tls-private-key-file'] ?? ''].filter((file) => file !== '');
  return [...own, ...values['tls-sni-cert-key'].flatMap(sniFiles)];
}

/** The file of the self-signed certificate, if `--cert-dir` is set; it may be replaced, too. */
export function ownServingFiles(values: Pick<ServingValues, 'tls-cert-file' | 'cert-dir'>, name: string): string[] {
  const directory = values['cert-dir'] ?? '';
  return (values['tls-cert-file'] ?? '') !== '' || directory === '' ? [] : [join(directory, `${name}.crt`)];
}

/** The paths in a value of `--tls-sni-cert-key`. */
function sniFiles(text: string): string[] {
  const [files = ''] = text.split(':', 1);
  return files.split(',').map((path) => path.trim());
}

/** `cert,key` or `cert,key:name,name`. */
async function readSni(text: string): Promise<SniCertificate> {
  const option = `--tls-sni-cert-key ${JSON.stringify(text)}`;
  const colon = text.indexOf(':');
  const list = colon < 0 ? '' : text.slice(colon + 1);
  const [cert, key, ...more] = sniFiles(text);
  if (cert === undefined || key === undefined || more.length > 0 || cert === '' || key === '') {
    throw new OptionsError([`${option}: expected comma separated certificate and key file paths`]);
  }
  const pair = await readPair(cert, key, option);
  const explicit = list
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '');
  if (explicit.length > 0) return { ...pair, names: explicit, explicit: true };
  return { ...pair, names: namesIn(pair.cert), explicit: false };
}

async function readPair(certFile: string, keyFile: string, option: string): Promise<CertificatePair> {
  try {
    const { cert = '', key = '' } = await new CertificateFiles({ files: { cert: certFile, key: keyFile } }).read();
    const pair = { cert: cert.toString(), key: key.toString() };
    createSecureContext(pair);
    return pair;
  } catch (error) {
    const text = messageOf(error);
    throw new OptionsError([`${option}: cannot use ${certFile} and ${keyFile}: ${text}`]);
  }
}

function namesIn(pem: string): string[] {
  const { subjectAltName = '', subject } = new X509Certificate(pem);
  const names = [...subjectAltName.matchAll(/(?:DNS|IP Address):([^,\s]+)/g)].map((match) => match[1] ?? '');
  const common = /^CN=(.+)$/m.exec(subject)?.[1];
  return [...names, ...(names.length === 0 && common !== undefined ? [common] : [])].map((name) => name.toLowerCase());
}

/**
 * The certificate for a server name: explicit names before names in certificates, full names before wildcards;
 * undefined for the default pair.
 */
export function pickSni(sni: readonly SniCertificate[], serverName: string): SniCertificate | undefined {
  const name = serverName.toLowerCase();
  const wildcard = name.replace(/^[^.]+/, '*');
  for (const pattern of [name, wildcard]) {
    for (const explicit of [true, false]) {
      const match = sni.find((item) => item.explicit === explicit && item.names.includes(pattern));
      if (match !== undefined) return match;
    }
  }
  return undefined;
}

/**
 * The certificate for a client; undefined for the default pair. A client that names no server gets the certificate with
 * the address that it connected to, as in 1.24.
 */
export function pairOf(sni: readonly SniCertificate[], { serverName, address }: Greeting): SniCertificate | undefined {
  return pickSni(sni, serverName ?? address);
}
