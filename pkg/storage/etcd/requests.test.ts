import t from 'tap';
import { WireError, WireReader } from '#storage/etcd/answers.js';
import { WireWriter } from '#storage/etcd/requests.js';

void t.test('numbers of all sizes', async (t) => {
  const numbers = [0n, 1n, 127n, 128n, 2n ** 32n, 2n ** 49n - 1n, 2n ** 49n, 2n ** 53n + 1n, 2n ** 63n - 1n, -1n];
  for (const number of numbers) {
    const reader = new WireReader(new WireWriter().int(3, number).finish());
    if (number === 0n) t.equal(reader.next(), false, 'zero is left out');
    else {
      t.ok(reader.next());
      t.equal(reader.field, 3);
      t.equal(reader.int64(), number);
      t.equal(reader.next(), false);
    }
  }
});

void t.test('a nested writer is encoded like its bytes', async (t) => {
  const inner = () =>
    new WireWriter()
      .bytes(1, 'x'.repeat(300))
      .int(2, -1n)
      .message(3, new WireWriter().int(1, 2 ** 31));
  t.same(new WireWriter().message(4, inner()).finish(), new WireWriter().message(4, inner().finish()).finish());
  t.same([...new WireWriter().message(1, new WireWriter().int(2, 300)).finish()], [0x0a, 3, 0x10, 0xac, 0x02]);
});

void t.test('unread fields are skipped', async (t) => {
  const bytes = Buffer.concat([
    new WireWriter()
      .int(1, 2n ** 63n - 1n)
      .bytes(2, 'skipped')
      .finish(),
    Buffer.from([(4 << 3) | 1, 1, 2, 3, 4, 5, 6, 7, 8, (5 << 3) | 5, 1, 2, 3, 4]),
    new WireWriter().message(70, new WireWriter().bool(1, true).finish()).finish(),
  ]);
  const reader = new WireReader(bytes);
  const fields: number[] = [];
  while (reader.next()) {
    fields.push(reader.field);
    if (reader.field !== 70) continue;
    const inner = reader.message();
    t.ok(inner.next() && inner.bool());
  }
  t.same(fields, [1, 2, 4, 5, 70]);
});

void t.test('invalid bytes throw an error', async (t) => {
  const broken = [
    [0x08], // a missing number
    [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], // an endless number
    [0x12, 0x05, 0x01], // truncated bytes
    [0x0b], // a group
  ];
  for (const bytes of broken) {
    t.throws(
      () => {
        const reader = new WireReader(Buffer.from(bytes));
        while (reader.next());
      },
      WireError,
      bytes.join(' '),
    );
  }
});
