import t from 'tap';
import { selectorFromLabels } from '#apimachinery/selectors/labels.js';
import type { ApiObject } from '#client/client.js';
import { decideClaim } from '#controllers/framework/owners.js';
import { slowStart } from '#controllers/framework/slow-start.js';

t.test('owners adopt, keep, release or ignore objects', (t) => {
  const selector = selectorFromLabels({ a: 'b' });
  const owner: ApiObject = { metadata: { uid: 'o', namespace: 'n' } };
  const leaving: ApiObject = { metadata: { uid: 'o', namespace: 'n', deletionTimestamp: '2022-01-01T00:00:00Z' } };
  const ref = (uid: string) => [{ apiVersion: 'v1', kind: 'K', name: 'x', uid, controller: true }];
  const object = (labels: Record<string, string>, more: Partial<ApiObject['metadata']> = {}): ApiObject => ({
    metadata: { labels, namespace: 'n', ...more },
  });
  const match = { a: 'b' };
  const rows: [string, ApiObject, ApiObject, string][] = [
    ['managed and selected', owner, object(match, { ownerReferences: ref('o') }), 'owned'],
    ['managed, no longer selected', owner, object({}, { ownerReferences: ref('o') }), 'release'],
    ['managed, no longer selected, owner in deletion', leaving, object({}, { ownerReferences: ref('o') }), 'ignore'],
    ['managed by another owner', owner, object(match, { ownerReferences: ref('p') }), 'ignore'],
    ['an orphan', owner, object(match), 'adopt'],
    ['an orphan that is not selected', owner, object({ a: 'c' }), 'ignore'],
    ['an orphan, owner in deletion', leaving, object(match), 'ignore'],
    ['an orphan in deletion', owner, object(match, { deletionTimestamp: '2022-01-01T00:00:00Z' }), 'ignore'],
    ['an orphan in another namespace', owner, object(match, { namespace: 'm' }), 'ignore'],
    [
      'owner references without control do not count',
      owner,
      object(match, { ownerReferences: [{ apiVersion: 'v1', kind: 'K', name: 'x', uid: 'p' }] }),
      'adopt',
    ],
  ];
  for (const [name, by, what, want] of rows) t.equal(decideClaim(by, selector, what), want, name);
  t.end();
});

t.test('slow start adds one call per success and stops at a failure', async (t) => {
  const rows: [string, number, number, { succeeded: number; skipped: number }, number][] = [
    ['nothing to do', 0, 99, { succeeded: 0, skipped: 0 }, 0],
    ['all succeed', 10, 99, { succeeded: 10, skipped: 0 }, 10],
    ['the first fails', 10, 0, { succeeded: 0, skipped: 9 }, 1],
    ['the third fails while two more are under way', 10, 2, { succeeded: 2, skipped: 5 }, 5],
    ['the last ones fail', 10, 8, { succeeded: 8, skipped: 0 }, 10],
  ];
  for (const [name, count, good, want, calls] of rows) {
    let called = 0;
    const result = await slowStart(count, async () => {
      called += 1;
      if (called > good) throw new Error(`call ${called}`);
    });
    t.match(result, want, name);
    t.equal(called, calls, `${name}: calls`);
    t.equal(result.error !== undefined, good < count, `${name}: error`);
  }
});
