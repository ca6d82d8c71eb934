/** Reads what an inquiry needs, with the rights of the page's user. */
import { events } from '#api/core/v1/resources.gen.js';
import type { Event, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import { type Requests, withQuery } from '#dashboard/live/requests.js';
import { RequestError } from '#dashboard/model/trouble.js';
import type { Subject } from '#insight/inquiry/finding.js';
import { type Observations, type Scope, type StoredObject, Unreadable } from '#insight/inquiry/observations.js';

const pageSize = '500';
const tailLines = '10';
const limitBytes = '20000';

export class RequestedObservations implements Observations {
  readonly nowMs: number;
  readonly #requests: Requests;
  readonly #dialect: Dialect;

  constructor(requests: Requests, dialect: Dialect, nowMs: number) {
    this.#requests = requests;
    this.#dialect = dialect;
    this.nowMs = nowMs;
  }

  async get<T extends StoredObject>(type: ResourceType<T>, name: string, namespace?: string): Promise<T | undefined> {
    if (name === '') return undefined;
    try {
      return await this.#requests.json<T>(`${this.#path(type, namespace)}/${encodeURIComponent(name)}`);
    } catch (error) {
      if (error instanceof RequestError && error.code === 404) return undefined;
      throw readable(error);
    }
  }

  async list<T extends StoredObject>(type: ResourceType<T>, scope: Scope): Promise<readonly T[]> {
    const { namespace, labelSelector, fieldSelector } = scope;
    const all: T[] = [];
    let next: string | undefined;
    try {
      do {
        const query = { labelSelector, fieldSelector, limit: pageSize, continue: next };
        const page = await this.#requests.json<{
          readonly items?: readonly T[];
          readonly metadata?: { readonly continue?: string };
        }>(withQuery(this.#path(type, namespace), query));
        for (const item of page.items ?? []) all.push(item);
        next = page.metadata?.continue;
      } while (next !== undefined && next !== '');
    } catch (error) {
      // A group that is not served has no objects.
      if (error instanceof RequestError && error.code === 404) return [];
      throw readable(error);
    }
    return all;
  }

  events({ kind, namespace = 'default', name }: Subject): Promise<readonly Event[]> {
    return this.list(events, { namespace, fieldSelector: `involvedObject.kind=${kind},involvedObject.name=${name}` });
  }

  async logTail(
    { metadata: { name = '', namespace = '' } }: Pod,
    container: string,
    previous: boolean,
  ): Promise<readonly string[]> {
    const query = { container, previous: String(previous), tailLines, limitBytes };
    const place = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/log`;
    const lines: string[] = [];
    try {
      const { signal } = new AbortController();
      for await (const line of this.#requests.lines(withQuery(place, query), { signal })) {
        if (line !== '') lines.push(line);
      }
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (error.code === 403) throw readable(error);
      // The container has not run, or its node does not answer: other evidence must do.
      return [];
    }
    return lines;
  }

  #path(type: ResourceType<StoredObject>, namespace: string | undefined): string {
    const group = this.#dialect.groupName(type.group);
    const base = group === '' ? `/api/${type.version}` : `/apis/${group}/${type.version}`;
    const isInside = type.namespaced && namespace !== undefined && namespace !== '';
    return `${base}${isInside ? `/namespaces/${encodeURIComponent(namespace)}` : ''}/${type.resource}`;
  }
}

/** Unreadable for a refusal, other errors as they are. */
function readable(error: unknown): unknown {
  return error instanceof RequestError && error.code === 403 ? new Unreadable(error.message) : error;
}
