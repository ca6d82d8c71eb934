import t from 'tap';
import { type BrowserRequest, refusal } from '#dashboard/server/guard.js';

const rules = { hosts: ['127.0.0.1:7724', 'localhost:7724'], cookie: 'orch-ui-7724', session: 'abc' };
const own = { host: '127.0.0.1:7724', 'x-orch-dashboard': '1', cookie: 'other=1; orch-ui-7724=abc' };
const pods = '/api/v1/pods';

const rows: [what: string, request: Partial<BrowserRequest>, accepted: boolean][] = [
  ['the page of the link', { path: '/ui/', headers: { host: own.host } }, true],
  ['a file of it', { path: '/ui/assets/main.js', headers: { host: own.host } }, true],
  ['another host name (DNS rebinding)', { path: '/ui/', headers: { host: 'evil.example:7724' } }, false],
  ['no host name', { path: '/ui/', headers: {} }, false],
  ['another port', { path: '/ui/', headers: { host: '127.0.0.1:80' } }, false],
  ['its own request', { path: pods, headers: own }, true],
  ['its own request at localhost', { path: pods, headers: { ...own, host: 'localhost:7724' } }, true],
  ['a request without the session', { path: pods, headers: { ...own, cookie: 'orch-ui-7724=abd' } }, false],
  ['a request with a longer session', { path: pods, headers: { ...own, cookie: 'orch-ui-7724=abcd' } }, false],
  ['a session of another port', { path: pods, headers: { ...own, cookie: 'orch-ui-80=abc' } }, false],
  ['a form of another site', { path: pods, method: 'POST', headers: { host: own.host, cookie: own.cookie } }, false],
  ['another origin', { path: pods, headers: { ...own, origin: 'http://evil.example' } }, false],
  ['another port as origin', { path: pods, headers: { ...own, origin: 'http://127.0.0.1:80' } }, false],
  ['its own origin', { path: pods, headers: { ...own, origin: 'http://127.0.0.1:7724' } }, true],
  ['a request from another site', { path: pods, headers: { ...own, 'sec-fetch-site': 'cross-site' } }, false],
  ['a request from another port', { path: pods, headers: { ...own, 'sec-fetch-site': 'same-site' } }, false],
  [
    'a link on another site',
    {
      path: '/ui/kinds',
      headers: {
        host: own.host,
        'sec-fetch-site': 'cross-site',
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
      },
    },
    true,
  ],
  [
    'a frame on another site',
    {
      path: '/ui/kinds',
      headers: {
        host: own.host,
        'sec-fetch-site': 'cross-site',
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'iframe',
      },
    },
    false,
  ],
  [
    'a WebSocket of the page',
    {
      path: '/ui/stream',
      isUpgrade: true,
      headers: { host: own.host, cookie: own.cookie, origin: 'http://127.0.0.1:7724' },
    },
    true,
  ],
  [
    'a WebSocket without an origin',
    { path: '/ui/stream', isUpgrade: true, headers: { host: own.host, cookie: own.cookie } },
    false,
  ],
  [
    'a WebSocket without the session',
    { path: '/ui/stream', isUpgrade: true, headers: { host: own.host, origin: 'http://127.0.0.1:7724' } },
    false,
  ],
  ['a stream is no file', { path: '/ui/stream', headers: { host: own.host } }, false],
  ['forwards are no file', { path: '/ui/forwards', headers: { host: own.host } }, false],
  [
    'the link’s secret',
    { path: '/ui/session', method: 'POST', headers: { host: own.host, 'x-orch-dashboard': '1' } },
    true,
  ],
  ['the link’s secret from a form', { path: '/ui/session', method: 'POST', headers: { host: own.host } }, false],
  ['a write to a page', { path: '/ui/', method: 'POST', headers: { host: own.host } }, false],
];

t.test('what a loopback server accepts from browsers', async (t) => {
  for (const [what, request, accepted] of rows) {
    const reason = refusal({ method: 'GET', path: '/', headers: {}, isUpgrade: false, ...request }, rules);
    t.equal(reason === undefined, accepted, what);
  }
});
