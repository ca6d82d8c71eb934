import { X509Certificate } from 'node:crypto';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getCiphers } from 'node:tls';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { insecureCipherSuites, preferredCipherSuites } from '#daemon/options/groups/serving.js';
import { loadServingCertificates, pickSni, type SniCertificate } from '#daemon/serving/serving-certificate.js';
import { opensslCipher, secureVersion } from '#daemon/serving/tls-names.js';
import { createSelfSigned } from '#pki/self-signed.js';

const none = {
  'tls-cert-file': undefined,
  'tls-private-key-file': undefined,
  'tls-sni-cert-key': [],
  'cert-dir': undefined,
  'bind-address': '0.0.0.0',
};

t.test('the runtime supports every preferred cipher suite', async (t) => {
  const supported = new Set(getCiphers());
  for (const name of preferredCipherSuites) {
    const openssl = opensslCipher(name).toLowerCase();
    t.ok(supported.has(openssl) || name.includes('3DES'), `${name} is ${openssl}`);
  }
  t.equal(opensslCipher('TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA'), 'ECDHE-RSA-DES-CBC3-SHA');
  t.equal(opensslCipher('TLS_RSA_WITH_AES_128_CBC_SHA256'), 'AES128-SHA256');
  for (const name of insecureCipherSuites) t.notMatch(opensslCipher(name), /_/);
  t.equal(secureVersion('VersionTLS13'), 'TLSv1.3');
});

t.test('a self-signed pair is created once and kept', async (t) => {
  const directory = t.testdir({});
  const values = { ...none, 'cert-dir': directory };
  const load = () => loadServingCertificates({ values, name: 'tester', clock: realClock });
  const first = await load();
  t.same((await readdir(directory)).sort(), ['tester.crt', 'tester.key']);
  t.equal((await stat(join(directory, 'tester.key'))).mode & 0o777, 0o600);
  t.equal((await load()).pair.cert, first.pair.cert);
  t.ok(new X509Certificate(first.pair.cert).checkIP('127.0.0.1'));
  const late = { ...realClock, now: () => realClock.now() + 400 * 24 * 3_600_000 };
  const renewed = await loadServingCertificates({ values, name: 'tester', clock: late });
  t.not(renewed.pair.cert, first.pair.cert, 'an expired certificate is replaced');
});

t.test('certificate files and their errors', async (t) => {
  const directory = t.testdir({});
  const identity = await createSelfSigned({
    commonName: 'x',
    names: ['a.test', '*.b.test'],
    ips: [],
    now: realClock.now(),
  });
  const cert = join(directory, 'x.crt');
  const key = join(directory, 'x.key');
  await writeFile(cert, identity.certificate);
  await writeFile(key, identity.privateKey);
  const load = (values: object) =>
    loadServingCertificates({ values: { ...none, ...values }, name: 'x', clock: realClock });
  const loaded = await load({
    'tls-cert-file': cert,
    'tls-private-key-file': key,
    'tls-sni-cert-key': [`${cert},${key}`, `${cert},${key}:c.test,*.D.test`],
  });
  t.equal(loaded.pair.key, identity.privateKey);
  t.same(
    loaded.sni.map(({ names, explicit }) => ({ names, explicit })),
    [
      { names: ['a.test', '*.b.test'], explicit: false },
      { names: ['c.test', '*.d.test'], explicit: true },
    ],
  );
  await t.rejects(load({ 'tls-cert-file': cert, 'tls-private-key-file': cert }), { name: 'OptionsError' });
  await t.rejects(load({ 'tls-cert-file': `${cert}x`, 'tls-private-key-file': key }), /cannot use/);
  await t.rejects(load({ 'tls-sni-cert-key': [cert] }), /expected comma separated/);
});

t.test('the certificate of a server name', async (t) => {
  const make = (id: string, explicit: boolean, ...names: string[]): SniCertificate => ({
    cert: id,
    key: '',
    names,
    explicit,
  });
  const sni = [
    make('taken', false, 'a.test', '*.w.test'),
    make('explicit', true, 'a.test'),
    make('wild', true, '*.test', '*.w.test'),
    make('full', false, 'full.w.test'),
  ];
  const rows: [string, string | undefined][] = [
    ['a.test', 'explicit'],
    ['A.TEST', 'explicit'],
    ['b.test', 'wild'],
    ['x.w.test', 'wild'],
    ['full.w.test', 'full'],
    ['x.y.test', undefined],
  ];
  for (const [name, expected] of rows) t.equal(pickSni(sni, name)?.cert, expected, name);
});
