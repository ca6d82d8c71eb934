import { X509Certificate } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { orchDialect } from '#apimachinery/dialect.js';
import { formatKubeconfig, parseKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { layoutOf } from '#cmd/orch/context/layout.js';
import { CertificateCare } from '#cmd/orch/pki/certificate-care.js';
import { ensureClusterPki, ensureNodePki } from '#cmd/orch/pki/cluster-pki.js';
import { ensureEtcdPki } from '#cmd/orch/pki/etcd-pki.js';
import { renewCertificates } from '#cmd/orch/pki/renewal.js';
import type { CertificateReport } from '#cmd/orch/pki/report.js';
import { silentLogger } from '#daemon/log/logger.js';
import { createAuthority } from '#pki/certificate.js';
import { saveKeyCertificate } from '#pki/ensure.js';
import { directoryStore } from '#pki/file-store.js';
import { createSelfSigned } from '#pki/self-signed.js';

const dialect = orchDialect;
const dayMs = 24 * 3600_000;

/** A data directory with all that a cluster has, made at the first instant of the clock. */
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

t.test('another certificate is for the same', async (t) => {
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
  const later = now + 10 * dayMs;
  t.same(await renewCertificates(layout, { now: later }), { renewed: [], failed: new Map() }, 'none is due');
  const { renewed, failed } = await renewCertificates(layout, { now: later, renewBeforeMs: Number.POSITIVE_INFINITY });
  t.equal(failed.size, 0);
  for (const [name, old] of before) {
    const made = read(name);
    t.ok(renewed.includes(`${name}.crt`), name);
    t.not(made.serialNumber, old.serialNumber);
    t.not(
      made.publicKey.export({ type: 'spki', format: 'pem' }),
      old.publicKey.export({ type: 'spki', format: 'pem' }),
    );
    t.equal(made.subjectAltName, old.subjectAltName, name);
    t.same(made.keyUsage, old.keyUsage, name);
    t.ok(Date.parse(made.validTo) > Date.parse(old.validTo), name);
    if (name.includes('/')) continue;
    t.equal(made.subject, old.subject, name);
    t.equal(made.issuer, old.issuer, name);
  }
  t.ok(read('front-proxy-client').verify(read('front-proxy-ca').publicKey));
  t.same(
    ['ca', 'front-proxy-ca', 'etcd-ca'].map((name) => read(name).serialNumber),
    authorities,
    'authorities stay',
  );
  t.equal(heldByAdmin(), readFileSync(join(layout.pki, 'admin.crt'), 'utf8'), 'people get theirs, too');
  const { clusters } = parseKubeconfig(readFileSync(layout.clientConfig, 'utf8'));
  const believed = Buffer.from(clusters[0]?.cluster['certificate-authority-data'] ?? '', 'base64').toString();
  t.equal(believed, readFileSync(join(layout.pki, 'ca.crt'), 'utf8'));
});

t.test('by name, and what cannot be renewed here', async (t) => {
  const { layout, now, read } = await setUp(t);
  const all = { now, renewBeforeMs: Number.POSITIVE_INFINITY };
  t.same((await renewCertificates(layout, { ...all, names: ['apiserver'] })).renewed, ['apiserver.crt']);
  rmSync(join(layout.pki, 'etcd-ca.key'));
  const old = read('etcd-server').serialNumber;
  const { failed } = await renewCertificates(layout, all);
  t.same([...failed.keys()].sort(), ['etcd-client.crt', 'etcd-server.crt']);
  t.match(failed.get('etcd-server.crt'), /key of its authority/);
  t.equal(read('etcd-server').serialNumber, old);
});

t.test('what an authority has signed is signed by the one that takes its place', async (t) => {
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
  t.equal(again.apiServer.certificate, await files.read('apiserver.crt'), 'a start finds nothing to make again');
});

t.test('a machine renews by itself what ends within 30 days, and says what ends all the same', async (t) => {
  const { layout, clock, read } = await setUp(t);
  const told: (readonly CertificateReport[])[] = [];
  const care = new CertificateCare({
    ...{ layout, clock, log: silentLogger, random: () => 0.5 },
    tell: async (ending) => {
      told.push(ending);
    },
  });
  const stop = new AbortController();
  const running = care.run(stop.signal);
  t.teardown(async () => {
    stop.abort();
    await running;
  });
  /** Keys take their time to be made, which is none of the clock's. */
  const looks = async (count: number) => {
    while (told.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await looks(1);
  const first = read('apiserver').serialNumber;
  t.same(told[0], []);
  clock.setWallClock(334 * dayMs);
  await clock.advance(dayMs);
  await looks(2);
  t.equal(read('apiserver').serialNumber, first, '30 days are left');
  clock.setWallClock(dayMs);
  await clock.advance(dayMs);
  await looks(3);
  t.not(read('apiserver').serialNumber, first);
  t.ok(care.ends().some(([file, ends]) => file === 'pki/apiserver.crt' && ends > clock.now() + 360 * dayMs));

  rmSync(join(layout.pki, 'ca.key'));
  clock.setWallClock(360 * dayMs);
  await clock.advance(dayMs);
  await looks(4);
  t.match(
    told[3]?.map(({ file }) => file),
    [/^pki\//],
    'those of the authority that is not there',
  );
  await clock.advance(3600_000);
  await looks(5);
  t.pass('it tries again soon');
});
