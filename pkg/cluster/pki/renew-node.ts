/** Renews the certificates of a machine that has joined as a node. The cluster signs them. */
import { X509Certificate } from 'node:crypto';
import { deadline } from '#apimachinery/async/deadline.js';
import type { Clock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { type TimedKeyCertificate, withValidity } from '#client/certificate/key-certificate.js';
import { requestCertificate } from '#client/certificate/request.js';
import { CertificateStore } from '#client/certificate/store.js';
import type { Client } from '#client/client.js';
import { nodeClient } from '#cluster/clients/api-clients.js';
import type { Layout } from '#cluster/config/layout.js';
import type { ClusterSettings } from '#cluster/config/settings.js';
import type { Renewal } from '#cluster/pki/renew-certificates.js';
import { agentCertificates } from '#cluster/pki/report.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { certificateSubject } from '#pki/ensure.js';
import { generateEcKey, privateKeyToPem } from '#pki/keys.js';

export interface NodeRenewalOptions {
  readonly clock: Clock;
  /** Time before its end at which a certificate is renewed. */
  readonly renewBeforeMs: number;
  /** Names of certificates; empty: all. */
  readonly names: readonly string[];
}

/** Time limit of a signature; controllers normally approve and sign at once. */
const signMs = 60_000;

/** Rejects with a SetupError for an unknown name, and with the client's errors. */
export async function renewNodeCertificates(
  layout: Layout,
  settings: ClusterSettings,
  { clock, renewBeforeMs, names }: NodeRenewalOptions,
): Promise<Renewal> {
  const dialect = dialectByName(settings.dialect);
  const prefix = dialect.components.nodeAgent;
  const folder = agentCertificates(layout, settings.nodes[0] ?? '');
  const kinds = [
    { name: `${prefix}-client`, signerName: dialect.signers.apiServerClientNodeAgent, usage: 'client auth' },
    { name: `${prefix}-server`, signerName: dialect.signers.nodeAgentServing, usage: 'server auth' },
  ];
  const requested = names.map((name) => name.replace(/^.*\//, '').replace(/-current\.pem$/, ''));
  const unknown = requested.filter((name) => !kinds.some((kind) => kind.name === name));
  if (unknown.length > 0)
    throw new SetupError(
      `there is no certificate ${unknown.join(', ')}; there are: ${kinds.map(({ name }) => name).join(', ')}`,
    );
  const renewed: string[] = [];
  const failed = new Map<string, string>();
  const client = await nodeClient(layout, settings);
  try {
    for (const { name, signerName, usage } of kinds) {
      if (requested.length > 0 && !requested.includes(name)) continue;
      const store = new CertificateStore(folder, name);
      const stored = await store.current();
      if (stored === undefined) continue;
      const current = withValidity(stored);
      if (current.notAfter >= clock.now() + renewBeforeMs) continue;
      try {
        const renewal = await requestRenewal(client, current, { signerName, usage, clock });
        await store.update(renewal, clock.now());
        renewed.push(store.currentFile);
      } catch (error) {
        failed.set(store.currentFile, messageOf(error));
      }
    }
  } finally {
    await client.close();
  }
  return { renewed, failed };
}

async function requestRenewal(
  client: Client,
  { certificate }: TimedKeyCertificate,
  { signerName, usage, clock }: { readonly signerName: string; readonly usage: string; readonly clock: Clock },
): Promise<TimedKeyCertificate> {
  const x509 = new X509Certificate(certificate);
  const alternatives = (x509.subjectAltName ?? '').split(', ');
  const namesOf = (kind: string) =>
    alternatives.filter((each) => each.startsWith(kind)).map((each) => each.slice(kind.length));
  const template = { subject: certificateSubject(x509.raw), dns: namesOf('DNS:'), ips: namesOf('IP Address:') };
  const keys = await generateEcKey();
  const usages = ['digital signature', 'key encipherment', usage];
  const limit = deadline(clock, signMs, undefined);
  try {
    const signed = await requestCertificate(
      client,
      { keys, template, signerName, usages },
      { clock, signal: limit.signal },
    );
    return withValidity({ certificate: signed, privateKey: privateKeyToPem(keys.privateKey) });
  } finally {
    limit.release();
  }
}
