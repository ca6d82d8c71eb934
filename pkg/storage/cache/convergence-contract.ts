/** Many watchers during many random writes: each sees exactly its selection of the store's history. */

import { isDeepStrictEqual } from 'node:util';
import type { Test } from 'tap';
import { StatusError } from '#apimachinery/errors/status.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import {
  latest,
  objectOf,
  readWatch,
  type runCache,
  show,
  type Thing,
  thing,
  type WatchReader,
} from '#storage/cache/cache-fixture.js';
import type { WatchCache } from '#storage/cache/watch-cache.js';
import type { Entry } from '#storage/resource-storage.js';
import { prefixEnd } from '#storage/sorted-map.js';
import type { Revision, Store, StoreEvent } from '#storage/store.js';

const watcherCount = 50;
/** Writes of a run. */
export const writeCount = 2000;
const keyCount = 40;
/** Concurrent writers. */
const writers = 8;

/** An acknowledged write; without a state, a deletion. */
interface Written {
  readonly name: string;
  readonly revision: Revision;
  readonly state?: { readonly color: string; readonly value: number };
}

const colorOf = (entry: Entry): string => objectOf(entry).metadata.labels['color'] ?? '';

const colors = ['red', 'green', 'blue'];

/**
 * Random writes of several concurrent writers, each with its own keys; returns the acknowledged ones. The next write
 * reads the outcome of a failed one.
 */
async function write(cache: WatchCache, random: () => number, onWrite: (count: number) => void): Promise<Written[]> {
  const acknowledged: Written[] = [];
  const attempt = async (name: string, value: number) => {
    const color = colors[Math.floor(random() * colors.length)] as string;
    const remove = random() < 0.2;
    const current = await cache.get(`ns/${name}`, latest);
    const stored = thing(name, value, { color });
    let entry: Entry | undefined;
    if (current === undefined) entry = await cache.create(`ns/${name}`, stored);
    else {
      const result = remove
        ? await cache.delete(`ns/${name}`, current.revision)
        : await cache.update(`ns/${name}`, stored, current.revision);
      if (result.ok) entry = result.entry;
    }
    if (entry === undefined) throw new Error(`${name} was changed by another writer`);
    const removed = remove && current !== undefined;
    acknowledged.push({ name, revision: entry.revision, ...(removed ? {} : { state: { color, value } }) });
  };
  const one = async (writer: number) => {
    for (let i = 0; i < writeCount / writers; ) {
      const name = `${writer}-${Math.floor(random() * (keyCount / writers))}`;
      try {
        await attempt(name, i);
        onWrite(acknowledged.length);
        i++;
      } catch (err) {
        if (!(err instanceof StatusError && [503, 504].includes(err.code))) throw err;
      }
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => one(writer)));
  return acknowledged;
}

/** The store's own history of writes. */
async function storeHistory(store: Store, from: Revision): Promise<Written[]> {
  const history: Written[] = [];
  const last = await store.currentRevision();
  const controller = new AbortController();
  const range = { start: '/registry/things/', end: prefixEnd('/registry/things/') };
  const watch = store.watch({ ...range, fromRevision: from + 1n, signal: controller.signal });
  store.requestProgress();
  for await (const message of watch) {
    if (message.type === 'events') history.push(...message.events.map(writtenBy));
    if (message.revision >= last) break;
  }
  controller.abort();
  return history;
}

function writtenBy(event: StoreEvent): Written {
  const name = event.kv.key.slice('/registry/things/ns/'.length);
  if (event.type === 'delete') return { name, revision: event.kv.modRevision };
  const { metadata, value } = JSON.parse(event.kv.value.toString()) as Thing;
  return { name, revision: event.kv.modRevision, state: { color: metadata.labels['color'] ?? '', value } };
}

/** The expected events for a color. */
function expected(history: readonly Written[], color: string | undefined): string[] {
  const states = new Map<string, Written['state']>();
  const events: string[] = [];
  const matches = (state: Written['state']) => state !== undefined && (color === undefined || state.color === color);
  for (const { name, revision, state } of history) {
    const before = states.get(name);
    states.set(name, state);
    if (matches(state)) events.push(`${matches(before) ? 'MODIFIED' : 'ADDED'} ${name}=${state?.value}@${revision}`);
    else if (matches(before)) events.push(`DELETED ${name}=${before?.value}@${revision}`);
  }
  return events;
}

/** `run` creates a cache like the fixture's. */
export async function everyWatcherSeesEverything(
  t: Test,
  store: Store,
  run: typeof runCache,
  onWrite: (count: number) => void = () => {},
): Promise<void> {
  const seed = 20_241;
  t.comment(`seed ${seed}`);
  const cache = run(t, store, { watchBufferSize: 10_000 });
  const other = run(t, store, { watchBufferSize: 10_000 });
  await Promise.all([cache.waitReady(), other.waitReady()]);
  const readers: { color: string | undefined; watch: WatchReader }[] = [];
  for (let i = 0; i < watcherCount; i++) {
    const color = [undefined, ...colors][i % 4];
    const match = color === undefined ? {} : { match: (entry: Entry) => colorOf(entry) === color };
    // Half of the selecting watchers use the index.
    const only = color === undefined || i % 8 < 4 ? {} : { only: { field: 'color', read: colorOf, value: color } };
    const watch = readWatch(t, i % 2 === 0 ? cache : other, { ...match, ...only });
    await watch.opened();
    readers.push({ color, watch });
  }
  const begin = await store.currentRevision();
  const acknowledged = await write(cache, seededRandom(seed), onWrite);
  t.equal(acknowledged.length, writeCount);
  const history = await storeHistory(store, begin);
  const byRevision = new Map(history.map((written) => [written.revision, written]));
  t.ok(
    acknowledged.every((written) => isDeepStrictEqual(byRevision.get(written.revision), written)),
    'what was acknowledged is in the store',
  );
  for (const [i, { color, watch }] of readers.entries()) {
    const expectedEvents = expected(history, color);
    const seen = await watch.until((events) => events.length >= expectedEvents.length);
    t.same(seen.map(show), expectedEvents, `watcher ${i} of ${color ?? 'all'}`);
  }
  for (const each of [cache, other]) {
    const list = await each.list({ scope: '', version: latest });
    const live = new Map<string, bigint>();
    for (const { name, revision, state } of history) {
      if (state === undefined) live.delete(name);
      else live.set(name, revision);
    }
    t.same(new Map(list.entries.map((entry) => [objectOf(entry).metadata.name, entry.revision])), live);
    t.equal(await each.selfCheck(), true);
  }
}
