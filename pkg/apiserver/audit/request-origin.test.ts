import t from 'tap';
import { attemptedBy, sourcesOf } from '#apiserver/audit/request-origin.js';
import type { ApiRequest } from '#apiserver/http/exchange.js';

const from = (headers: Record<string, string>, remoteAddress = '10.0.0.9') => sourcesOf({ headers, remoteAddress });

t.test('source addresses of requests', async (t) => {
  t.same(from({}), ['10.0.0.9']);
  t.same(from({}, '::ffff:10.0.0.9'), ['10.0.0.9']);
  t.same(from({ 'x-forwarded-for': '1.2.3.4, nonsense, fe80::1' }), ['1.2.3.4', 'fe80::1', '10.0.0.9']);
  t.same(from({ 'x-forwarded-for': '1.2.3.4', 'x-real-ip': '1.2.3.4' }), ['1.2.3.4', '10.0.0.9']);
  t.same(from({ 'x-real-ip': '1.2.3.4' }, '1.2.3.4'), ['1.2.3.4']);
  const many = Array.from({ length: 100 }, (_, i) => `1.2.3.${i}`).join();
  t.equal(from({ 'x-forwarded-for': many }).length, 32);
});

t.test('failed authentication names the attempted methods', async (t) => {
  const attempted = (more: Partial<ApiRequest>) => attemptedBy({ headers: {}, url: '/', ...more } as ApiRequest);
  t.equal(attempted({}), 'Authentication failed, no credentials provided');
  t.equal(
    attempted({ headers: { authorization: 'Bearer x' }, clientCertificate: Buffer.alloc(1) }),
    'Authentication failed, attempted: bearer, x509',
  );
  t.equal(
    attempted({ headers: { authorization: 'Basic x' }, url: '/a?access_token=y' }),
    'Authentication failed, attempted: basic, access_token',
  );
});
