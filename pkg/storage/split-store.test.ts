import t from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { ResourceStores } from '#storage/resource-stores.js';
import { SplitStore } from '#storage/split-store.js';
import { type Store, StoreError, type WriteResult } from '#storage/store.js';

const bytes = (text: string) => Buffer.from(text);

async function storedAt(store: Store, key: string): Promise<string | undefined> {
  const { kvs } = await store.range({ start: key, end: `${key}\0` });
  return kvs[0]?.value.toString();
}

function twoStores() {
  const here = new MemoryStore({ clock });
  const there = new MemoryStore({ clock });
  const storeOf = (key: string) => (key.startsWith('/there/') ? there : here);
  return { here, there, split: new SplitStore(here, { storeOf, log: silentLogger }) };
}

const revisionOf = (result: WriteResult) => result.revision;

t.test('a write requires that guards in other stores hold', async (t) => {
  const { there, split } = twoStores();
  const seen = revisionOf(await there.create('/there/lease', bytes('1')));
  const guard = { key: '/there/lease', modRevision: seen };
  t.match(await split.create('/here/a', bytes('a'), { guards: [guard] }), { ok: true, putApart: undefined });
  await there.update('/there/lease', bytes('2'), seen);
  const refused = await split.create('/here/b', bytes('b'), { guards: [guard] });
  t.match(refused, { ok: false, failedGuards: [guard] });
  t.equal(await storedAt(split, '/here/b'), undefined);
  const missing = { key: '/there/none', modRevision: 0n };
  t.match(
    await split.create('/here/b', bytes('b'), { guards: [missing] }),
    { ok: true },
    'a guard can require absence',
  );
});

t.test('values of guards in other stores are written, too', async (t) => {
  const { here, there, split } = twoStores();
  const seen = revisionOf(await there.create('/there/quota', bytes('0')));
  const beside = revisionOf(await here.create('/here/beside', bytes('x')));
  const guards = [
    { key: '/there/quota', modRevision: seen, value: bytes('1') },
    { key: '/here/beside', modRevision: beside },
    { key: '/there/new', modRevision: 0n, value: bytes('new') },
  ];
  t.match(await split.create('/here/a', bytes('a'), { guards }), { ok: true, putApart: true });
  t.equal(await storedAt(there, '/there/quota'), '1');
  t.equal(await storedAt(there, '/there/new'), 'new');
});

t.test('and are reverted if the write does not happen', async (t) => {
  const { here, there, split } = twoStores();
  const seen = revisionOf(await there.create('/there/quota', bytes('0')));
  await here.create('/here/a', bytes('a'));
  const put = { key: '/there/quota', modRevision: seen, value: bytes('1') };
  const added = { key: '/there/new', modRevision: 0n, value: bytes('new') };
  t.match(await split.create('/here/a', bytes('again'), { guards: [put, added] }), { ok: false, current: {} });
  t.equal(await storedAt(there, '/there/quota'), '0');
  t.equal(await storedAt(there, '/there/new'), undefined);
});

t.test('unless its outcome is unknown', async (t) => {
  const { here, there } = twoStores();
  let code: 'unavailable' | 'noSpace' = 'unavailable';
  here.update = () => Promise.reject(new StoreError(code, 'cannot'));
  const storeOf = (key: string) => (key.startsWith('/there/') ? there : here);
  const split = new SplitStore(here, { storeOf, log: silentLogger });
  for (const [failure, left] of [
    ['noSpace', '0'],
    ['unavailable', '1'],
  ] as const) {
    code = failure;
    const { kvs } = await there.range({ start: '/there/quota', end: '/there/quota\0' });
    const modRevision = kvs[0]?.modRevision ?? revisionOf(await there.create('/there/quota', bytes('0')));
    const guards = [{ key: '/there/quota', modRevision, value: bytes('1') }];
    await t.rejects(split.update('/here/a', bytes('a'), 1n, { guards }), StoreError);
    t.equal(await storedAt(there, '/there/quota'), left, failure);
  }
});

t.test('the store of a resource', async (t) => {
  const [main, events, apps] = [new MemoryStore({ clock }), new MemoryStore({ clock }), new MemoryStore({ clock })];
  const stores = new ResourceStores(main, [
    { resource: 'events', store: events },
    { resource: '*.apps', store: apps },
    { resource: 'daemonsets.apps', store: main },
  ]);
  t.equal(stores.of('', 'events'), events);
  t.equal(stores.of('', 'pods'), main);
  t.equal(stores.of('apps', 'deployments'), apps);
  t.equal(stores.of('apps', 'daemonsets'), main, 'an override of a name wins over one of its group');
  t.equal(stores.of('example.com', 'events'), main);
  t.same(stores.others, [events, apps]);
  t.same(stores.named, ['events', 'daemonsets.apps']);
});

t.test('the values of a deletion are written after it', async (t) => {
  const { here, there, split } = twoStores();
  const seen = revisionOf(await there.create('/there/quota', bytes('1')));
  const stored = revisionOf(await here.create('/here/a', bytes('a')));
  const guards = [{ key: '/there/quota', modRevision: seen, value: bytes('0') }];
  t.match(await split.delete('/here/a', stored + 1n, { guards }), { ok: false }, 'a deletion that does not happen');
  t.equal(await storedAt(there, '/there/quota'), '1', 'frees nothing');
  t.match(await split.delete('/here/a', stored, { guards }), { ok: true, putApart: true });
  t.equal(await storedAt(there, '/there/quota'), '0');
  const again = revisionOf(await here.create('/here/a', bytes('a')));
  t.match(await split.delete('/here/a', again, { guards }), { ok: false, failedGuards: guards }, 'a stale value');
  t.equal(await storedAt(here, '/here/a'), 'a');
});
