import { Registry } from 'prom-client';
import t from 'tap';
import { holdCertificate, holdCertificates } from '#daemon/certificates/expirations.js';
import { createAuthority } from '#pki/certificate.js';

const now = Date.parse('2030-01-01T00:00:00Z');
const dayMs = 24 * 3600_000;
const lasting = async (days: number) =>
  (await createAuthority({ commonName: 'a', now, validityMs: days * dayMs })).certificate;

t.test('the metric shows when certificates expire', async (t) => {
  const registry = new Registry();
  const [short, long] = [await lasting(10), await lasting(20)];
  let serving: string | undefined;
  holdCertificate(registry, 'serving', () => serving);
  holdCertificate(registry, 'client', async () => short);
  holdCertificate(registry, 'client', async () => long);
  holdCertificate(registry, 'client-authority', () => short + long);
  holdCertificate(registry, 'etcd-client', () => Promise.reject(new Error('gone')));
  holdCertificates(registry, () => [['pki/etcd-server.crt', now]]);
  holdCertificate(undefined, 'serving', () => short);
  const shown = async () => {
    const lines = (await registry.metrics()).split('\n').filter((line) => !line.startsWith('#') && line !== '');
    return lines.map((line) => /role="(.*)"\} (.*)$/.exec(line)?.slice(1));
  };
  const at = (days: number) => String((now + days * dayMs) / 1000);
  const others = [
    ['client', at(10)],
    ['client-authority', at(20)],
    ['pki/etcd-server.crt', at(0)],
  ];
  t.same(
    await shown(),
    others,
    'the first expiration of several, the last of a bundle; no series without a certificate',
  );
  serving = long;
  t.same(await shown(), [['serving', at(20)], ...others]);
});
