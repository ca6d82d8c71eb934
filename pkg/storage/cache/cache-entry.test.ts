import t from 'tap';
import { StatusError } from '#apimachinery/errors/status.js';
import { ByteKeeper } from '#storage/cache/byte-keeper.js';
import { CacheEntry, decodeJson, type EntryContext } from '#storage/cache/cache-entry.js';
import { storedForm } from '#storage/layout.js';
import { isWhole, joined } from '#storage/segments/segmented.js';

const contextOf = (maxWarmBytes: number): EntryContext => ({
  decode: decodeJson,
  keeper: new ByteKeeper({ maxWarmBytes }),
});

const object = (n: number) => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: `web-${n}`, managedFields: [{ manager: 'm', fieldsV1: { 'f:spec': {} } }] },
  spec: { nodeName: `node-${n}`, env: Array.from({ length: 100 }, (_, i) => ({ name: `VARIABLE_${i}`, value: 'ü' })) },
});

function entryOf(n: number, context: EntryContext): CacheEntry {
  const { bytes, parts } = storedForm(object(n));
  const entry = new CacheEntry(
    { key: `/registry/pods/default/web-${n}`, value: bytes, modRevision: BigInt(n + 1) },
    context,
  );
  entry.parts = parts;
  return entry;
}

t.test('an entry says the same whether its bytes are shared or not', async (t) => {
  const shared = contextOf(0);
  const entries = Array.from({ length: 20 }, (_, n) => entryOf(n, shared));
  for (const [n, entry] of entries.slice(1, -1).entries()) {
    const plain = entryOf(n + 1, contextOf(1e9));
    t.notOk(isWhole(entry.jsonBytes()), 'its bytes are shared');
    t.ok(joined(entry.jsonBytes()).equals(plain.json()));
    t.equal(entry.size, plain.size);
    t.ok(entry.stored.equals(plain.stored));
    t.ok(entry.line().equals(Buffer.concat([plain.json(), Buffer.from('\n')])));
    t.same(entry.object(), plain.object());
    t.ok(entry.same(plain) && plain.same(entry));
    t.ok(entry.at(99n).json().equals(plain.at(99n).json()));
    const upper = () => Buffer.from(plain.json().toString().toUpperCase());
    for (let i = 0; i < 2; i++) t.ok(entry.encoded('upper', upper).equals(upper()));
    t.ok(joined(entry.encodedBytes('upper', upper)).equals(upper()));
    t.ok(entry.keeps('upper') && !entry.keeps('lower'));
    if (n > 0) t.notOk(isWhole(entry.encodedBytes('upper', upper)), 'other representations are shared too');
  }
});

t.test('what is only kept is never in one piece, but for templates', async (t) => {
  const context = contextOf(1e9);
  const kept = (n: number) => {
    const value = storedForm(object(n)).bytes;
    return CacheEntry.kept({ key: `/registry/pods/default/web-${n}`, value, modRevision: BigInt(n + 1) }, context);
  };
  const entries = Array.from({ length: 20 }, (_, n) => kept(n));
  t.equal(entries.filter((entry) => isWhole(entry.jsonBytes())).length, 1);
  for (const [n, entry] of entries.entries()) {
    const plain = entryOf(n, contextOf(1e9));
    t.ok(entry.json().equals(plain.json()) && entry.line().equals(plain.line()) && entry.same(plain));
    t.ok(entry.stored.equals(plain.stored));
  }
});

t.test('what was read lately is in one piece for a while', async (t) => {
  const context = contextOf(30_000);
  const entries = Array.from({ length: 50 }, (_, n) => entryOf(n, context));
  const whole = () => entries.filter((entry) => isWhole(entry.jsonBytes())).length;
  const few = Math.ceil(30_000 / (entries[0]?.size ?? 1)) + 1;
  t.ok(whole() <= few, `${whole()} of at most ${few}`);
  const first = entries[1] as CacheEntry;
  t.equal(first.json(), first.json(), 'the very same bytes');
  t.ok(isWhole(first.jsonBytes()));
  for (const entry of entries) entry.object();
  t.ok(isWhole(first.jsonBytes()), 'what is only parsed is not kept in one piece');
  for (const entry of entries.slice(2)) entry.json();
  t.notOk(isWhole(first.jsonBytes()));
  t.ok(whole() <= few);
});

t.test('what is unreadable, small or like nothing else stays as it is', async (t) => {
  const context = contextOf(0);
  const values = ['not JSON at all '.repeat(100), '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}'];
  for (const [n, text] of values.entries()) {
    const value = Buffer.from(text);
    const make = () => new CacheEntry({ key: `/registry/pods/default/p-${n}`, value, modRevision: 5n }, context);
    const [entry] = [make(), make(), make()];
    t.ok(entry?.stored.equals(value));
  }
});

t.test('an outline leaves out the bulk, whether the object was only kept or is written', async (t) => {
  const bulk = { metadata: { managedFields: true }, spec: { env: true } } as const;
  for (const given of [bulk, undefined]) {
    const context = { ...contextOf(0), bulk: given };
    const value = storedForm(object(7)).bytes;
    const kv = { key: '/registry/pods/default/web-7', value, modRevision: 8n };
    const small = { ...object(7), metadata: { name: 'web-7', resourceVersion: '8' }, spec: { nodeName: 'node-7' } };
    for (const entry of [CacheEntry.kept(kv, context), new CacheEntry(kv, context)]) {
      for (let i = 0; i < 2; i++) t.same(entry.outline(), given === undefined ? entry.object() : small);
    }
  }
  const context = { ...contextOf(0), bulk };
  for (const text of ['{"metadata":{"name":"a"},"spec":}', '{"metadata":{"name":"a"', 'no']) {
    const kv = { key: '/registry/pods/default/p', value: Buffer.from(text), modRevision: 5n };
    t.throws(() => CacheEntry.kept(kv, context).outline(), StatusError);
  }
});

t.test('large bytes are compressed beside the thread that has them, one object after the other', async (t) => {
  const context = { decode: decodeJson, keeper: new ByteKeeper({ maxWarmBytes: 0, compresses: true }) };
  const texts = Array.from({ length: 5 }, (_, n) => `${n} ${'something about the field, and '.repeat(4000)}`);
  const entries = texts.map((text, n) => {
    const { bytes: value } = storedForm({ kind: 'C', metadata: { name: `c-${n}` }, spec: { text } } as object);
    return CacheEntry.kept({ key: `/registry/cs/c-${n}`, value, modRevision: BigInt(n + 1) }, context);
  });
  const jsons = entries.map((entry) => Buffer.from(joined(entry.jsonBytes())));
  while (entries.some((entry) => isWhole(entry.jsonBytes()))) await new Promise(setImmediate);
  for (const [n, entry] of entries.entries()) {
    t.ok(joined(entry.jsonBytes()).equals(jsons[n] as Buffer));
    t.match(entry.object(), { spec: { text: texts[n] } });
  }
});
