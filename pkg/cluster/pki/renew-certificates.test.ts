import { X509Certificate } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { orchDialect } from '#apimachinery/dialect.js';
import { formatKubeconfig, parseKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { layoutOf } from '#cluster/config/layout.js';
import { CertificateRenewal } from '#cluster/pki/certificate-renewal.js';
import { ensureClusterPki, ensureNodePki } from '#cluster/pki/cluster-pki.js';
import { ensureEtcdPki } from '#cluster/pki/etcd-pki.js';
import { renewCertificates } from '#cluster/pki/renew-certificates.js';
import type { CertificateReport } from '#cluster/pki/report.js';
import { silentLogger } from '#daemon/log/logger.js';
import { createAuthority } from '#pki/certificate.js';
import { saveKeyCertificate } from '#pki/ensure.js';
import { directoryStore } from '#pki/file-store.js';
import { createSelfSigned } from '#pki/self-signed.js';

const dialect = orchDialect;
const dayMs = 24 * 3600_000;

/** A data directory with all certificates of a cluster, created at the start of the clock. */
async function setUp(t: Test) {
  const layout = layoutOf(t.testdir());
  const clock = new VirtualClock();
  const now = clock.now();
  const pki = await ensureClusterPki(layout.pki, {
    dialect,
    names: ['api.example'],
    ips: ['10.0.0.1', 'fd00::1'],
    now,
  });
  await ensureEtcdPki(layout.pki, { now });
  await ensureNodePki(layout.pki, pki.authority, { dialect, nodeName: 'n1', names: [], ips: ['127.0.0.1'], now });
  const own = await createSelfSigned({ commonName: 'orch-scheduler', names: ['localhost'], ips: ['127.0.0.1'], now });
  await saveKeyCertificate(directoryStore(layout.pki), 'scheduler/orch-scheduler', own);
  const config = singleContext({
    ...{ server: 'https://127.0.0.1:6443', clusterName: 'orch', userName: dialect.users.admin },
    ...{ clientCertificate: pki.admin.certificate, clientKey: pki.admin.privateKey, ca: 'another' },
  });
  writeFileSync(layout.clientConfig, formatKubeconfig(config));
  const read = (name: string) => new X509Certificate(readFileSync(join(layout.pki, `${name}.crt`)));
  const heldByAdmin = () => {
    const { users } = parseKubeconfig(readFileSync(layout.clientConfig, 'utf8'));
    return Buffer.from(users[0]?.user['client-certificate-data'] ?? '', 'base64').toString();
  };
  return { layout, clock, now, read, heldByAdmin };
}

t.test('a renewed certificate has the same names and usages', async (t) => {
  const { layout, now, read, heldByAdmin } = await setUp(t);
  const names = [
    'apiserver',
    'admin',
    'front-proxy-client',
    'etcd-server',
    'node-n1-serving',
    'scheduler/orch-scheduler',
  ];
  const before = new Map(names.map((name) => [name, read(name)]));
  const authorities = ['ca', 'front-proxy-ca', 'etcd-ca'].map((name) => read(name).serialNumber);
  const tenDaysOn = now + 10 * dayMs;
  t.same(await renewCertificates(layout, { now: tenDaysOn }), { renewed: [], failed: new Map() }, 'none is due');
  const all = { now: tenDaysOn, renewBeforeMs: Number.POSITIVE_INFINITY };
  const { renewed, failed } = await renewCertificates(layout, all);
  t.equal(failed.size, 0);
  for (const [name, old] of before) {
    const fresh = read(name);
    t.ok(renewed.includes(`${name}.crt`), name);
    t.not(fresh.serialNumber, old.serialNumber);
    t.not(
      fresh.publicKey.export({ type: 'spki', format: 'pem' }),
      old.publicKey.export({ type: 'spki', format: 'pem' }),
    );
    t.equal(fresh.subjectAltName, old.subjectAltName, name);
    t.same(fresh.keyUsage, old.keyUsage, name);
    t.ok(Date.parse(fresh.validTo) > Date.parse(old.validTo), name);
    if (name.includes('/')) continue;
    t.equal(fresh.subject, old.subject, name);
    t.equal(fresh.issuer, old.issuer, name);
  }
  t.ok(read('front-proxy-client').verify(read('front-proxy-ca').publicKey));
  t.same(
    ['ca', 'front-proxy-ca', 'etcd-ca'].map((name) => read(name).serialNumber),
    authorities,
    'authorities are not renewed',
  );
  t.equal(
    heldByAdmin(),
    readFileSync(join(layout.pki, 'admin.crt'), 'utf8'),
    'the client config gets the new certificate',
  );
  const { clusters } = parseKubeconfig(readFileSync(layout.clientConfig, 'utf8'));
  const authority = Buffer.from(clusters[0]?.cluster['certificate-authority-data'] ?? '', 'base64').toString();
  t.equal(authority, readFileSync(join(layout.pki, 'ca.crt'), 'utf8'));
});

t.test('certificates are renewed by name, and those without the key of their authority fail', async (t) => {
  const { layout, now, read } = await setUp(t);
  const all = { now, renewBeforeMs: Number.POSITIVE_INFINITY };
  for (const name of ['apiserver', 'apiserver.crt', 'pki/apiserver.crt'])
    t.same((await renewCertificates(layout, { ...all, names: [name] })).renewed, ['apiserver.crt'], name);
  await t.rejects(
    renewCertificates(layout, { ...all, names: ['kubelet'] }),
    /no certificate kubelet; there are: admin, /,
  );
  rmSync(join(layout.pki, 'etcd-ca.key'));
  const old = read('etcd-server').serialNumber;
  const { failed } = await renewCertificates(layout, all);
  t.same([...failed.keys()].sort(), ['etcd-client.crt', 'etcd-server.crt']);
  t.match(failed.get('etcd-server.crt'), /key of its authority/);
  t.equal(read('etcd-server').serialNumber, old);
});

t.test('certificates of a replaced authority are signed by its successor', async (t) => {
  const { layout, now, read } = await setUp(t);
  const next = await createAuthority({ commonName: 'orch-ca', now });
  const old = readFileSync(join(layout.pki, 'ca.crt'), 'utf8');
  const files = directoryStore(layout.pki);
  await saveKeyCertificate(files, 'ca', { ...next, certificate: next.certificate + old });
  const { failed } = await renewCertificates(layout, { now, renewBeforeMs: Number.POSITIVE_INFINITY });
  t.equal(failed.size, 0);
  const { publicKey } = new X509Certificate(next.certificate);
  for (const name of ['apiserver', 'admin', 'node-n1-serving']) t.ok(read(name).verify(publicKey), name);
  t.notOk(read('front-proxy-client').verify(publicKey));
  const again = await ensureClusterPki(layout.pki, { dialect, names: [], ips: ['10.0.0.1'], now });
  t.equal(again.apiServer.certificate, await files.read('apiserver.crt'), 'the next start keeps the certificate');
});

t.test('certificates are renewed 30 days before they end, and reported when that fails', async (t) => {
  const { layout, clock, read } = await setUp(t);
  const reports: (readonly CertificateReport[])[] = [];
  const renewal = new CertificateRenewal({
    ...{ layout, clock, log: silentLogger, random: () => 0.5 },
    onChecked: async (ending) => {
      reports.push(ending);
    },
  });
  const stop = new AbortController();
  const running = renewal.run(stop.signal);
  t.teardown(async () => {
    stop.abort();
    await running;
  });
  /** Generating keys takes real time, which the virtual clock does not count. */
  const checks = async (count: number) => {
    while (reports.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await checks(1);
  const first = read('apiserver').serialNumber;
  t.same(reports[0], []);
  clock.setWallClock(334 * dayMs);
  await clock.advance(dayMs);
  await checks(2);
  t.equal(read('apiserver').serialNumber, first, '30 days are left');
  clock.setWallClock(dayMs);
  await clock.advance(dayMs);
  await checks(3);
  t.not(read('apiserver').serialNumber, first);
  t.ok(renewal.ends().some(([file, ends]) => file === 'pki/apiserver.crt' && ends > clock.now() + 360 * dayMs));

  rmSync(join(layout.pki, 'ca.key'));
  clock.setWallClock(360 * dayMs);
  await clock.advance(dayMs);
  await checks(4);
  t.match(
    reports[3]?.map(({ file }) => file),
    [/^pki\//],
    'certificates of the authority whose key is missing',
  );
  await clock.advance(3600_000);
  await checks(5);
  t.pass('it retries soon');
});
