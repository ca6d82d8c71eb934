/** The contents of a store at one time, and how to make a store hold them again. */

import { MemoryStore } from '#storage/memory/memory-store.js';
import { isOwnKey } from '#storage/own-keys.js';
import { prefixEnd } from '#storage/sorted-map.js';
import type { Guard, KeyValue, Revision, Store } from '#storage/store.js';

export interface Contents {
  /** By key, without the keys of running API servers. Values are shared with the store. */
  readonly pairs: ReadonlyMap<string, KeyValue>;
  readonly revision: Revision;
}

/** What must change in a store. */
export interface Difference {
  /** Pairs to write, in the order of their last writes, and the revision of the pair that they replace; 0: none. */
  readonly puts: readonly { readonly pair: KeyValue; readonly replaces: Revision }[];
  readonly deletions: readonly KeyValue[];
}

/** Root of all keys. */
export interface Place {
  readonly store: Store;
  /** `/registry`. */
  readonly root: string;
}

export async function readContents({ store, root }: Place): Promise<Contents> {
  const start = `${root}/`;
  const { kvs, revision } = await store.range({ start, end: prefixEnd(start) });
  const pairs = new Map<string, KeyValue>();
  for (const pair of kvs) if (!isOwnKey(pair.key.slice(root.length))) pairs.set(pair.key, pair);
  return { pairs, revision };
}

/** Pure. A pair with the same revision is the same write. */
export function differenceOf(now: Contents, saved: Contents): Difference {
  const puts: { pair: KeyValue; replaces: Revision }[] = [];
  for (const pair of saved.pairs.values()) {
    const current = now.pairs.get(pair.key);
    if (current !== undefined && (current.modRevision === pair.modRevision || current.value.equals(pair.value)))
      continue;
    puts.push({ pair, replaces: current?.modRevision ?? 0n });
  }
  puts.sort((a, b) => (a.pair.modRevision < b.pair.modRevision ? -1 : 1));
  const deletions = [...now.pairs.values()].filter(({ key }) => !saved.pairs.has(key));
  return { puts, deletions };
}

/** Lifetime of an object in seconds; undefined: it stays. */
export type Lifetime = (key: string) => number | undefined;

/** Limit of writes in one transaction of etcd; its default is 128. */
const batchSize = 100;

/** Writes the difference: at one revision in a store in memory, in batches elsewhere. Throws if the store changes meanwhile. */
export async function applyDifference(store: Store, difference: Difference, lifetime: Lifetime): Promise<void> {
  const { puts, deletions } = difference;
  if (store instanceof MemoryStore) {
    store.transact(({ put, delete: remove }) => {
      for (const { pair } of puts) put(pair.key, pair.value, lifetime(pair.key));
      for (const { key } of deletions) remove(key);
    });
    return;
  }
  const lasting = puts.filter(({ pair }) => lifetime(pair.key) === undefined);
  for (let at = 0; at < lasting.length; at += batchSize) await putBatch(store, lasting.slice(at, at + batchSize));
  for (const { pair, replaces } of puts) {
    const ttlSeconds = lifetime(pair.key);
    if (ttlSeconds === undefined) continue;
    const options = { ttlSeconds };
    const { ok } = await (replaces === 0n
      ? store.create(pair.key, pair.value, options)
      : store.update(pair.key, pair.value, replaces, options));
    if (!ok) throw changed(pair.key);
  }
  for (const { key, modRevision } of deletions) {
    // An expired key may be gone.
    await store.delete(key, modRevision);
  }
}

async function putBatch(store: Store, batch: Difference['puts']): Promise<void> {
  const [first, ...others] = batch;
  if (first === undefined) return;
  const guards: Guard[] = others.map(({ pair, replaces }) => ({
    key: pair.key,
    modRevision: replaces,
    value: pair.value,
  }));
  const { key, value } = first.pair;
  const { ok } = await (first.replaces === 0n
    ? store.create(key, value, { guards })
    : store.update(key, value, first.replaces, { guards }));
  if (!ok) throw changed(key);
}

function changed(key: string): Error {
  return new Error(`the store changed while it was restored, at ${key}`);
}
