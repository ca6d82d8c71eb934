/** Certificates that would cost other hosts too much. */
import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import t from 'tap';
import type { Secret } from '#api/core/v1/types.gen.js';
import { Certificates } from '#ingress/routing/certificates.js';
import { generateEcKey, type KeyPair } from '#pki/keys.js';
import { createSelfSigned } from '#pki/self-signed.js';

async function secretOf(keys: KeyPair, extra = ''): Promise<Secret> {
  const { certificate, privateKey } = await createSelfSigned({
    commonName: 'a',
    names: ['a'],
    ips: [],
    now: Date.now(),
    keys,
  });
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  return {
    metadata: { name: 'a' },
    data: { 'tls.crt': base64(certificate + extra), 'tls.key': base64(privateKey) },
  } as Secret;
}

t.test('keys and chains have a limit', async (t) => {
  const certificates = new Certificates();
  const why = (secret: Secret) => certificates.whyUnusable(secret);
  const elliptic = await generateEcKey();
  t.equal(why(await secretOf(elliptic)), undefined, 'an elliptic key');
  const rsa = await promisify(generateKeyPair)('rsa', { modulusLength: 4104 });
  t.equal(why(await secretOf(rsa)), 'the key of tls.crt has 4104 bits; at most 4096 are served', 'a long key');
  const chain = await secretOf(elliptic, '#'.repeat(100 * 1024));
  t.equal(why(chain), 'tls.crt is longer than 102400 bytes', 'a long chain');
  const broken = { metadata: { name: 'b' }, data: { 'tls.crt': 'YQ==', 'tls.key': 'YQ==' } } as unknown as Secret;
  t.match(why(broken), /^tls.crt and tls.key are no certificate and its key: /, 'no certificate');
});
