import type { PeerCertificate } from 'node:tls';
import { credentials } from '@grpc/grpc-js';
import t from 'tap';
import { identityError, withIdentities } from '#etcd-admin/identities.js';

const certificate = (subjectaltname: string) => ({ subject: { CN: 'etcd' }, subjectaltname }) as PeerCertificate;

t.test('a certificate must name one of the endpoints', async (t) => {
  const of = (names: string, ...hosts: string[]) => identityError(hosts, certificate(names))?.message ?? 'right';
  t.equal(of('IP Address:10.0.0.1, DNS:one', '10.0.0.1'), 'right');
  t.equal(of('IP Address:10.0.0.2', '10.0.0.1', '10.0.0.2'), 'right');
  t.equal(of('IP Address:0:0:0:0:0:0:0:1', '::1'), 'right');
  t.match(of('IP Address:10.0.0.3', '10.0.0.1', '10.0.0.2'), /IP: 10\.0\.0\.1 is not in the cert's list/);
  t.match(of('DNS:etcd', '10.0.0.1'), /10\.0\.0\.1/, 'the override is no valid name');
});

t.test('endpoints with names need no override', async (t) => {
  const { createSsl } = credentials;
  const named = withIdentities(['https://one:2379', 'https://two:2379'], (options) => [options, credentials.createSsl]);
  t.same(named, [{}, createSsl]);
  const [options, ownSsl] = withIdentities(['https://[::1]:2379'], (grpc) => [grpc, credentials.createSsl] as const);
  t.same(options, { 'grpc.ssl_target_name_override': 'etcd' });
  t.not(ownSsl, createSsl);
  t.equal(credentials.createSsl, createSsl, 'the library is restored');
  t.throws(() =>
    withIdentities(['https://10.0.0.1:2379'], () => {
      throw new Error('refused');
    }),
  );
  t.equal(credentials.createSsl, createSsl);
});
