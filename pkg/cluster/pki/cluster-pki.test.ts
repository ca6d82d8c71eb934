import { X509Certificate } from 'node:crypto';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { ensureClusterPki, ensureNodePki } from '#cluster/pki/cluster-pki.js';
import { clientAuthOid } from '#pki/certificate.js';
import { certificateSubject } from '#pki/ensure.js';
import { memoryFileStore } from '#pki/file-store.js';
import { createSelfSigned } from '#pki/self-signed.js';

const now = Date.parse('2030-01-01T00:00:00Z');
const options = { dialect: orchDialect, names: ['master.example'], ips: ['10.0.0.1', 'fd00::1'], now };

t.test('a new directory gets a complete PKI, and the next start keeps it', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'pki-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const first = await ensureClusterPki(directory, options);
  const second = await ensureClusterPki(directory, { ...options, now: now + 1000 });
  t.same(second, first);
  for (const file of await readdir(directory)) {
    const mode = (await stat(join(directory, file))).mode & 0o777;
    t.equal(mode, 0o600, file);
  }
});

t.test('certificates have the subjects, usages and alternative names of their holders', async (t) => {
  const pki = await ensureClusterPki(memoryFileStore(), { ...options, dialect: kubernetesDialect });
  const ca = new X509Certificate(pki.authority.certificate);
  t.ok(ca.ca);
  for (const [pair, commonName, organizations] of [
    [pki.admin, 'kubernetes-admin', ['system:masters']],
    [pki.scheduler, 'system:kube-scheduler', []],
    [pki.controllerManager, 'system:kube-controller-manager', []],
    [pki.apiServerNodeAgentClient, 'kube-apiserver-kubelet-client', ['system:masters']],
  ] as const) {
    const certificate = new X509Certificate(pair.certificate);
    t.ok(certificate.verify(ca.publicKey) && certificate.checkIssued(ca), commonName);
    t.same(certificateSubject(certificate.raw), { commonName, organizations });
    t.same(certificate.keyUsage, [clientAuthOid]);
    t.notOk(certificate.ca);
  }
  const serving = new X509Certificate(pki.apiServer.certificate);
  for (const name of ['kubernetes.default.svc.cluster.local', 'localhost', 'master.example'])
    t.ok(serving.checkHost(name), name);
  for (const ip of ['127.0.0.1', '10.0.0.1', 'fd00:0:0::1']) t.ok(serving.checkIP(ip), ip);
  t.equal(Math.round((Date.parse(serving.validTo) - now) / (24 * 3600_000)), 365);
  const front = new X509Certificate(pki.frontProxyClient.certificate);
  t.notOk(front.verify(ca.publicKey));
});

t.test(
  'certificates that are due, damaged or lack a name are replaced; authorities and the token key stay',
  async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'pki-'));
    t.teardown(() => rm(directory, { recursive: true }));
    const first = await ensureClusterPki(directory, options);
    const moved = await ensureClusterPki(directory, { ...options, ips: ['10.0.0.2'] });
    t.not(moved.apiServer.certificate, first.apiServer.certificate);
    t.equal(moved.admin.certificate, first.admin.certificate);
    await writeFile(join(directory, 'admin.crt'), 'nonsense');
    const repaired = await ensureClusterPki(directory, options);
    t.ok(new X509Certificate(repaired.admin.certificate));
    const renewed = await ensureClusterPki(directory, { ...options, now: now + 340 * 24 * 3600_000 });
    t.not(renewed.scheduler.certificate, first.scheduler.certificate);
    t.equal(renewed.authority.certificate, first.authority.certificate);
    t.same(renewed.serviceAccount, first.serviceAccount);
  },
);

t.test('Node.js accepts the certificates on both sides of a TLS connection', async (t) => {
  const fresh = { ...options, now: Date.now() };
  const pki = await ensureClusterPki(memoryFileStore(), fresh);
  const node = await ensureNodePki(memoryFileStore(), pki.authority, {
    ...fresh,
    nodeName: 'n1',
    names: [],
    ips: ['127.0.0.1'],
  });
  const ca = pki.authority.certificate;
  const server = createServer(
    { cert: pki.apiServer.certificate, key: pki.apiServer.privateKey, ca, requestCert: true, rejectUnauthorized: true },
    (req, res) => {
      const peer = (req.socket as TLSSocket).getPeerCertificate();
      res.end(certificateSubject(peer.raw).commonName);
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const text = await new Promise<string>((resolve, reject) => {
    const { certificate: cert, privateKey: key } = node.client;
    request({ port, host: '127.0.0.1', ca, cert, key, agent: false }, (res) => {
      let body = '';
      res.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
      });
      res.on('end', () => resolve(body));
    })
      .on('error', reject)
      .end();
  });
  t.equal(text, 'system:node:n1');
});

t.test('a self-signed certificate carries its authority', async (t) => {
  const { certificate } = await createSelfSigned({
    commonName: 'server',
    names: ['localhost'],
    ips: ['127.0.0.1'],
    now,
  });
  t.equal(certificate.match(/BEGIN CERTIFICATE/g)?.length, 2);
});

t.test('an invalid address gets no certificate', async (t) => {
  await t.rejects(createSelfSigned({ commonName: 'server', names: [], ips: ['nonsense'], now }), RangeError);
});
