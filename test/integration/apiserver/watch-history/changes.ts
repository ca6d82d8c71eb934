/** etcd's own history of config maps, and the events that watches must derive from it. */
import { prefixEnd } from '#storage/sorted-map.js';
import type { Store } from '#storage/store.js';

export interface Change {
  readonly revision: bigint;
  readonly namespace: string;
  readonly name: string;
  /** The written object's tier; undefined after a deletion. */
  readonly stored?: Stored;
}

interface Stored {
  readonly tier: string | undefined;
  /** Differs with every write. */
  readonly content: string | undefined;
}

/** Every change from that revision on, until the signal aborts. */
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
  /** Ends with `?` or `&`. */
  readonly url: string;
  matches(namespace: string, tier: string | undefined): boolean;
}

/** One event in brief. */
export function describe(type: string, namespace: string, name: string, version: unknown, content: unknown): string {
  return `${type} ${namespace}/${name} ${version} ${content}`;
}

/** The events of a watch with that selection. A deletion has the object's last state. */
export function expected(changes: readonly Change[], { matches }: Selection): string[] {
  const selected = new Map<string, Stored>();
  const all: string[] = [];
  for (const { revision, namespace, name, stored } of changes) {
    const key = `${namespace}/${name}`;
    const before = selected.get(key);
    if (stored !== undefined && matches(namespace, stored.tier)) {
      selected.set(key, stored);
      all.push(describe(before === undefined ? 'ADDED' : 'MODIFIED', namespace, name, revision, stored.content));
    } else if (before !== undefined) {
      selected.delete(key);
      all.push(describe('DELETED', namespace, name, revision, before.content));
    }
  }
  return all;
}
