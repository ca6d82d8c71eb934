import { randomBytes } from 'node:crypto';
import { crc32, gunzipSync } from 'node:zlib';
import t from 'tap';
import { CompressedLists, type EncodedList } from '#apiserver/representation/compressed-lists.js';
import { combineCrc32 } from '#apiserver/representation/gzip-member.js';
import { CacheEntry, entryContext } from '#storage/cache/cache-entry.js';
import { encodeStored } from '#storage/layout.js';
import type { Entry } from '#storage/resource-storage.js';

const entryOf = (n: number, modRevision: number, text = 'x'.repeat(n % 900)): Entry => {
  const key = `/registry/configmaps/default/c${String(n).padStart(5, '0')}`;
  const value = encodeStored({
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name: `c${n}` },
    data: { text },
  } as object);
  return new CacheEntry({ key, value, modRevision: BigInt(modRevision) }, entryContext());
};

interface Counted {
  readonly list: EncodedList;
  /** Objects whose bytes were read for compression. */
  readonly compressed: Set<string>;
}

function listOf(entries: readonly Entry[], separator = ','): Counted {
  const compressed = new Set<string>();
  // The bytes are read once to find the blocks, and again only for compression.
  const seen = new Set<string>();
  const bytesOf = (entry: Entry) => {
    if (seen.has(entry.key)) compressed.add(entry.key);
    seen.add(entry.key);
    return entry.json();
  };
  const list = {
    form: 'json v1',
    head: Buffer.from('{"items":['),
    entries,
    bytesOf,
    skipped: 0,
    separator: Buffer.from(separator),
    tail: Buffer.from(']}\n'),
  };
  return { list, compressed };
}

async function read(lists: CompressedLists, { list }: Counted): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of lists.body(list)) parts.push(part);
  return gunzipSync(Buffer.concat(parts)).toString();
}

const plain = (entries: readonly Entry[]) =>
  `{"items":[${entries.map((entry) => entry.json().toString()).join(',')}]}\n`;

t.test('checksums of two texts combine to that of both', (t) => {
  for (const size of [0, 1, 7, 64, 1000, 70_000]) {
    const [a, b] = [randomBytes(100), randomBytes(size)];
    t.equal(combineCrc32(crc32(a), crc32(b), b.length), crc32(Buffer.concat([a, b])), `${size} bytes`);
  }
  t.end();
});

t.test('lists are unchanged after decompression, and only changed blocks are compressed again', async (t) => {
  const lists = new CompressedLists(1e9);
  for (const count of [0, 1, 2, 1000]) {
    const entries = Array.from({ length: count }, (_, n) => entryOf(n, n + 1));
    t.equal(await read(lists, listOf(entries)), plain(entries), `${count} objects`);
  }
  const entries = Array.from({ length: 4000 }, (_, n) => entryOf(n, n + 1));
  t.equal(await read(lists, listOf(entries)), plain(entries));
  const again = listOf(entries);
  t.equal(await read(lists, again), plain(entries));
  t.equal(again.compressed.size, 0, 'no block is compressed again');

  const changed = entries.map((entry, n) => (n === 500 ? entryOf(n, 5000, 'changed') : entry));
  const afterChange = listOf(changed);
  t.equal(await read(lists, afterChange), plain(changed));
  t.ok(
    afterChange.compressed.size > 0 && afterChange.compressed.size < 2000,
    `${afterChange.compressed.size} compressed`,
  );

  const fewer = changed.filter((_, n) => n !== 300);
  const afterDelete = listOf(fewer);
  t.equal(await read(lists, afterDelete), plain(fewer));
  t.ok(afterDelete.compressed.size < 2000, `${afterDelete.compressed.size} compressed`);

  const part = fewer.slice(100, 3700);
  t.equal(await read(lists, listOf(part)), plain(part), 'a page of the list');
  t.ok(lists.bytes > 0);
});

t.test('concurrent requests share the work', async (t) => {
  const lists = new CompressedLists(1e9);
  const entries = Array.from({ length: 300 }, (_, n) => entryOf(n, n + 1));
  const all = Array.from({ length: 5 }, () => listOf(entries));
  const texts = await Promise.all(all.map((list) => read(lists, list)));
  t.ok(texts.every((text) => text === plain(entries)));
  const total = all.reduce((sum, { compressed }) => sum + compressed.size, 0);
  t.equal(total, entries.length, 'each object was compressed once');
});

t.test('the cache stays within its limit', async (t) => {
  const lists = new CompressedLists(2000);
  const entries = Array.from({ length: 500 }, (_, n) => entryOf(n, n + 1, randomBytes(200).toString('hex')));
  t.equal(await read(lists, listOf(entries)), plain(entries));
  t.ok(lists.bytes <= 2000, `${lists.bytes} bytes`);
  t.equal(await read(lists, listOf(entries)), plain(entries));
});

t.test('block buffers are reused, and heads and tails do not take their places', async (t) => {
  const lists = new CompressedLists(1e9);
  const ends = () => Promise.all([1, 2, 3, 4].map(() => read(lists, listOf([]))));
  const entries = (version: number) => Array.from({ length: 1000 }, (_, n) => entryOf(n, version, 'x'.repeat(4000)));
  const { allocUnsafeSlow } = Buffer;
  t.teardown(() => {
    Buffer.allocUnsafeSlow = allocUnsafeSlow;
  });
  let allocations = 0;
  Buffer.allocUnsafeSlow = (size) => {
    if (size > 2 ** 20) allocations++;
    return allocUnsafeSlow(size);
  };
  await ends();
  t.equal(allocations, 0);
  for (const version of [1, 2, 3]) {
    const now = entries(version);
    t.equal(await read(lists, listOf(now)), plain(now));
    await ends();
  }
  t.equal(allocations, 1);
});
