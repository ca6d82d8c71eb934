/** The contract of Store as a test suite, which each implementation runs. */
import type { Test } from 'tap';
import { prefixEnd } from '#storage/sorted-map.js';
import {
  type Revision,
  type Store,
  StoreError,
  type StoreErrorCode,
  type StoreEvent,
  type WatchMessage,
  type WriteResult,
} from '#storage/store.js';

/** Returns an empty store (or one without other users of `/registry/`). The suite closes it. */
export type NewStore = () => Promise<Store> | Store;

const all = { start: '/registry/', end: prefixEnd('/registry/') };
const bytes = (text: string): Buffer => Buffer.from(text);

/** The stored form of a value; the value itself unless the store transforms it. */
export type StoredForm = (value: Buffer, key: string) => Buffer;

/** Parts of the contract that a store may lack. */
export interface Abilities {
  /** Guards are part of the write's transaction. */
  readonly joinsKeys: boolean;
  /** An update without a time to live keeps the key's. */
  readonly keepsLifetimes: boolean;
  /** A compaction of compacted history fails. */
  readonly refusesOldCompactions: boolean;
}

export interface ContractOptions {
  readonly stored?: StoredForm;
  readonly abilities?: Abilities;
}

const everything: Abilities = { joinsKeys: true, keepsLifetimes: true, refusesOldCompactions: true };

export async function storeContract(t: Test, newStore: NewStore, options: ContractOptions = {}): Promise<void> {
  const { stored = (value: Buffer) => value, abilities = everything } = options;
  const cases: [string, (t: Test, store: Store) => Promise<void>][] = [
    ['conditional writes', conditionalWrites],
    ['guarded writes', guardedWrites],
    ['writes with companions', (t, store) => companions(t, store, { stored, abilities })],
    ['ranges', ranges],
    ['reads at a revision and compaction', (t, store) => history(t, store, abilities)],
    ['a watch delivers each write of its range once, in order', watchOrder],
    ['a watch resumes at any kept revision', watchResumes],
    ['a watch of compacted history fails', watchCompacted],
    ['a watch with previous values', watchPrevious],
    ['idle watches get progress', progress],
    ['a slow watcher misses nothing', slowWatcher],
    ['keys with a time to live expire', (t, store) => timeToLive(t, store, abilities)],
    ['large values and many keys', large],
    ['aborted calls', aborted],
  ];
  for (const [name, run] of cases) {
    await t.test(name, async (t) => {
      const store = await newStore();
      t.teardown(() => store.close());
      await run(t, store);
    });
  }
}

async function conditionalWrites(t: Test, store: Store): Promise<void> {
  const first = await written(t, store.create('/registry/a', bytes('1')));
  const again = await store.create('/registry/a', bytes('2'));
  t.equal(again.ok, false, 'an existing key is not created again');
  t.equal(!again.ok && again.current?.modRevision, first);
  t.equal(!again.ok && again.current?.value.toString(), '1');

  const second = await written(t, store.update('/registry/a', bytes('2'), first));
  t.ok(second > first, 'revisions grow');
  const stale = await store.update('/registry/a', bytes('3'), first);
  t.equal(stale.ok, false, 'a stale revision does not update');
  t.equal(!stale.ok && stale.current?.value.toString(), '2');

  const staleDelete = await store.delete('/registry/a', first);
  t.equal(!staleDelete.ok && staleDelete.current?.modRevision, second, 'a stale revision does not delete');
  const deleted = await written(t, store.delete('/registry/a', second));
  t.ok(deleted > second, 'a deletion has a revision of its own');

  const missing = await store.update('/registry/a', bytes('4'), second);
  t.equal(missing.ok, false);
  t.notOk('current' in missing && missing.current, 'the key does not exist');
  t.equal((await store.delete('/registry/a', second)).ok, false);
  t.ok((await written(t, store.create('/registry/a', bytes('5')))) > deleted, 'created anew');
}

async function guardedWrites(t: Test, store: Store): Promise<void> {
  const held = await written(t, store.create('/registry/lock', bytes('a')));
  const holds = { guards: [{ key: '/registry/lock', modRevision: held }] };
  const absent = { guards: [{ key: '/registry/nothing', modRevision: 0n }] };
  const first = await written(t, store.create('/registry/a', bytes('1'), holds));
  const second = await written(t, store.update('/registry/a', bytes('2'), first, absent));
  const stale = await store.update('/registry/a', bytes('3'), first, holds);
  t.equal(!stale.ok && stale.failedGuards, undefined, 'no guard failed');

  await written(t, store.update('/registry/lock', bytes('b'), held));
  for (const refused of [
    await store.create('/registry/b', bytes('1'), holds),
    await store.update('/registry/a', bytes('3'), second, holds),
    await store.update('/registry/a', bytes('3'), first, holds),
    await store.delete('/registry/a', second, holds),
    await store.delete('/registry/a', second, { guards: [{ key: '/registry/nothing', modRevision: held }] }),
    await store.create('/registry/b', bytes('1'), { guards: [{ key: '/registry/lock', modRevision: 0n }] }),
    await store.create('/registry/b', bytes('1'), { guards: [...absent.guards, ...holds.guards] }),
  ]) {
    t.equal(!refused.ok && refused.failedGuards?.length, 1, 'the guard does not hold');
  }
  const { kvs } = await store.range(all);
  t.same(
    kvs.map((kv) => `${kv.key}=${kv.value}`),
    ['/registry/a=2', '/registry/lock=b'],
    'nothing of it was written',
  );
  await written(t, store.delete('/registry/a', second, absent));
}

async function companions(t: Test, store: Store, { stored, abilities }: Required<ContractOptions>): Promise<void> {
  const count = '/registry/counts/a';
  const first = await written(t, store.create(count, bytes('0')));
  const stop = new AbortController();
  const watch = store.watch({ ...all, fromRevision: first + 1n, signal: stop.signal });
  const puts = (modRevision: bigint, value: string) => ({
    guards: [{ key: count, modRevision, value: stored(bytes(value), count) }],
  });
  const second = await written(t, store.create('/registry/things/a', bytes('1'), puts(first, '1')));
  const stale = puts(first, '2');
  const refused = await store.create('/registry/things/b', bytes('1'), stale);
  t.same(!refused.ok && refused.failedGuards, stale.guards, 'the guard that did not hold');
  const put = await revisionOf(store, count);
  const duplicate = await store.create('/registry/things/a', bytes('1'), puts(put, '2'));
  t.equal(duplicate.ok, false, 'a failed write does not put the guards’ values');
  const before = await revisionOf(store, count);
  await written(t, store.delete('/registry/things/a', second, puts(before, '0')));
  const gone = await revisionOf(store, count);
  const { kvs } = await store.range(all);
  t.same(
    kvs.map((kv) => [kv.key, kv.value.toString()]),
    [[count, '0']],
  );
  const seen: string[] = [];
  for await (const message of watch) {
    if (message.type !== 'events') continue;
    for (const { type, kv } of message.events) seen.push(`${abilities.joinsKeys ? kv.modRevision : type} ${kv.key}`);
    if (message.revision >= gone) stop.abort();
  }
  if (abilities.joinsKeys) {
    const together = [second, gone].flatMap((at) => [`${at} ${count}`, `${at} /registry/things/a`]);
    t.same(seen.sort(), together.sort(), 'events of both at one revision');
  } else {
    const reverted = [`put ${count}`, `put ${count}`];
    const first = [`put ${count}`, 'put /registry/things/a'];
    const last = ['delete /registry/things/a', `put ${count}`];
    t.same(seen, [...first, ...reverted, ...last], 'values before a write and after a deletion');
  }
}

async function revisionOf(store: Store, key: string): Promise<Revision> {
  return (await store.range({ start: key, end: `${key}\0` })).kvs[0]?.modRevision ?? 0n;
}

async function ranges(t: Test, store: Store): Promise<void> {
  for (const key of ['b/2', 'a', 'b/1', 'c', 'b/3']) await store.create(`/registry/${key}`, bytes(key));
  const b = { start: '/registry/b/', end: prefixEnd('/registry/b/') };
  const result = await store.range(b);
  t.same(
    result.kvs.map((kv) => [kv.key, kv.value.toString()]),
    [
      ['/registry/b/1', 'b/1'],
      ['/registry/b/2', 'b/2'],
      ['/registry/b/3', 'b/3'],
    ],
    'in key order, the end excluded',
  );
  t.equal(result.count, 3);
  t.equal(result.revision, await store.currentRevision());

  const page = await store.range({ ...all, limit: 2 });
  t.same(
    page.kvs.map((kv) => kv.key),
    ['/registry/a', '/registry/b/1'],
  );
  t.equal(page.count, 5, 'the count ignores the limit');
  const keys = await store.range({ ...b, keysOnly: true });
  t.ok(keys.kvs.every((kv) => kv.value.length === 0 && kv.modRevision > 0n));
  t.same((await store.range({ start: '/registry/x', end: '/registry/y' })).kvs, []);
}

async function history(t: Test, store: Store, { refusesOldCompactions }: Abilities): Promise<void> {
  const r1 = await written(t, store.create('/registry/a', bytes('1')));
  const r2 = await written(t, store.update('/registry/a', bytes('2'), r1));
  const r3 = await written(t, store.create('/registry/b', bytes('b')));
  const r4 = await written(t, store.delete('/registry/a', r2));
  const at = async (revision: Revision) =>
    (await store.range({ ...all, revision })).kvs.map((kv) => `${kv.key.slice(10)}=${kv.value}@${kv.modRevision}`);
  t.same(await at(r1), [`a=1@${r1}`]);
  t.same(await at(r2), [`a=2@${r2}`]);
  t.same(await at(r3), [`a=2@${r2}`, `b=b@${r3}`]);
  t.same(await at(r4), [`b=b@${r3}`]);
  const old = await store.range({ ...all, revision: r1 });
  t.equal(old.revision, r4, 'a read of an old revision reports the newest');
  await fails(t, store.range({ ...all, revision: r4 + 1000n }), 'futureRevision');

  await store.compact(r3);
  t.same(await at(r3), [`a=2@${r2}`, `b=b@${r3}`], 'the compacted revision itself can be read');
  await fails(t, store.range({ ...all, revision: r2 }), 'compacted');
  if (refusesOldCompactions) await fails(t, store.compact(r2), 'compacted');
  else await store.compact(r2);
  // A store may forget its newest revision with a compacted deletion.
  await written(t, store.create('/registry/c', bytes('c')));
  await store.compact(r4);
  t.same(await at(r4), [`b=b@${r3}`]);
}

async function watchOrder(t: Test, store: Store): Promise<void> {
  const from = (await store.currentRevision()) + 1n;
  const watch = collect(store, { prefix: '/registry/pods/', from });
  t.teardown(watch.stop);
  const expected: string[] = [];
  const revisions = new Map<string, Revision>();
  for (let i = 0; i < 60; i++) {
    const key = `/registry/pods/p${i % 7}`;
    const current = revisions.get(key);
    if (current === undefined) {
      revisions.set(key, await written(t, store.create(key, bytes(`${i}`))));
      expected.push(`create ${key}=${i}`);
    } else if (i % 5 === 0) {
      await written(t, store.delete(key, current));
      revisions.delete(key);
      expected.push(`delete ${key}`);
    } else {
      revisions.set(key, await written(t, store.update(key, bytes(`${i}`), current)));
      expected.push(`update ${key}=${i}`);
    }
    await store.create(`/registry/podsx${i}`, bytes('not in range'));
  }
  const events = await watch.events(expected.length);
  t.same(events.map(describe), expected);
  t.ok(
    events.every((event, i) => i === 0 || event.kv.modRevision > (events[i - 1] as StoreEvent).kv.modRevision),
    'in revision order',
  );
}

async function watchResumes(t: Test, store: Store): Promise<void> {
  const revisions: Revision[] = [];
  for (let i = 0; i < 6; i++) revisions.push(await written(t, store.create(`/registry/pods/${i}`, bytes(`${i}`))));
  for (const [i, from] of revisions.entries()) {
    const watch = collect(store, { prefix: '/registry/pods/', from });
    const events = await watch.events(revisions.length - i);
    t.same(
      events.map(({ kv }) => kv.modRevision),
      revisions.slice(i),
      `from the write number ${i}`,
    );
    await watch.stop();
  }
  const from = (revisions.at(-1) ?? 0n) + 10n;
  const future = collect(store, { prefix: '/registry/pods/', from });
  t.teardown(future.stop);
  const laterRevisions: Revision[] = [];
  for (let i = 0; (laterRevisions.at(-1) ?? 0n) < from + 2n; i++) {
    laterRevisions.push(await written(t, store.create(`/registry/pods/later${i}`, bytes(''))));
  }
  const expected = laterRevisions.filter((revision) => revision >= from);
  t.same(
    (await future.events(expected.length)).map(({ kv }) => kv.modRevision),
    expected,
    'a watch may begin in the future',
  );
}

async function watchCompacted(t: Test, store: Store): Promise<void> {
  const first = await written(t, store.create('/registry/pods/a', bytes('1')));
  const second = await written(t, store.update('/registry/pods/a', bytes('2'), first));
  const third = await written(t, store.update('/registry/pods/a', bytes('3'), second));
  await store.compact(third);
  const watch = collect(store, { prefix: '/registry/pods/', from: first });
  await fails(t, watch.events(1), 'compacted');
  await watch.stop();
  const atBorder = collect(store, { prefix: '/registry/pods/', from: third });
  await fails(t, atBorder.events(1), 'compacted');
  await atBorder.stop();
  const kept = collect(store, { prefix: '/registry/pods/', from: third + 1n });
  t.teardown(kept.stop);
  const fourth = await written(t, store.update('/registry/pods/a', bytes('4'), third));
  t.same(
    (await kept.events(1)).map(({ kv }) => kv.modRevision),
    [fourth],
    'behind it all is there',
  );
}

async function watchPrevious(t: Test, store: Store): Promise<void> {
  const first = await written(t, store.create('/registry/pods/a', bytes('1')));
  const second = await written(t, store.update('/registry/pods/a', bytes('2'), first));
  const third = await written(t, store.delete('/registry/pods/a', second));
  await written(t, store.create('/registry/pods/a', bytes('3')));
  await store.compact(first);
  const watch = collect(store, { prefix: '/registry/', from: second, previous: true });
  t.teardown(watch.stop);
  const before = (event: StoreEvent) =>
    event.previous === undefined ? 'nothing' : `${event.previous.value}@${event.previous.modRevision}`;
  const events = (await watch.events(3)).filter((event) => event.kv.key.startsWith('/registry/pods/'));
  t.same(
    events.map((event) => `${describe(event)} after ${before(event)}`),
    [
      `update /registry/pods/a=2 after 1@${first}`,
      `delete /registry/pods/a after 2@${second}`,
      'create /registry/pods/a=3 after nothing',
    ],
  );
  t.equal((events[1] as StoreEvent).kv.modRevision, third);
  await watch.reached(await store.currentRevision());
}

async function progress(t: Test, store: Store): Promise<void> {
  await store.create('/registry/pods/a', bytes('1'));
  const watch = collect(store, { prefix: '/registry/pods/', from: (await store.currentRevision()) + 1n });
  t.teardown(watch.stop);
  for (let i = 0; i < 3; i++) {
    await store.create(`/registry/nodes/${i}`, bytes(''));
    const target = await store.currentRevision();
    store.requestProgress('/registry/pods/');
    t.ok((await watch.reached(target)) >= target, 'writes of other keys advance the watch');
  }
  await store.create('/elsewhere/a', bytes(''));
  const beyond = await store.currentRevision();
  store.requestProgress();
  t.ok((await watch.reached(beyond)) >= beyond, 'writes outside of the root too');
  const last = await written(t, store.create('/registry/pods/b', bytes('2')));
  t.same(
    (await watch.events(1)).map(({ kv }) => kv.modRevision),
    [last],
    'events still come',
  );
}

async function slowWatcher(t: Test, store: Store): Promise<void> {
  const controller = new AbortController();
  const from = (await store.currentRevision()) + 1n;
  const range = { start: '/registry/pods/', end: prefixEnd('/registry/pods/') };
  const fast = collect(store, { prefix: '/registry/pods/', from });
  t.teardown(fast.stop);
  const slow = store.watch({ ...range, fromRevision: from, signal: controller.signal })[Symbol.asyncIterator]();
  const count = 300;
  const first = slow.next();
  for (let i = 0; i < count; i++) await store.create(`/registry/pods/${i}`, bytes(`${i}`));
  t.equal((await fast.events(count)).length, count, 'other watches are not delayed');
  const seen: string[] = [];
  for (let message = await first; !message.done; message = await slow.next()) {
    if (message.value.type === 'events') seen.push(...message.value.events.map(({ kv }) => kv.key));
    if (seen.length >= count) break;
  }
  t.same(
    seen,
    Array.from({ length: count }, (_, i) => `/registry/pods/${i}`),
  );
  controller.abort();
  t.equal((await slow.next()).done, true, 'an aborted watch ends');
}

async function timeToLive(t: Test, store: Store, { keepsLifetimes }: Abilities): Promise<void> {
  const from = (await store.currentRevision()) + 1n;
  const watch = collect(store, { prefix: '/registry/events/', from });
  t.teardown(watch.stop);
  const first = await written(t, store.create('/registry/events/short', bytes('1'), { ttlSeconds: 1 }));
  const renewed = keepsLifetimes ? {} : { ttlSeconds: 1 };
  await written(t, store.update('/registry/events/short', bytes('2'), first, renewed));
  await written(t, store.create('/registry/events/shared', bytes('1'), { ttlSeconds: 100 }));
  await written(t, store.create('/registry/events/shared2', bytes('1'), { ttlSeconds: 100 }));
  const events = await watch.events(5);
  t.equal(describe(events[4] as StoreEvent), 'delete /registry/events/short', 'an update keeps the time to live');
  t.equal((await store.range({ start: '/registry/events/', end: prefixEnd('/registry/events/') })).count, 2);
}

async function large(t: Test, store: Store): Promise<void> {
  const value = Buffer.alloc(100_000, 'x');
  const from = (await store.currentRevision()) + 1n;
  const keys = Array.from({ length: 80 }, (_, i) => `/registry/blobs/${String(i).padStart(3, '0')}`);
  for (const key of keys) await written(t, store.create(key, value));
  const result = await store.range(all);
  t.equal(result.kvs.length, keys.length, 'an answer beyond 4 MiB');
  t.ok(result.kvs.every((kv) => kv.value.equals(value)));
  const watch = collect(store, { prefix: '/registry/blobs/', from });
  t.same(
    (await watch.events(keys.length)).map(({ kv }) => kv.key),
    keys,
    'watched as well',
  );
  await watch.stop();
}

async function aborted(t: Test, store: Store): Promise<void> {
  const signal = AbortSignal.abort(new Error('gone'));
  await t.rejects(store.range({ ...all, signal }), { message: 'gone' });
  await t.rejects(store.create('/registry/a', bytes(''), { signal }), { message: 'gone' });
  await t.rejects(store.currentRevision(signal), { message: 'gone' });
  await store.health();
  const sizes = [...(await store.sizes()).values()];
  t.ok(sizes.length > 0 && sizes.every((bytes) => bytes >= 0));
  await store.close();
  await fails(t, store.range(all), 'unavailable');
}

async function written(t: Test, result: Promise<WriteResult>): Promise<Revision> {
  const { ok, revision } = await result;
  if (!ok) t.fail('the write was refused');
  return revision;
}

async function fails(t: Test, promise: Promise<unknown>, code: StoreErrorCode): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (err: unknown) => err,
  );
  t.ok(error instanceof StoreError && error.code === code, `fails with ${code}`, { error });
}

interface Collected {
  /** Waits for this many further events. */
  events(count: number): Promise<StoreEvent[]>;
  /** Waits until the watch has delivered everything up to the revision, and returns its position. */
  reached(revision: Revision): Promise<Revision>;
  stop(): Promise<void>;
}

/** Reads a watch in the background. */
function collect(store: Store, options: { prefix: string; from: Revision; previous?: boolean }): Collected {
  const { prefix, from, previous = false } = options;
  const controller = new AbortController();
  const iterator = store
    .watch({ start: prefix, end: prefixEnd(prefix), fromRevision: from, previous, signal: controller.signal })
    [Symbol.asyncIterator]();
  const queue: StoreEvent[] = [];
  let revision = 0n;
  const read = async () => {
    const result: IteratorResult<WatchMessage> = await iterator.next();
    if (result.done === true) throw new Error('the watch has ended');
    if (result.value.revision < revision) throw new Error('the watch went back');
    revision = result.value.revision;
    if (result.value.type === 'events') queue.push(...result.value.events);
  };
  return {
    async events(count) {
      while (queue.length < count) await read();
      return queue.splice(0, count);
    },
    async reached(target) {
      while (revision < target) await read();
      return revision;
    },
    async stop() {
      controller.abort();
      await iterator.return?.();
    },
  };
}

function describe(event: StoreEvent): string {
  if (event.type === 'delete') return `delete ${event.kv.key}`;
  return `${event.created ? 'create' : 'update'} ${event.kv.key}=${event.kv.value}`;
}
