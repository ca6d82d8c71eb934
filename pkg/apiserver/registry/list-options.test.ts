import t from 'tap';
import { kubernetesDialect as dialect, orchDialect } from '#apimachinery/dialect.js';
import { statusOf } from '#apimachinery/errors/status.js';
import { decodeContinue, encodeContinue } from '#apiserver/registry/continue-token.js';
import { listRequest, watchRequest } from '#apiserver/registry/list-options.js';

const token = encodeContinue({ revision: 7n, startKey: 'default/b' });

/** The matrix of specification 1, 4.6: from query to the kind of read, or the code of the refusal. */
const matrix: [query: string, outcome: string | number][] = [
  ['', 'latest'],
  ['resourceVersion=0', 'any'],
  ['resourceVersion=5', 'notOlderThan'],
  ['limit=2', 'latest'],
  ['limit=2&resourceVersion=0', 'any'],
  ['limit=2&resourceVersion=5', 'exact'],
  [`limit=2&continue=${token}`, 'exact'],
  [`limit=2&continue=${token}&resourceVersion=0`, 'exact'],
  [`limit=2&continue=${token}&resourceVersion=5`, 400],
  ['resourceVersionMatch=Exact', 422],
  ['resourceVersionMatch=Exact&resourceVersion=0', 422],
  ['resourceVersionMatch=Exact&resourceVersion=5', 'exact'],
  ['limit=2&resourceVersionMatch=Exact&resourceVersion=0', 422],
  ['limit=2&resourceVersionMatch=Exact&resourceVersion=5', 'exact'],
  ['resourceVersionMatch=NotOlderThan', 422],
  ['resourceVersionMatch=NotOlderThan&resourceVersion=0', 'any'],
  ['resourceVersionMatch=NotOlderThan&resourceVersion=5', 'notOlderThan'],
  ['limit=2&resourceVersionMatch=NotOlderThan&resourceVersion=0', 'any'],
  ['limit=2&resourceVersionMatch=NotOlderThan&resourceVersion=5', 'notOlderThan'],
  [`limit=2&continue=${token}&resourceVersionMatch=Exact`, 422],
  ['resourceVersionMatch=Sometimes&resourceVersion=5', 422],
  ['resourceVersion=abc', 500],
  ['resourceVersion=-1', 500],
  ['resourceVersion=18446744073709551616', 500],
  ['resourceVersion=00018446744073709551615', 'notOlderThan'],
  ['resourceVersion=00', 'any'],
  ['limit=2&resourceVersion=abc', 400],
  ['resourceVersionMatch=Exact&resourceVersion=abc', 400],
  ['resourceVersionMatch=NotOlderThan&resourceVersion=abc', 500],
  [`continue=${token}&resourceVersion=abc`, 400],
  ['limit=', 400],
  ['timeoutSeconds=', 400],
  ['sendInitialEvents=true', 422],
  ['limit=many', 400],
  ['timeoutSeconds=soon', 400],
  ['limit=9223372036854775807', 'latest'],
  ['limit=9223372036854775808', 400],
  ['continue=%7B', 400],
];

t.test('list requests', async (t) => {
  for (const [query, expected] of matrix) {
    let outcome: string | number | undefined;
    try {
      outcome = listRequest(dialect, new URLSearchParams(query), { scope: 'default/' }).version.kind;
    } catch (error) {
      outcome = statusOf(error)?.code;
    }
    t.equal(outcome, expected, query === '' ? '(nothing)' : query);
  }
});

t.test('conflicting options are refused with the dialect’s code', async (t) => {
  const query = new URLSearchParams('resourceVersionMatch=Exact');
  const message =
    'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided';
  for (const [of, code, reason] of [
    [dialect, 422, 'Invalid'],
    [orchDialect, 400, 'BadRequest'],
  ] as const) {
    t.throws(() => listRequest(of, query, { scope: '' }), {
      code,
      reason,
      message: `ListOptions.${of.groupName('meta')} "" is invalid: ${message}`,
    });
  }
});

t.test('malformed versions are refused', async (t) => {
  const message = 'resourceVersion: Invalid value: "x\\x01": strconv.ParseUint: parsing "x\\x01": invalid syntax';
  const list = (query: string) => () => listRequest(dialect, new URLSearchParams(query), { scope: '' });
  t.throws(list('resourceVersion=x%01'), { code: 500, message });
  t.throws(list('limit=1&resourceVersion=x%01'), { code: 400, message: `invalid resource version: ${message}` });
});

t.test('continue tokens', async (t) => {
  t.same(decodeContinue(token, 'default/'), { revision: 7n, startKey: 'default/b' });
  const inconsistent = encodeContinue({ revision: undefined, startKey: 'default/b' });
  t.same(decodeContinue(inconsistent, ''), { revision: undefined, startKey: 'default/b' });
  t.throws(() => decodeContinue(token, 'other/'), { code: 400 }, 'a token of another namespace is refused');
  const bad = ['', '!', 'e30', Buffer.from('{"v":"meta.v1","rv":0,"start":"a"}').toString('base64url')];
  const byte = (at: number) => ({
    message: `invalid continue token: continue key is not valid: illegal base64 data at input byte ${at}`,
  });
  t.throws(() => decodeContinue('ab{', ''), byte(2));
  t.throws(() => decodeContinue('abcde', ''), byte(4));
  for (const text of bad) t.throws(() => decodeContinue(text, ''), { code: 400 }, JSON.stringify(text));
});

t.test('watch requests', async (t) => {
  const rows: [string, object | number][] = [
    ['', { version: { kind: 'latest' }, bookmarks: false, sendInitialEvents: false }],
    ['resourceVersion=0&allowWatchBookmarks=true', { version: { kind: 'any' }, bookmarks: true }],
    ['resourceVersion=9&timeoutSeconds=5', { version: { kind: 'exact', revision: 9n }, timeoutMs: 5000 }],
    ['sendInitialEvents=true&resourceVersionMatch=NotOlderThan', { sendInitialEvents: true }],
    [
      'sendInitialEvents=false&resourceVersionMatch=NotOlderThan',
      { sendInitialEvents: false, skipInitialEvents: true },
    ],
    ['sendInitialEvents=true', 422],
    ['resourceVersionMatch=NotOlderThan', 422],
    ['timeoutSeconds=soon', 400],
  ];
  for (const [query, expected] of rows) {
    if (typeof expected === 'number')
      t.throws(() => watchRequest(dialect, new URLSearchParams(query)), { code: expected }, query);
    else t.match(watchRequest(dialect, new URLSearchParams(query)), expected, query);
  }
});
