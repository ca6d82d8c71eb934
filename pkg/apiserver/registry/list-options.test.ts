import t from 'tap';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { statusOf } from '#apimachinery/errors/status.js';
import { decodeContinue, encodeContinue } from '#apiserver/registry/continue-token.js';
import { listRequest, watchRequest } from '#apiserver/registry/list-options.js';

const token = encodeContinue({ revision: 7n, startKey: 'default/b' });

/** The matrix of specification 1, 4.6: query → kind of read, or the code of the refusal. */
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
  ['resourceVersionMatch=Exact', 400],
  ['resourceVersionMatch=Exact&resourceVersion=0', 400],
  ['resourceVersionMatch=Exact&resourceVersion=5', 'exact'],
  ['limit=2&resourceVersionMatch=Exact&resourceVersion=0', 400],
  ['limit=2&resourceVersionMatch=Exact&resourceVersion=5', 'exact'],
  ['resourceVersionMatch=NotOlderThan', 400],
  ['resourceVersionMatch=NotOlderThan&resourceVersion=0', 'any'],
  ['resourceVersionMatch=NotOlderThan&resourceVersion=5', 'notOlderThan'],
  ['limit=2&resourceVersionMatch=NotOlderThan&resourceVersion=0', 'any'],
  ['limit=2&resourceVersionMatch=NotOlderThan&resourceVersion=5', 'notOlderThan'],
  [`limit=2&continue=${token}&resourceVersionMatch=Exact`, 400],
  ['resourceVersionMatch=Sometimes&resourceVersion=5', 422],
  ['resourceVersion=abc', 400],
  ['resourceVersion=-1', 400],
  ['resourceVersion=18446744073709551616', 400],
  ['sendInitialEvents=true', 422],
  ['limit=many', 400],
  ['timeoutSeconds=soon', 400],
  ['limit=9223372036854775807', 'latest'],
  ['limit=9223372036854775808', 400],
  ['continue=%7B', 400],
];

t.test('lists', async (t) => {
  for (const [query, expected] of matrix) {
    let outcome: string | number | undefined;
    try {
      outcome = listRequest(dialect, new URLSearchParams(query), 'default/').version.kind;
    } catch (error) {
      outcome = statusOf(error)?.code;
    }
    t.equal(outcome, expected, query === '' ? '(nothing)' : query);
  }
});

t.test('continue tokens', async (t) => {
  t.same(decodeContinue(token, 'default/'), { revision: 7n, startKey: 'default/b' });
  const inconsistent = encodeContinue({ revision: undefined, startKey: 'default/b' });
  t.same(decodeContinue(inconsistent, ''), { revision: undefined, startKey: 'default/b' });
  t.throws(() => decodeContinue(token, 'other/'), { code: 400 }, 'a token cannot leave its namespace');
  const bad = ['', '!', 'e30', Buffer.from('{"v":"meta.v1","rv":0,"start":"a"}').toString('base64url')];
  for (const text of bad) t.throws(() => decodeContinue(text, ''), { code: 400 }, JSON.stringify(text));
});

t.test('watches', async (t) => {
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
