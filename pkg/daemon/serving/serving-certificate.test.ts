import { X509Certificate } from 'node:crypto';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getCiphers } from 'node:tls';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { cipherErrors, insecureCipherSuites, preferredCipherSuites } from '#daemon/options/groups/serving.js';
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

t.test('the runtime supports every cipher suite that is not refused', async (t) => {
  const supported = new Set(getCiphers());
  const refused: string[] = [];
  for (const name of [...preferredCipherSuites, ...insecureCipherSuites]) {
    const openssl = opensslCipher(name).toLowerCase();
    const errors = cipherErrors([name], '');
    t.equal(supported.has(openssl), errors.length === 0, `${name} is ${openssl}`);
    refused.push(...errors);
  }
  const text = (suite: string, cipher: string, reason: string) =>
    `Cipher suite TLS_${suite} cannot be served: the TLS library has no ${cipher}, because ${reason}`;
  const [rc4, tripleDes] = ['RFC 7465 prohibits it', 'its short blocks leak data (CVE-2016-2183)'];
  t.same(refused, [
    text('ECDHE_ECDSA_WITH_RC4_128_SHA', 'RC4', rc4),
    text('ECDHE_RSA_WITH_3DES_EDE_CBC_SHA', '3DES', tripleDes),
    text('ECDHE_RSA_WITH_RC4_128_SHA', 'RC4', rc4),
    text('RSA_WITH_3DES_EDE_CBC_SHA', '3DES', tripleDes),
    text('RSA_WITH_RC4_128_SHA', 'RC4', rc4),
  ]);
  t.same(cipherErrors(['TLS_X'], ''), ["Cipher suite TLS_X not supported or doesn't exist"]);
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
