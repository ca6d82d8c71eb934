import t from 'tap';
import { LargeViews } from '#apiserver/resources/large-views.js';
import { CacheEntry, entryContext } from '#storage/cache/cache-entry.js';

const entryOf = (name: string) =>
  new CacheEntry(
    {
      key: `/rows/${name}`,
      value: Buffer.from('{"kind":"Row","apiVersion":"v1","metadata":{"name":"a"}}'),
      modRevision: 1n,
    },
    entryContext(),
  );
const mebibyte = 1024 * 1024;

t.test('small encodings stay with their entry, large ones as long as there is room or a holder', (t) => {
  const views = new LargeViews();
  const small = entryOf('small');
  t.equal(views.keep(small, 'v', Buffer.from('{}')), undefined);
  t.ok(small.keeps('v'), 'an entry keeps a small encoding');
  const large = entryOf('large');
  const bytes = Buffer.alloc(mebibyte);
  const view = views.keep(large, 'v', bytes);
  t.equal(view?.bytes, bytes);
  t.notOk(large.keeps('v'), 'an entry keeps no large encoding');
  t.ok(views.has(large, 'v'));
  t.notOk(views.has(large, 'w'), 'encodings of other names differ');
  let calls = 0;
  const make = () => {
    calls += 1;
    return bytes;
  };
  views.encoded(large, 'v', make);
  t.equal(calls, 0, 'an encoding at hand is used again');
  for (let i = 0; i < 40; i++) views.keep(entryOf(`row${i}`), 'v', Buffer.alloc(mebibyte));
  t.ok(views.bytes <= 16 * mebibyte, `${views.bytes} bytes stay`);
  t.equal(views.find(large, 'v')?.bytes, view?.bytes, 'a held encoding remains at hand');
  const huge = views.keep(entryOf('huge'), 'v', Buffer.alloc(20 * mebibyte));
  t.equal(views.bytes, huge?.bytes.length, 'the newest stays, whatever its size');
  t.end();
});
