import t from 'tap';
import { CertificateFiles, type CertificateMaterial } from '#daemon/certificates/certificate-files.js';
import { createAuthority, issueCertificate, type KeyCertificate } from '#pki/certificate.js';

const now = Date.parse('2030-01-01T00:00:00Z');

/** Two certificates of the same authority, and files with one of them or, during a replacement, parts of both. */
async function setUp() {
  const authority = await createAuthority({ commonName: 'ca', now });
  const make = () =>
    issueCertificate(authority, { subject: { commonName: 'a', organizations: [] }, usages: ['client'], now });
  const [first, second] = [await make(), await make()];
  const disk: Record<string, string> = { cert: first.certificate, key: first.privateKey };
  const reads = { count: 0, before: (_count: number) => {} };
  const files = new CertificateFiles({
    files: { cert: 'cert', key: 'key' },
    inline: { ca: authority.certificate },
    async readFile(path) {
      reads.before(++reads.count);
      const text = disk[path];
      if (text === undefined) throw new Error(`no ${path}`);
      return Buffer.from(text);
    },
  });
  return { first, second, disk, reads, files };
}

const isPair = ({ cert, key }: CertificateMaterial, pair: KeyCertificate): boolean =>
  cert?.toString() === pair.certificate && key?.toString() === pair.privateKey;

t.test('unchanged files give the same object', async (t) => {
  const { first, second, disk, files } = await setUp();
  const read = await files.read();
  t.ok(isPair(read, first));
  t.equal(await files.read(), read);
  Object.assign(disk, { cert: second.certificate, key: second.privateKey });
  t.ok(isPair(await files.read(), second));
});

t.test('a read during a replacement is repeated', async (t) => {
  const { second, disk, reads, files } = await setUp();
  await files.read();
  disk['key'] = second.privateKey;
  reads.count = 0;
  reads.before = (count) => {
    if (count === 3) disk['cert'] = second.certificate;
  };
  t.ok(isPair(await files.read(), second));
  t.equal(reads.count, 4);
});

t.test('mismatched pairs and unreadable files are not used', async (t) => {
  const { first, second, disk, files } = await setUp();
  await files.read();
  disk['key'] = second.privateKey;
  await t.rejects(files.read(), /key is not the key of the certificate/);
  t.ok(isPair(await files.readOrLast(), first));
  delete disk['cert'];
  await t.rejects(files.read(), /no cert/);
  t.ok(isPair(await files.readOrLast(), first));
  disk['cert'] = second.certificate;
  t.ok(isPair(await files.readOrLast(), second));
});

t.test('an empty file counts as incomplete', async (t) => {
  for (const name of ['cert', 'key']) {
    const { first, disk, files } = await setUp();
    const whole = disk[name] ?? '';
    disk[name] = '';
    await t.rejects(files.read(), { message: `${name} is empty` });
    disk[name] = whole;
    t.ok(isPair(await files.read(), first));
  }
});
