import t from 'tap';
import { withCrossOrigin } from '#apiserver/http/cross-origin.js';
import type { ApiRequest, ApiResponse } from '#apiserver/http/exchange.js';

const shared = {
  'access-control-allow-methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
  'access-control-allow-headers':
    'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
  'access-control-expose-headers': 'Date',
  'access-control-allow-credentials': 'true',
};

async function ask(allowedOrigins: string[], method: string, headers: Record<string, string> = {}) {
  let handled = 0;
  const handler = withCrossOrigin(
    (): ApiResponse => {
      handled += 1;
      return { status: 401, headers: { 'content-type': 'text/plain' }, body: undefined };
    },
    { allowedOrigins, newUID: () => 'new' },
  );
  const response = await handler({ method, headers } as unknown as ApiRequest);
  return { status: response.status, headers: response.headers, handled };
}

t.test('requests of allowed origins', async (t) => {
  const origin = 'https://console.example.com';
  const exact = ['^https://console\\.example\\.com$'];
  const refused = { status: 401, headers: { 'content-type': 'text/plain' }, handled: 1 };
  const added = { 'access-control-allow-origin': origin, ...shared };
  t.same(
    await ask(exact, 'GET', { origin }),
    { ...refused, headers: { ...refused.headers, ...added } },
    'a refusal is readable, too',
  );
  const preflight = { status: 204, headers: { 'audit-id': 'new', 'cache-control': 'no-cache, private', ...added } };
  t.same(await ask(exact, 'OPTIONS', { origin }), { ...preflight, handled: 0 }, 'a preflight ends here');
  t.match(await ask(exact, 'OPTIONS', { origin, 'audit-id': 'own' }), { headers: { 'audit-id': 'own' } });
  t.same(await ask(exact, 'OPTIONS'), refused, 'OPTIONS without an origin');
  const others = ['https://console.example.com.evil.test', 'http://console.example.com', 'null', ''];
  for (const other of others) {
    for (const method of ['GET', 'OPTIONS'])
      t.same(await ask(exact, method, { origin: other }), refused, `${method} ${other}`);
  }
  t.same(await ask([], 'GET', { origin }), refused, 'no origin is allowed');
  t.equal((await ask(['x', 'example'], 'OPTIONS', { origin })).status, 204, 'an expression matches anywhere');
  t.same(await ask(['a'], 'OPTIONS', { origin: 'a'.repeat(2000) }), refused, 'a text that is no origin');
  t.throws(() =>
    withCrossOrigin(() => ({ status: 200, headers: {}, body: undefined }), { allowedOrigins: ['('], newUID: () => '' }),
  );
});
