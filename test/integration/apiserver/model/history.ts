/** States reconstructed from watch events: every list must equal the state of its version, on both servers. */
import type { WatchedEvent } from '#test/integration/apiserver/spec/spec-server.js';

export interface SeenList {
  readonly version: string;
  readonly selector: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: objects as they came
  readonly items: readonly any[];
  readonly text: string;
}

/**
 * Throws at the first list that differs from the events up to its version. `whole`: list items have a kind, as for custom resources.
 */
export function checkLists(events: readonly WatchedEvent[], lists: readonly SeenList[], whole: boolean): void {
  const state = new Map<string, unknown>();
  let at = 0;
  const byVersion = [...lists].sort((a, b) => (BigInt(a.version) < BigInt(b.version) ? -1 : 1));
  for (const { version, selector, items, text } of byVersion) {
    for (; at < events.length; at += 1) {
      const event = events[at];
      if (event === undefined || BigInt(event.object.metadata.resourceVersion) > BigInt(version)) break;
      const { name } = event.object.metadata;
      if (event.type === 'DELETED') state.delete(name);
      else state.set(name, event.object);
    }
    const expected = [...state.entries()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => (whole ? (object as object) : itemOf(object)))
      .filter((object) => selector === undefined || tierOf(object) === selector);
    if (JSON.stringify(expected) !== JSON.stringify(items)) {
      throw new Error(`${text} at ${version} is not what the events say: ${JSON.stringify({ expected, items })}`);
    }
  }
}

/** Throws if versions do not increase, or an event's type does not fit the previous state. */
export function checkOrder(events: readonly WatchedEvent[]): void {
  const uids = new Map<string, string>();
  let last = 0n;
  for (const [i, { type, object }] of events.entries()) {
    const { name, uid, resourceVersion } = object.metadata;
    const fits = type === 'ADDED' ? !uids.has(name) : uids.get(name) === uid;
    if (BigInt(resourceVersion) <= last || !fits) throw new Error(`event ${i} does not fit: ${type} ${name}`);
    last = BigInt(resourceVersion);
    if (type === 'DELETED') uids.delete(name);
    else uids.set(name, uid);
  }
}

/** The expected events of a watch with the selector `tier=…` for the same changes. */
export function selected(events: readonly WatchedEvent[], tier: string): string[] {
  const before = new Map<string, boolean>();
  const texts: string[] = [];
  for (const { type, object } of events) {
    const { name, resourceVersion } = object.metadata;
    const was = before.get(name) ?? false;
    const is = type !== 'DELETED' && tierOf(object) === tier;
    before.set(name, is);
    if (is) texts.push(`${was ? 'MODIFIED' : 'ADDED'} ${name} ${resourceVersion}`);
    else if (was) texts.push(`DELETED ${name} ${resourceVersion}`);
  }
  return texts;
}

/** An object as a list item, without a kind. */
function itemOf(object: unknown): object {
  const { kind: _kind, apiVersion: _version, ...item } = object as Record<string, unknown>;
  return item;
}

function tierOf(object: unknown): string | undefined {
  return (object as { metadata: { labels?: Record<string, string> } }).metadata.labels?.['tier'];
}
