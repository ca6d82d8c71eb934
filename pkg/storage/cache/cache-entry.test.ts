import t from 'tap';
import { StatusError } from '#apimachinery/errors/status.js';
import { CacheEntry, decodeJson, type EntryContext, entryContext } from '#storage/cache/cache-entry.js';
import { encodeStored, splice } from '#storage/layout.js';

const object = (n: number) => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: `web-${n}`, managedFields: [{ manager: 'm', fieldsV1: { 'f:spec': {} } }] },
  spec: { nodeName: `node-${n}`, env: Array.from({ length: 100 }, (_, i) => ({ name: `VARIABLE_${i}`, value: 'ü' })) },
});

function entryOf(n: number, context: EntryContext): CacheEntry {
  const value = encodeStored(object(n));
  return new CacheEntry({ key: `/registry/pods/default/web-${n}`, value, modRevision: BigInt(n + 1) }, context);
}

t.test("all forms of an entry's bytes are equivalent", async (t) => {
  const shared = entryContext();
  for (let n = 0; n < 20; n++) {
    const entry = entryOf(n, shared);
    const plain = entryOf(n, entryContext());
    const json = splice(encodeStored(object(n)), BigInt(n + 1));
    if (n > 0) t.notOk(entry.jsonBytes() instanceof Buffer, 'its bytes are shared');
    for (const same of [entry, plain]) {
      t.same(same.json(), json);
      t.equal(same.size, json.length);
      t.same(same.stored, encodeStored(object(n)));
      t.same(same.line(), Buffer.concat([json, Buffer.from('\n')]));
      t.same(same.object(), JSON.parse(json.toString()));
    }
    t.ok(entry.same(plain) && plain.same(entry));
    t.ok(entry.at(99n).json().equals(plain.at(99n).json()));
    const upper = () => Buffer.from(plain.json().toString().toUpperCase());
    for (let i = 0; i < 2; i++) t.ok(entry.encoded('upper', upper).equals(upper()));
    const copy = Buffer.alloc(upper().length);
    entry.encodedBytes('upper', upper).copy(copy, 0);
    t.ok(copy.equals(upper()));
    t.same(
      entry.encoded('other', () => Buffer.from('x')),
      Buffer.from('x'),
    );
    t.ok(entry.keeps('upper') && entry.keeps('other') && !entry.keeps('lower'));
    if (n > 0) t.notOk(entry.encodedBytes('upper', upper) instanceof Buffer, 'other representations are shared too');
  }
});

t.test('the objects of recently used entries are cached, as many as fit', async (t) => {
  let decoded = 0;
  const context = entryContext((json) => {
    decoded++;
    return decodeJson(json);
  });
  const entries = Array.from({ length: 1000 }, (_, n) => entryOf(n, context));
  for (const entry of entries) t.equal(entry.object(), entry.object());
  t.equal(decoded, 1000);
  const newest = entries.at(-1);
  newest?.object();
  t.equal(decoded, 1000, 'the newest is cached');
  entries[0]?.object();
  t.equal(decoded, 1001, 'the oldest is not cached');
  const large = { kind: 'Pod', metadata: {}, text: 'x'.repeat(600_000) };
  const kv = { key: '/registry/pods/default/large', value: encodeStored(large as object), modRevision: 5n };
  const alone = new CacheEntry(kv, context);
  t.equal(alone.object(), alone.object(), 'the newest is cached whatever its size');
});

t.test('unreadable, small and dissimilar values stay unpacked', async (t) => {
  const context = entryContext();
  const values = ['not JSON at all '.repeat(100), '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}'];
  for (const [n, text] of values.entries()) {
    const value = Buffer.from(text);
    const make = () => new CacheEntry({ key: `/registry/pods/default/p-${n}`, value, modRevision: 5n }, context);
    const [entry] = [make(), make(), make()];
    t.ok(entry?.stored.equals(value));
  }
});

t.test('outlines omit bulk members', async (t) => {
  const bulk = { metadata: { managedFields: true }, spec: { env: true } } as const;
  for (const given of [bulk, undefined]) {
    const context = { ...entryContext(), bulk: given };
    const value = encodeStored(object(7));
    const kv = { key: '/registry/pods/default/web-7', value, modRevision: 8n };
    const small = { ...object(7), metadata: { name: 'web-7', resourceVersion: '8' }, spec: { nodeName: 'node-7' } };
    const entry = new CacheEntry(kv, context);
    for (let i = 0; i < 2; i++) t.same(entry.outline(), given === undefined ? decodeJson(entry.json()) : small);
  }
  const context = { ...entryContext(), bulk };
  for (const text of ['{"metadata":{"name":"a"},"spec":}', '{"metadata":{"name":"a"', 'no']) {
    const kv = { key: '/registry/pods/default/p', value: Buffer.from(text), modRevision: 5n };
    t.throws(() => new CacheEntry(kv, context).outline(), StatusError);
  }
});
