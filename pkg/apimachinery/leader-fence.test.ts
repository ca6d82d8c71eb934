import t from 'tap';
import { formatLeaderFence, type LeaderFence, parseLeaderFence, showsTerm } from '#apimachinery/leader-fence.js';

const lease = {
  lock: 'leases',
  namespace: 'sys',
  name: 'lock',
  holderIdentity: 'höst&=%_1',
  leaseTransitions: 7,
  acquireTime: '2022-05-03T00:00:00.000000Z',
} as const;

t.test('a fence survives formatting and parsing', (t) => {
  const etcd: LeaderFence = { lock: 'etcdleases', namespace: 'sys', name: 'lock', revision: 2n ** 60n };
  for (const fence of [lease, etcd]) {
    const text = formatLeaderFence(fence);
    t.match(text, /^[\x21-\x7e]+$/, 'fit for a header');
    t.same(parseLeaderFence(text), fence);
  }
  t.end();
});

t.test('malformed fences are refused', (t) => {
  const text = formatLeaderFence(lease);
  for (const [bad, why] of [
    ['', 'lock is missing'],
    ['lock=files&namespace=a&name=b', 'unknown lock "files"'],
    ['lock=etcdleases&namespace=a&name=b', 'revision is missing'],
    ['lock=etcdleases&namespace=a&name=b&revision=-1', 'revision is not a number'],
    [text.replace('leaseTransitions=7', 'leaseTransitions=x'), 'leaseTransitions is not a number'],
    [text.replace('namespace=sys', 'namespace='), 'namespace is missing'],
    [`${text}&x=${'y'.repeat(3000)}`, 'too long'],
  ] as const) {
    t.throws(() => parseLeaderFence(bad), { name: 'RangeError', message: why }, bad);
  }
  t.end();
});

t.test('holder, transitions and acquire time identify a term', (t) => {
  t.ok(showsTerm(lease, lease));
  t.notOk(showsTerm(lease, undefined));
  for (const other of [{ holderIdentity: 'b' }, { leaseTransitions: 8 }, { acquireTime: '' }]) {
    t.notOk(showsTerm(lease, { ...lease, ...other }));
  }
  t.end();
});
