import { randomBytes } from 'node:crypto';
import { crc32, gunzipSync } from 'node:zlib';
import t from 'tap';
import {
  type DeflatedPart,
  deflatePart,
  GzipDocument,
  inflatePart,
  storePart,
} from '#apiserver/representation/gzip-document.js';
import { combineCrc32 } from '#apiserver/representation/gzip-member.js';

const never = { pause: () => undefined };

t.test('checksums of parts combine to that of the whole', async (t) => {
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

t.test('parts form one stream in any order', async (t) => {
  const texts = ['{"a":', '"x"'.repeat(50_000), '', ',', 'é'.repeat(1000)].map((text) => Buffer.from(text));
  const packed: DeflatedPart[] = await Promise.all(texts.map((text) => deflatePart([text])));
  packed.push(storePart(Buffer.from('}')), storePart(Buffer.alloc(0)));
  texts.push(Buffer.from('}'));
  t.ok((packed[1]?.blocks.length ?? 0) < 2000, 'it is compressed');
  for (const order of [packed, [...packed].reverse()]) {
    const row = await GzipDocument.of(order, never);
    const expected = Buffer.concat(await Promise.all(order.map((part) => inflatePart(part))));
    const gzip = Buffer.concat([...row.gzip()]);
    t.equal(gzip.length, row.gzipLength);
    t.ok(gunzipSync(gzip).equals(expected));
    const plain: Buffer[] = [];
    for await (const part of row.plain()) plain.push(part);
    t.ok(Buffer.concat(plain).equals(expected));
    t.equal(row.length, expected.length);
  }
  const whole = await GzipDocument.of(packed, never);
  t.ok(gunzipSync(Buffer.concat([...whole.gzip()])).equals(Buffer.concat(texts)));
});
