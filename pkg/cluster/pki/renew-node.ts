/** Renews the certificates of a machine that has joined as a node: the cluster signs them, as it has signed the first. */
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
  /** What ends sooner than this is renewed. */
  readonly renewBeforeMs: number;
  /** `client`, `server`; empty: both. */
  readonly names: readonly string[];
}

/** Controllers approve and sign at once. */
const patienceMs = 60_000;

/** Rejects with a SetupError for a name that is none, and with the client's errors. */
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
  const wanted = names.map((name) => name.replace(/^.*\//, '').replace(/-current\.pem$/, ''));
  const unknown = wanted.filter((name) => !kinds.some((kind) => kind.name === name));
  if (unknown.length > 0)
    throw new SetupError(
      `there is no certificate ${unknown.join(', ')}; there are: ${kinds.map(({ name }) => name).join(', ')}`,
    );
  const renewed: string[] = [];
  const failed = new Map<string, string>();
  const client = await nodeClient(layout, settings);
  try {
    for (const { name, signerName, usage } of kinds) {
      if (wanted.length > 0 && !wanted.includes(name)) continue;
      const store = new CertificateStore(folder, name);
      const found = await store.current();
      if (found === undefined) continue;
      const held = withValidity(found);
      if (held.notAfter >= clock.now() + renewBeforeMs) continue;
      try {
        const made = await anotherOf(client, held, { signerName, usage, clock });
        await store.update(made, clock.now());
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

async function anotherOf(
  client: Client,
  { certificate }: TimedKeyCertificate,
  { signerName, usage, clock }: { readonly signerName: string; readonly usage: string; readonly clock: Clock },
): Promise<TimedKeyCertificate> {
  const x509 = new X509Certificate(certificate);
  const alternatives = (x509.subjectAltName ?? '').split(', ');
  const of = (kind: string) =>
    alternatives.filter((each) => each.startsWith(kind)).map((each) => each.slice(kind.length));
  const template = { subject: certificateSubject(x509.raw), dns: of('DNS:'), ips: of('IP Address:') };
  const keys = await generateEcKey();
  const usages = ['digital signature', 'key encipherment', usage];
  const patience = deadline(clock, patienceMs, undefined);
  try {
    const signed = await requestCertificate(
      client,
      { keys, template, signerName, usages },
      { clock, signal: patience.signal },
    );
    return withValidity({ certificate: signed, privateKey: privateKeyToPem(keys.privateKey) });
  } finally {
    patience.release();
  }
}
