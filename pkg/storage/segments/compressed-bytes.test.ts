import { randomBytes } from 'node:crypto';
import t from 'tap';
import { CompressedBytes } from '#storage/segments/compressed-bytes.js';
import { joined } from '#storage/segments/segmented.js';

t.test('large bytes are kept compressed, and are what they were', async (t) => {
  const bytes = Buffer.from('{"description":"one of many"},'.repeat(3000));
  const compressed = await CompressedBytes.of(bytes);
  if (compressed === undefined) throw new Error('not compressed');
  t.equal(compressed.length, bytes.length);
  t.ok(joined(compressed).equals(bytes));
  const target = Buffer.alloc(bytes.length + 3);
  compressed.copyTo(target, 3, 100);
  t.ok(target.subarray(3, 3 + bytes.length - 100).equals(bytes.subarray(100)));
  t.ok(compressed.begins(bytes.subarray(0, 50)));
  t.notOk(compressed.begins(Buffer.from('x')));
});

t.test('what would gain little stays as it is', async (t) => {
  t.equal(await CompressedBytes.of(Buffer.alloc(1000)), undefined, 'small');
  t.equal(await CompressedBytes.of(Buffer.alloc(4 * 1024 * 1024)), undefined, 'too large for one turn');
  t.equal(await CompressedBytes.of(randomBytes(50_000)), undefined, 'random');
});
