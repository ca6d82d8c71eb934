/** The dashboard of an API server: logins at an OpenID provider, and what other sites may not do. */
import { writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { startApi } from '#test/integration/daemons/api.js';
import { Issuer } from '#test/integration/daemons/oidc-issuer.js';

interface Answer {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const issuer = await new Issuer(realClock.now()).listen(t);
const folder = t.testdir({ secret: 'hush\n' });
const ca = join(folder, 'ca.crt');
await writeFile(ca, issuer.ca);
const { port } = await startApi(t, {
  dialect,
  args: [
    ...['--dashboard', `--oidc-issuer-url=${issuer.url}`, '--oidc-client-id=cluster', `--oidc-ca-file=${ca}`],
    ...['--oidc-username-claim=sub', '--oidc-username-prefix=people:', '--dashboard-oidc-scopes=openid,groups'],
    `--dashboard-oidc-client-secret-file=${join(folder, 'secret')}`,
  ],
});

/** What a browser sends to the server, or follows to the provider. */
function ask(method: string, path: string, headers: Record<string, string> = {}, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request(
      { host: '127.0.0.1', port, path, method, headers, agent: false, rejectUnauthorized: false },
      async (response) => {
        const text = (await response.setEncoding('utf8').toArray()).join('');
        resolve({ code: response.statusCode ?? 0, headers: response.headers, text });
      },
    );
    call.on('error', reject);
    call.end(body);
  });
}

function follow(address: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request(address, { agent: false, rejectUnauthorized: false }, (response) => {
      response.resume();
      resolve(response.headers.location ?? '');
    })
      .on('error', reject)
      .end();
  });
}

interface Begun {
  readonly cookie: string;
  readonly answer: { readonly code: string; readonly state: string; readonly error: string };
}

/** Up to the page to which the provider sends the browser back. */
async function begin(): Promise<Begun> {
  const { code, headers } = await ask('GET', '/ui/login');
  t.equal(code, 302, 'the browser is sent to the provider');
  const cookie = headers['set-cookie']?.[0] ?? '';
  const back = new URL(await follow(headers.location ?? ''));
  t.equal(back.origin + back.pathname, `https://127.0.0.1:${port}/ui/login/return`, 'and back to the page');
  const of = (name: string) => back.searchParams.get(name) ?? '';
  return { cookie, answer: { code: of('code'), state: of('state'), error: of('error') } };
}

const own = { 'x-orch-dashboard': '1', 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };
const pairOf = (cookie: string) => cookie.split(';', 1)[0] ?? '';

function finish({ cookie, answer }: Begun, headers: Record<string, string> = own): Promise<Answer> {
  const body = JSON.stringify(answer);
  return ask(
    'POST',
    '/ui/login/token',
    { cookie: pairOf(cookie), 'content-length': String(body.length), ...headers },
    body,
  );
}

t.test('a login leads to a token of the provider, by a code and PKCE', async (t) => {
  issuer.login = { sub: 'jane' };
  const session = JSON.parse((await ask('GET', '/ui/session')).text) as { readonly hasProvider: boolean };
  t.equal(session.hasProvider, true, 'the page offers it');
  const begun = await begin();
  t.match(begun.cookie, /^__Host-orch-login=.*Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=600$/);
  const { authorization } = issuer.received;
  t.same(
    ['response_type', 'client_id', 'scope', 'code_challenge_method'].map((name) => authorization?.get(name)),
    ['code', 'cluster', 'openid groups', 'S256'],
    'the request to the provider',
  );
  const { code, text, headers } = await finish(begun);
  t.equal(code, 200, 'the page gets the token');
  t.match(headers['set-cookie']?.[0], /^__Host-orch-login=; .*Max-Age=0$/, 'and the cookie is gone');
  t.equal(headers['cache-control'], 'no-cache');
  t.equal(
    issuer.received.secret,
    `Basic ${Buffer.from('cluster:hush').toString('base64')}`,
    'the client proves itself',
  );
  t.notOk(begun.cookie.includes(issuer.received.authorization?.get('code_challenge') ?? ''), 'the challenge is a hash');
  const { token } = JSON.parse(text) as { readonly token: string };
  const answer = await ask('GET', '/api/v1/pods', { authorization: `Bearer ${token}` });
  t.equal(answer.code, 403, 'the token is accepted');
  t.match(answer.text, /User \\"people:jane\\" cannot list/, 'as the user of the provider');
});

t.test('a login of another browser, or that another site sent, gives no token', async (t) => {
  const refused: [what: string, change: (begun: Begun) => Promise<Answer>, why: RegExp][] = [
    ['without the cookie', (begun) => finish({ ...begun, cookie: '' }), /did not begin this login/],
    [
      'with another state',
      (begun) => finish({ ...begun, answer: { ...begun.answer, state: 'guessed' } }),
      /did not begin this login/,
    ],
    ['with another code', (begun) => finish({ ...begun, answer: { ...begun.answer, code: 'x' } }), /status 400/],
    ['without a code', (begun) => finish({ ...begun, answer: { ...begun.answer, code: '' } }), /did not begin/],
    ['by a form of another site', (begun) => finish(begun, { 'content-type': 'text/plain' }), /another site/],
    [
      'by a script of another site',
      (begun) => finish(begun, { ...own, 'sec-fetch-site': 'cross-site' }),
      /another site/,
    ],
    [
      'by a script of the same site',
      (begun) => finish(begun, { ...own, 'sec-fetch-site': 'same-site' }),
      /another site/,
    ],
  ];
  for (const [what, change, why] of refused) {
    const { code, text } = await change(await begin());
    t.equal(code, 403, what);
    t.match(text, why, what);
  }
  const first = await begin();
  const second = await begin();
  t.equal((await finish({ cookie: first.cookie, answer: second.answer })).code, 403, 'the state of another login');
});

t.test('a token of another login is refused', async (t) => {
  const begun = await begin();
  issuer.login = { sub: 'jane', nonce: 'replayed' };
  const { code, text } = await finish(begun);
  t.equal(code, 403);
  t.match(text, /of another login/);
  issuer.login = { sub: 'jane' };
});

t.test('bodies and hosts are checked', async (t) => {
  const begun = await begin();
  const answer = { ...begun.answer, code: 'x'.repeat(10_000) };
  t.equal((await finish({ ...begun, answer })).code, 403, 'a long body');
  t.equal((await ask('GET', '/ui/login', { host: 'evil.example/path' })).code, 400, 'a malformed host');
  t.equal(
    (await ask('PUT', '/ui/login/token', own)).code,
    403,
    'another verb is a request of the API, which refuses it',
  );
});

t.test('the provider may be away', async (t) => {
  const begun = await begin();
  issuer.down = true;
  const { code, text } = await finish(begun);
  t.equal(code, 403);
  t.match(text, /the provider refused the login/);
  issuer.down = false;
});

t.test('a user who declines comes back with the reason', async (t) => {
  issuer.login = undefined;
  t.equal((await begin()).answer.error, 'access_denied');
});

t.test('nothing frames the pages, and other origins read nothing', async (t) => {
  for (const path of ['/ui/', '/ui/kinds/core/pods', '/ui/assets/main.js', '/ui/session', '/ui/login']) {
    const { headers } = await ask('GET', path, { origin: 'https://evil.example' });
    t.equal(headers['x-frame-options'], 'DENY', path);
    t.match(headers['content-security-policy'], /default-src 'none'.*frame-ancestors 'none'/, path);
    t.notMatch(headers['content-security-policy'], /unsafe|https?:|\*/, path);
    t.equal(headers['access-control-allow-origin'], undefined, path);
    t.equal(headers['cross-origin-resource-policy'], 'same-origin', path);
  }
  const preflight = await ask('OPTIONS', '/ui/login/token', {
    ...{ origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    'access-control-request-headers': 'x-orch-dashboard',
  });
  t.equal(preflight.headers['access-control-allow-origin'], undefined, 'no preflight is answered');
  const byCookie = await ask('GET', '/api/v1/pods', { cookie: '__Host-orch-login=a.b.c' });
  t.not(byCookie.code, 200, 'no cookie gives rights');
});
