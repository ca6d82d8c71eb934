import { createHash, X509Certificate } from 'node:crypto';
import t from 'tap';
import { element, implicit, octetString, oid, sequence, set, tag, utf8String } from '#apimachinery/asn1/der.js';
import { certificatesInPem, encodePem } from '#apimachinery/asn1/pem.js';
import { readCertificateRequest } from '#apimachinery/asn1/pkcs10.js';
import { certify, createAuthority } from '#pki/certificate.js';
import { certifiedName, decodeName, encodeName } from '#pki/distinguished-name.js';
import { generateEcKey, generateRsaKey, privateKeyToPem } from '#pki/keys.js';
import { certificateRequest } from '#pki/testing/certificate-request.js';
import { encodeKeyUsages, type KeyUsage } from '#pki/usages.js';
import { extension, extensionOid, readAuthority, signCertificate } from '#pki/x509.js';

const now = Date.parse('2022-05-03T00:00:00Z');
const hour = 3600_000;

t.test('a certificate has the names and usages of its request', async (t) => {
  for (const generate of [generateEcKey, generateRsaKey]) {
    const authority = await createAuthority({ commonName: 'ca', now, keys: await generate() });
    const fixture = await certificateRequest({
      subject: { commonName: 'system:node:n1', organizations: ['system:nodes'] },
      dns: ['n1.example'],
      ips: ['10.0.0.1', 'fd00::1'],
      emails: ['a@example.com'],
      uris: ['spiffe://example/n1'],
    });
    const { subject, publicKey, names } = readCertificateRequest(fixture.request);
    t.match(names, { dns: ['n1.example'], emails: ['a@example.com'], uris: ['spiffe://example/n1'] });
    t.same(
      names.ips.map((ip) => ip.length),
      [4, 16],
    );
    const pem = certify(authority, {
      subject: subject.bytes,
      publicKey,
      keyUsages: ['digitalSignature', 'keyEncipherment'],
      purposes: ['server', 'client'],
      alternatives: names.der,
      notBefore: now,
      notAfter: now + hour,
    });
    const certificate = new X509Certificate(pem);
    const ca = new X509Certificate(authority.certificate);
    t.ok(certificate.verify(ca.publicKey) && certificate.checkIssued(ca));
    t.ok(certificate.checkPrivateKey(fixture.keys.privateKey));
    t.equal(certificate.ca, false);
    t.equal(certificate.subject, 'O=system:nodes\nCN=system:node:n1');
    t.equal(
      certificate.subjectAltName,
      'email:a@example.com, DNS:n1.example, URI:spiffe://example/n1, IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1',
    );
    t.same(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
    t.equal(new Date(certificate.validTo).getTime(), now + hour);
  }
});

t.test('a certificate ends with its authority, and may have no uses', async (t) => {
  const authority = await createAuthority({ commonName: 'ca', now, validityMs: hour });
  const { publicKey } = await generateEcKey();
  const nothing = { publicKey, keyUsages: [], purposes: [], notBefore: now, notAfter: now + 2 * hour };
  const subject = encodeName({ commonName: 'a', organizations: [] });
  const certificate = new X509Certificate(certify(authority, { ...nothing, subject }));
  t.equal(new Date(certificate.validTo).getTime(), now + hour);
  t.equal(certificate.keyUsage, undefined);
  const alternatives = sequence(implicit(2, Buffer.from('a.example')));
  const text = (name: Buffer) => certificatesInPem(certify(authority, { ...nothing, subject: name, alternatives }))[0];
  const critical = extension(extensionOid.alternativeNames, alternatives, 'critical');
  t.notOk(text(subject)?.includes(critical));
  t.ok(text(sequence())?.includes(critical), 'alternative names are critical where the subject is empty');
});

t.test('a certificate names its authority by the subject key identifier', async (t) => {
  const keys = await generateEcKey();
  const name = encodeName({ commonName: 'ca', organizations: [] });
  const own = createHash('sha256').update('my own').digest().subarray(0, 20);
  const parts = { issuer: name, subject: name, signingKey: keys.privateKey, publicKey: keys.publicKey };
  const make = (...extensions: Buffer[]) => {
    const der = signCertificate({ ...parts, notBefore: now, notAfter: now + hour, extensions });
    return encodePem('CERTIFICATE', der);
  };
  const certificate = make(extension(extensionOid.subjectKeyId, octetString(own)));
  t.same(readAuthority(certificate).keyId, own);
  t.equal(
    readAuthority(make(extension(extensionOid.basicConstraints, sequence()))).keyId.length,
    20,
    'without one, by the hash of its key',
  );
  const { publicKey } = await generateEcKey();
  const issued = certify(
    { certificate, privateKey: privateKeyToPem(keys.privateKey) },
    { subject: name, publicKey, keyUsages: [], purposes: [], notBefore: now, notAfter: now + hour },
  );
  const reference = sequence(oid(extensionOid.authorityKeyId), octetString(sequence(implicit(0, own))));
  t.ok(certificatesInPem(issued)[0]?.includes(reference));
});

t.test('key usages are encoded as bits', (t) => {
  const rows: [usages: KeyUsage[], bytes: number[]][] = [
    [['digitalSignature'], [7, 0x80]],
    [
      ['keyEncipherment', 'digitalSignature'],
      [5, 0xa0],
    ],
    [
      ['certSign', 'crlSign'],
      [1, 0x06],
    ],
    [['encipherOnly'], [0, 0x01]],
    [
      ['decipherOnly', 'keyAgreement'],
      [7, 0x08, 0x80],
    ],
  ];
  for (const [usages, bytes] of rows) {
    t.same(encodeKeyUsages(usages), element(tag.bitString, Buffer.from(bytes)), usages.join());
  }
  t.end();
});

t.test('attributes and names that certificates do not have are left out', async (t) => {
  const part = (type: string, text: string) => set(sequence(oid(type), utf8String(text)));
  const printable = (type: string, text: string) =>
    set(sequence(oid(type), element(tag.printableString, Buffer.from(text))));
  const subject = { commonName: 'first', organizations: ['dev'] };
  const attributes = [part('2.5.4.11', 'unit'), part('1.2.840.113549.1.9.1', 'a@b'), part('2.5.4.3', 'last')];
  const others = [element(0xa0, oid('1.2.3'), element(0xa0, utf8String('other name')))];
  const { request } = await certificateRequest({ subject, attributes, dns: ['a'], others });
  const read = readCertificateRequest(request);
  const certified = sequence(printable('2.5.4.10', 'dev'), printable('2.5.4.11', 'unit'), printable('2.5.4.3', 'last'));
  t.same(certifiedName(read.subject), certified);
  t.same(decodeName(read.subject), { commonName: 'last', organizations: ['dev'] });
  t.same(read.names.der, sequence(implicit(2, Buffer.from('a'))));
  const alone = await certificateRequest({ others });
  t.equal(readCertificateRequest(alone.request).names.der, undefined);
});

t.test('malformed requests are refused', async (t) => {
  t.throws(() => readCertificateRequest('AAAA'), /PEM block type must be CERTIFICATE REQUEST/);
  const { request } = await certificateRequest({ others: [implicit(7, Buffer.from([10, 0, 0]))] });
  t.throws(() => readCertificateRequest(request), /unable to parse csr: an IP address has 4 or 16 bytes/);
  t.equal(readCertificateRequest((await certificateRequest()).request).names.der, undefined);
});
