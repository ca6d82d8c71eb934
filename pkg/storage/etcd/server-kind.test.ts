import t from 'tap';
import { readConditionalWriteResponse, WireReader } from '#storage/etcd/answers.js';
import { rangeRequest, WireWriter } from '#storage/etcd/requests.js';
import { readServerKind } from '#storage/etcd/server-kind.js';

const revision = new WireWriter().int(3, 7);

void t.test('the header of a response tells etcd from kine', async (t) => {
  const kindOf = (header: WireWriter) => readServerKind(new WireReader(new WireWriter().message(1, header).finish()));
  const etcd = kindOf(
    new WireWriter()
      .int(1, 2n ** 63n)
      .int(2, 5)
      .int(3, 7)
      .int(4, 2),
  );
  const kine = kindOf(revision);
  t.equal(etcd.name, 'etcd');
  t.equal(kine.name, 'kine');
  t.equal(readServerKind(new WireReader(Buffer.alloc(0))).name, 'kine', 'kine’s empty header is left out');
  t.same([1n, 2n, 9n].map(etcd.watchFrom), [1n, 1n, 8n], 'etcd is watched from one revision earlier');
  t.same([1n, 2n, 9n].map(kine.watchFrom), [2n, 2n, 9n], 'kine, which refuses that, is not');
});

void t.test('a range of one key has no end', async (t) => {
  const oneKey = rangeRequest({ start: '/registry/a' });
  t.same(rangeRequest({ start: '/registry/a', end: '/registry/a\0' }), oneKey);
  for (const end of ['/registry/b', '/registry/a\0\0', '/registry/b\0', '/registry/a0'])
    t.notSame(rangeRequest({ start: '/registry/a', end }), oneKey, JSON.stringify(end));
});

void t.test('a deletion of nothing is no success', async (t) => {
  const answer = (deletion: WireWriter) =>
    readConditionalWriteResponse(
      new WireReader(
        new WireWriter().message(1, revision).bool(2, true).message(3, new WireWriter().message(3, deletion)).finish(),
      ),
    ).succeeded;
  t.equal(answer(new WireWriter().int(2, 1)), true);
  t.equal(answer(new WireWriter().message(1, revision)), false);
});
