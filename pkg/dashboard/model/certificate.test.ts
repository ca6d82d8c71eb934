/** Certificates are read as Node.js reads them. */
import { X509Certificate } from 'node:crypto';
import t from 'tap';
import { Certificate } from '#dashboard/model/certificate.js';
import { expired, forOther, forShop } from '#insight/testing/certificates.js';

t.test('certificates', async (t) => {
  for (const [what, pem] of Object.entries({ expired, forOther, forShop })) {
    const [own, theirs] = [new Certificate(pem), new X509Certificate(pem)];
    t.equal(Date.parse(own.validFrom), Date.parse(theirs.validFrom), `${what} begins`);
    t.equal(Date.parse(own.validTo), Date.parse(theirs.validTo), `${what} ends`);
    t.equal(own.subjectAltName, theirs.subjectAltName, `names of ${what}`);
    t.equal(own.subject, theirs.subject, `subject of ${what}`);
    for (const host of [
      'shop.example.com',
      'other.example.com',
      'SHOP.example.com',
      'x.shop.example.com',
      'example.com',
    ])
      t.equal(own.checkHost(host) !== undefined, theirs.checkHost(host) !== undefined, `${what} covers ${host}`);
  }
});

t.test('anything else is refused', async (t) => {
  t.throws(() => new Certificate('text'), /no certificate/);
  const [head = '', ...lines] = forShop.split('\n');
  for (let cut = 1; cut < lines.length - 2; cut++) {
    const short = [head, ...lines.slice(0, cut), lines.at(-1)].join('\n');
    t.throws(() => new Certificate(short), `cut after ${cut} lines`);
  }
});
