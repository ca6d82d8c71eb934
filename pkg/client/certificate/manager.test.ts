import { X509Certificate } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { certificatesigningrequests } from '#api/certificates/v1/resources.gen.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { readCertificateRequest } from '#apimachinery/asn1/pkcs10.js';
import { orchDialect } from '#apimachinery/dialect.js';
import type { CertificateTemplate, TimedKeyCertificate } from '#client/certificate/key-certificate.js';
import { CertificateManager } from '#client/certificate/manager.js';
import { CertificateStore } from '#client/certificate/store.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { certify, createAuthority, issueCertificate, type KeyCertificate } from '#pki/certificate.js';

const hourMs = 3_600_000;
const usages = ['digital signature', 'key encipherment', 'client auth'];
const subject = { commonName: 'system:node:n1', organizations: ['system:nodes'] };

async function setUp(t: Test, given: { directory?: string; initial?: KeyCertificate; rotates?: boolean } = {}) {
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect: orchDialect, clock, resources: [certificatesigningrequests] });
  const directory = given.directory ?? (await mkdtemp(join(tmpdir(), 'certificates-')));
  const authority = await createAuthority({ commonName: 'ca', now: clock.now() });
  const store = new CertificateStore(directory, 'agent-client');
  const required: { template: CertificateTemplate | undefined } = { template: { subject, dns: [], ips: [] } };
  const clients: (TimedKeyCertificate | undefined)[] = [];
  const seen = { failures: 0, lived: [] as (number | undefined)[] };
  const stop = new AbortController();
  const make = () =>
    new CertificateManager({
      ...{ clock, store, usages },
      random: () => 0.5,
      log: silentLogger,
      client: (current) => {
        clients.push(current);
        return api.client;
      },
      signerName: 'a/b',
      template: () => required.template,
      rotates: given.rotates ?? true,
      initial: given.initial,
      onFailure: () => seen.failures++,
      onRenewed: (livedMs) => seen.lived.push(livedMs),
    });
  const manager = make();
  await manager.load();
  const running = manager.run(stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  t.teardown(async () => {
    await end();
    await rm(directory, { recursive: true, force: true });
  });
  const requests = () => api.list<CertificateSigningRequest>(certificatesigningrequests);
  /** Waits in real time too, since key generation takes real time. */
  const until = async (isTrue: () => boolean) => {
    for (let turns = 0; turns < 10_000 && !isTrue(); turns++) await clock.advance(0);
  };
  const requested = (count: number) => until(() => requests().length >= count);
  /** Approves or denies the last request. */
  const decide = async (type: 'Approved' | 'Denied') => {
    const [before, { failures }] = [manager.current, { ...seen }];
    await until(() => requests().at(-1)?.status?.conditions === undefined && requests().length > 0);
    const last = requests().at(-1);
    const wish = readCertificateRequest(last?.spec.request ?? '');
    const pem = certify(authority, {
      subject: wish.subject.bytes,
      publicKey: wish.publicKey,
      keyUsages: [],
      purposes: ['client'],
      alternatives: wish.names.der,
      notBefore: clock.now(),
      notAfter: clock.now() + hourMs,
    });
    api.change<CertificateSigningRequest>(certificatesigningrequests, last?.metadata.name ?? '', (request) => {
      request.status = {
        conditions: [{ type, status: 'True', reason: 'Because', message: 'so it is' }],
        ...(type === 'Approved' ? { certificate: Buffer.from(pem).toString('base64') } : {}),
      };
    });
    await until(() => manager.current !== before || seen.failures > failures);
  };
  return { requested, clients, clock, decide, directory, end, manager, requests, seen, store, until, required };
}

t.test('requests a certificate, uses it and renews it in time', async (t) => {
  const { requested, clients, clock, decide, directory, manager, requests, seen } = await setUp(t);
  await requested(1);
  t.equal(manager.current, undefined);
  let got: TimedKeyCertificate | undefined;
  const waiting = manager.available().then((pair) => {
    got = pair;
  });
  await decide('Approved');
  await waiting;
  t.equal(got, manager.current);
  t.match(new X509Certificate(got?.certificate ?? '').subject, /O=system:nodes\nCN=system:node:n1/);
  t.match(requests(), [{ spec: { signerName: 'a/b', usages } }]);
  t.equal((await readdir(directory)).includes('agent-client.key.tmp'), false);
  t.equal((await readFile(join(directory, 'agent-client-current.pem'), 'utf8')).match(/BEGIN/g)?.length, 2);
  await clock.advance(0.79 * hourMs);
  t.equal(requests().length, 1, 'no renewal before 80 % of its lifetime');
  await clock.advance(0.02 * hourMs);
  await requested(2);
  t.equal(manager.current, got, 'in use until the renewal');
  await decide('Approved');
  t.not(manager.current, got);
  t.same(clients, [undefined, got], 'the second certificate is requested with the first');
  t.match(seen, { failures: 0, lived: [undefined, Number] });
});

t.test('a denied request is retried with another key', async (t) => {
  const { requested, clock, decide, manager, requests, seen } = await setUp(t);
  await decide('Denied');
  t.equal(seen.failures, 1);
  await clock.advance(1000);
  await requested(2);
  t.equal(requests().length, 2);
  t.not(requests()[0]?.spec.request, requests()[1]?.spec.request);
  await decide('Approved');
  t.ok(manager.current);
});

t.test('an expired certificate is replaced', async (t) => {
  const { requested, clients, clock, decide, manager, requests } = await setUp(t, { rotates: false });
  await decide('Approved');
  t.ok(manager.current);
  await clock.advance(0.99 * hourMs);
  t.equal(requests().length, 1, 'no renewal without rotation');
  await clock.advance(0.02 * hourMs);
  t.equal(manager.current, undefined);
  await requested(2);
  t.same(clients, [undefined, undefined]);
});

t.test('changed names cause a renewal', async (t) => {
  const { clock, decide, manager, requests, required } = await setUp(t);
  await decide('Approved');
  required.template = { subject, dns: ['n1'], ips: ['192.0.2.1', '2001:db8::1'] };
  await clock.advance(61_000);
  await decide('Approved');
  const names = new X509Certificate(manager.current?.certificate ?? '').subjectAltName;
  t.equal(names, 'DNS:n1, IP Address:192.0.2.1, IP Address:2001:DB8:0:0:0:0:0:1');
  await clock.advance(120_000);
  t.equal(requests().length, 2, 'no renewal with the right names');
});

t.test('reads the directory at start', async (t) => {
  const now = new VirtualClock().now();
  const authority = await createAuthority({ commonName: 'ca', now });
  const pair = await issueCertificate(authority, { subject, usages: ['client'], now, validityMs: hourMs });
  await t.test('a stored certificate is used', async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'certificates-'));
    await new CertificateStore(directory, 'agent-client').update(pair, now);
    const { clock, manager, requests, store, until } = await setUp(t, { directory });
    await clock.advance(60_000);
    t.equal(manager.current?.certificate, pair.certificate);
    const other = await issueCertificate(authority, { subject, usages: ['client'], now, validityMs: hourMs });
    await store.update(other, clock.now());
    await clock.advance(60_000);
    await until(() => manager.current?.certificate === other.certificate);
    t.equal(
      manager.current?.privateKey,
      other.privateKey,
      'a certificate that another process stored later is used, too',
    );
    t.same(requests(), []);
  });
  await t.test('a damaged certificate is replaced', async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'certificates-'));
    await writeFile(join(directory, 'agent-client-current.pem'), 'half of a certif');
    const { decide, manager } = await setUp(t, { directory });
    await decide('Approved');
    t.ok(manager.current);
  });
  await t.test('the initial certificate is used if none is stored', async (t) => {
    const { clients, decide, manager } = await setUp(t, { initial: pair });
    t.equal(manager.current?.certificate, pair.certificate);
    await decide('Approved');
    t.not(manager.current?.certificate, pair.certificate, 'a certificate of its own is requested at once');
    t.equal(clients[0]?.certificate, pair.certificate);
  });
  await t.test('a pending request is continued', async (t) => {
    const first = await setUp(t);
    await first.requested(1);
    await first.end();
    const key = await first.store.pendingKey();
    const again = await setUp(t, { directory: first.directory });
    await again.decide('Approved');
    t.equal(again.manager.current?.privateKey, key);
  });
});

t.test('old files are removed', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'certificates-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const store = new CertificateStore(directory, 'agent-client');
  const now = Date.parse('2022-05-03T00:00:00Z');
  const authority = await createAuthority({ commonName: 'ca', now });
  const pair = await issueCertificate(authority, { subject, usages: ['client'], now });
  for (let day = 0; day < 6; day++) await store.update(pair, now + day * 24 * hourMs);
  t.same((await readdir(directory)).sort(), [
    ...[5, 6, 7, 8].map((day) => `agent-client-2022-05-0${day}-00-00-00.pem`),
    'agent-client-current.pem',
  ]);
  t.equal((await store.current())?.privateKey, pair.privateKey);
});
