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
import {
  type RenewableCertificate,
  type Renewal,
  type RenewalOptions,
  renewDue,
  selectNames,
} from '#cluster/pki/renew-certificates.js';
import { agentCertificates } from '#cluster/pki/report.js';
import type { KeyCertificate } from '#pki/certificate.js';
import { certificateSpec } from '#pki/ensure.js';
import { generateEcKey, privateKeyToPem } from '#pki/keys.js';

/** Time limit of a signature; controllers normally approve and sign at once. */
const signMs = 60_000;

/** Rejects with a SetupError for an unknown name, and with the client's errors. */
export async function renewNodeCertificates(
  layout: Layout,
  settings: ClusterSettings,
  options: RenewalOptions & { readonly clock: Clock },
): Promise<Renewal> {
  const { clock } = options;
  const dialect = dialectByName(settings.dialect);
  const prefix = dialect.components.nodeAgent;
  const folder = agentCertificates(layout, settings.nodes[0] ?? '');
  const kinds = [
    { name: `${prefix}-client`, signerName: dialect.signers.apiServerClientNodeAgent, usage: 'client auth' },
    { name: `${prefix}-server`, signerName: dialect.signers.nodeAgentServing, usage: 'server auth' },
  ];
  const existing = kinds.map(({ name }) => name);
  const names = selectNames(existing, options.names ?? [], /^.*\/|-current\.pem$/g);
  const certificates: RenewableCertificate[] = [];
  const client = await nodeClient(layout, settings);
  try {
    for (const { name, signerName, usage } of kinds) {
      if (!names.includes(name)) continue;
      const store = new CertificateStore(folder, name);
      const stored = await store.current();
      if (stored === undefined) continue;
      const renew = async () => {
        const renewal = await requestRenewal(client, stored, { signerName, usage, clock });
        await store.update(renewal, clock.now());
        return undefined;
      };
      const { notAfter } = withValidity(stored);
      certificates.push({ file: store.currentFile, notAfter, renew: () => renew().catch(messageOf) });
    }
    return await renewDue(certificates, options);
  } finally {
    await client.close();
  }
}

async function requestRenewal(
  client: Client,
  { certificate }: KeyCertificate,
  { signerName, usage, clock }: { readonly signerName: string; readonly usage: string; readonly clock: Clock },
): Promise<TimedKeyCertificate> {
  const { subject, names: dns = [], ips = [] } = certificateSpec(new X509Certificate(certificate));
  const template = { subject, dns, ips };
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
