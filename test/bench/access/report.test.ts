import { test } from 'tap';
import { discardedText, limitsTable, type Row, rowsMarkdown, rowText, verdicts } from '#test/bench/access/report.js';

const rounds = { discarded: [], starved: false, pace: 1.02 };
const create: Row = {
  name: 'create',
  unit: 'ms',
  figures: { orch: 0.6, peer: 2, bare: 0.2 },
  etcd: { orch: 0.2, peer: 0.3, bare: 0.2 },
  limits: { bare: 2.5, peer: 0.33 },
  rounds,
};
const alone: Row = { ...create, figures: { orch: 0.6, bare: 0.2 }, etcd: { orch: 0.2, bare: 0.2 } };
const memory: Row = {
  name: 'memory',
  unit: 'bytes',
  figures: { orch: 200e6, peer: 800e6 },
  limits: { most: 177.5e6, peer: 0.2 },
};

test('the limit compares with the peer if it takes part, otherwise with the bare server', async (t) => {
  t.same(verdicts(create), [
    { against: 'bare', figure: 0.6 / 0.2 },
    { against: 'peer', figure: 0.3, limit: 0.33, held: true },
  ]);
  t.same(verdicts(alone), [{ against: 'bare', figure: 0.6 / 0.2, limit: 2.5, held: false }]);
  const noLimitOfPeer = { ...create, limits: { bare: 2.5 } };
  t.same(
    verdicts(noLimitOfPeer).map(({ held }) => held),
    [false, undefined],
  );
});

test('a starved machine gives no verdict', async (t) => {
  const starved: Row = { ...alone, rounds: { discarded: ['slow cores'], starved: true, pace: 0.7 } };
  t.same(verdicts(starved), [{ against: 'bare', figure: 0.6 / 0.2, limit: 2.5 }]);
  t.match(rowText(starved), 'STARVED, not judged; cores at 0.70 of their pace; 1 round discarded: slow cores (1)');
  t.notMatch(rowText(starved), 'MISSED');
});

test('a line of text', async (t) => {
  const line = rowText(create).replace(/ {4,}/, '   ');
  t.equal(
    line,
    'create   0.600 ms + etcd 0.200 ms   bare 0.200 ms + etcd 0.200 ms  3.00×   peer 2.00 ms + etcd 0.300 ms  0.30 (≤ 0.33)\n',
  );
  t.match(rowText(memory), '200 MB  (≤ 178 MB, MISSED)   peer 800 MB  0.25 (≤ 0.20, MISSED)');
});

test('discarded rounds are reported', async (t) => {
  t.equal(discardedText([]), '');
  t.equal(
    discardedText(['slow cores', 'other processes', 'slow cores']),
    '3 rounds discarded: slow cores (2), other processes (1)',
  );
});

test('a table', async (t) => {
  t.equal(
    rowsMarkdown([create, memory]),
    [
      '| what | orch | peer | ratio | at most | etcd: orch, peer |',
      '|---|---|---|---|---|---|',
      '| create | 0.600 ms | 2.00 ms | 0.30 | 0.33 | 0.200 ms, 0.300 ms |',
      '| memory | 200 MB | 800 MB | 0.25 | **178 MB, missed**, **0.20, missed** | – |',
      '',
    ].join('\n'),
  );
  t.equal(
    rowsMarkdown([alone]),
    [
      '| what | orch | bare server | ratio | at most | etcd |',
      '|---|---|---|---|---|---|',
      '| create | 0.600 ms | 0.200 ms | 3.00× | **2.50×, missed** | 0.200 ms |',
      '',
    ].join('\n'),
  );
});

test('the limits as a table', async (t) => {
  const lines = limitsTable([create, memory, { ...memory, name: 'no limit', limits: {} }]).split('\n');
  t.equal(lines.length, 5);
  t.match(lines[1], /^create +0\.600 ms +2\.00 ms +0\.30 +≤ 0\.33 +holds +0$/);
  t.match(lines[2], /^memory +200 MB +– +– +≤ 178 MB +MISSES +0$/);
  t.match(lines[3], /^memory +200 MB +800 MB +0\.25 +≤ 0\.20 +MISSES +0$/);
});
