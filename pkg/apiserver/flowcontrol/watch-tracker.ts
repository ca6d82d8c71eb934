/** Counts the open watches that get the event of a write, as 1.24 does. */

import { StatusError } from '#apimachinery/errors/status.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';

type Watched = Pick<RequestInfo, 'group' | 'resource' | 'namespace' | 'name' | 'fields'>;

/** Watches of these that select a value of the field get few of the events. */
const indexes: ReadonlyMap<string, string> = new Map([['pods', 'spec.nodeName']]);
const nothing = () => undefined;

export class WatchTracker {
  /** By group, resource, namespace and name; empty parts stand for all. */
  readonly #counts = new Map<string, number>();

  /** Counts a watch until the result is called; call it once. */
  add(watched: Watched): () => void {
    const { group, resource, namespace, name, fields } = watched;
    const field = indexes.get(resource);
    if (field !== undefined && !(fields instanceof StatusError) && (fields.exactValue(field) ?? '') !== '')
      return nothing;
    const key = keyOf(group, resource, namespace, name);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    return () => {
      const left = (this.#counts.get(key) ?? 0) - 1;
      if (left > 0) this.#counts.set(key, left);
      else this.#counts.delete(key);
    };
  }

  /** Watches of the resource, of its namespace, and of the object. */
  interested({ group, resource, namespace, name }: Omit<Watched, 'fields'>): number {
    const counts = this.#counts;
    let sum = counts.get(keyOf(group, resource, '', '')) ?? 0;
    if (namespace !== '') sum += counts.get(keyOf(group, resource, namespace, '')) ?? 0;
    if (name !== '') sum += counts.get(keyOf(group, resource, namespace, name)) ?? 0;
    return sum;
  }
}

function keyOf(group: string, resource: string, namespace: string, name: string): string {
  return `${group}/${resource}/${namespace}/${name}`;
}
