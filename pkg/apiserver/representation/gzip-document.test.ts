import { randomBytes } from 'node:crypto';
import { crc32, gunzipSync } from 'node:zlib';
import t from 'tap';
import { combineCrc32 } from '#apiserver/representation/crc32-combine.js';
import { type Packed, PackedRow, pack, unpack, wrap } from '#apiserver/representation/gzip-document.js';

const never = { pause: () => undefined };

t.test('checksums of parts make that of the whole', async (t) => {
  for (const [left, right] of [
    [0, 0],
    [0, 5],
    [7, 0],
    [1, 1],
    [300, 70_000],
    [70_000, 12_345],
  ] as const) {
    const [a, b] = [randomBytes(left), randomBytes(right)];
    t.equal(combineCrc32(crc32(a), crc32(b), right), crc32(Buffer.concat([a, b])), `${left} and ${right} bytes`);
  }
});

t.test('packed parts are one stream in any order', async (t) => {
  const texts = ['{"a":', '"x"'.repeat(50_000), '', ',', 'é'.repeat(1000)].map((text) => Buffer.from(text));
  const packed: Packed[] = await Promise.all(texts.map((text) => pack([text])));
  packed.push(wrap(Buffer.from('}')), wrap(Buffer.alloc(0)));
  texts.push(Buffer.from('}'));
  t.ok((packed[1]?.blocks.length ?? 0) < 2000, 'it is compressed');
  for (const order of [packed, [...packed].reverse()]) {
    const row = await PackedRow.of(order, never);
    const wanted = Buffer.concat(await Promise.all(order.map((part) => unpack(part))));
    const gzip = Buffer.concat([...row.gzip()]);
    t.equal(gzip.length, row.gzipLength);
    t.ok(gunzipSync(gzip).equals(wanted));
    const plain: Buffer[] = [];
    for await (const part of row.plain()) plain.push(part);
    t.ok(Buffer.concat(plain).equals(wanted));
    t.equal(row.length, wanted.length);
  }
  const whole = await PackedRow.of(packed, never);
  t.ok(gunzipSync(Buffer.concat([...whole.gzip()])).equals(Buffer.concat(texts)));
});
