/** What etcd itself tells of config maps, and what watches have to make of it. */
import { prefixEnd, type Store } from '#storage/store.js';

export interface Change {
  readonly revision: bigint;
  readonly namespace: string;
  readonly name: string;
  /** Of the object written; undefined after a deletion. */
  readonly stored?: Stored;
}

interface Stored {
  readonly tier: string | undefined;
  /** Differs with every write. */
  readonly content: string | undefined;
}

/** Every change from that revision on, as it comes, until the signal. */
export async function follow(store: Store, fromRevision: bigint, into: Change[], signal: AbortSignal): Promise<void> {
  const start = '/registry/configmaps/';
  for await (const message of store.watch({ start, end: prefixEnd(start), fromRevision, signal })) {
    if (message.type !== 'events') continue;
    for (const event of message.events) {
      const { key, modRevision: revision } = event.kv;
      const [namespace = '', name = ''] = key.slice(start.length).split('/');
      if (event.type === 'delete') {
        into.push({ revision, namespace, name });
        continue;
      }
      const { metadata, data } = JSON.parse(event.kv.value.toString());
      into.push({ revision, namespace, name, stored: { tier: metadata.labels?.tier, content: data?.n } });
    }
  }
}

export interface Selection {
  /** With a `?` or a `&` at its end. */
  readonly url: string;
  matches(namespace: string, tier: string | undefined): boolean;
}

/** One event in a few words. */
export function told(type: string, namespace: string, name: string, version: unknown, content: unknown): string {
  return `${type} ${namespace}/${name} ${version} ${content}`;
}

/** What a watch with that selection has to tell. Objects that go are told as they were. */
export function expected(changes: readonly Change[], { matches }: Selection): string[] {
  const selected = new Map<string, Stored>();
  const all: string[] = [];
  for (const { revision, namespace, name, stored } of changes) {
    const key = `${namespace}/${name}`;
    const before = selected.get(key);
    if (stored !== undefined && matches(namespace, stored.tier)) {
      selected.set(key, stored);
      all.push(told(before === undefined ? 'ADDED' : 'MODIFIED', namespace, name, revision, stored.content));
    } else if (before !== undefined) {
      selected.delete(key);
      all.push(told('DELETED', namespace, name, revision, before.content));
    }
  }
  return all;
}
