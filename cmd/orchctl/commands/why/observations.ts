/** Reads what an inquiry needs from the API server, with the user's own rights. */
import { events, pods } from '#api/core/v1/resources.gen.js';
import type { Event, Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { statusOf } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject } from '#client/client.js';
import { readAll } from '#client/rest/response.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { type Api, objectPath, withQuery } from '#cmd/orchctl/api/api.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import { type Observations, type Scope, Unreadable } from '#insight/inquiry/observations.js';

/** Page size of lists. */
const pageSize = 500;
/** Lines and bytes that are read of a log. */
const tailLines = '10';
const limitBytes = '20000';

export interface ApiObservationsOptions {
  readonly api: Api;
  readonly client: RestClient;
  readonly clock: Clock;
  readonly placement: (pod: Pod) => Promise<readonly Finding[]>;
}

export class ApiObservations implements Observations {
  readonly nowMs: number;
  readonly #options: ApiObservationsOptions;

  constructor(options: ApiObservationsOptions) {
    this.#options = options;
    this.nowMs = options.clock.now();
  }

  async get<T extends ApiObject>(type: ResourceType<T>, name: string, namespace?: string): Promise<T | undefined> {
    if (name === '') return undefined;
    try {
      const where = namespace === undefined || namespace === '' ? {} : { namespace };
      return await this.#options.client.resource(type).get(name, where);
    } catch (error) {
      if (statusOf(error)?.code === 404) return undefined;
      throw readable(error);
    }
  }

  async list<T extends ApiObject>(
    type: ResourceType<T>,
    { limit: enough = Number.POSITIVE_INFINITY, ...scope }: Scope,
  ): Promise<readonly T[]> {
    const all: T[] = [];
    let next: string | undefined;
    try {
      do {
        const page: { readonly items: T[]; readonly metadata?: { readonly continue?: string } } =
          await this.#options.client
            .resource(type)
            .list({ ...scope, limit: Math.min(pageSize, enough), ...(next === undefined ? {} : { continue: next }) });
        for (const item of page.items) all.push(item);
        next = page.metadata?.continue;
      } while (next !== undefined && next !== '' && all.length < enough);
    } catch (error) {
      // A group that is not served has no objects.
      if (statusOf(error)?.code === 404) return [];
      throw readable(error);
    }
    return all;
  }

  events({ kind, namespace = 'default', name }: Subject): Promise<readonly Event[]> {
    const fieldSelector = `involvedObject.kind=${kind},involvedObject.name=${name}`;
    return this.list(events, { namespace, fieldSelector });
  }

  async logTail(
    { metadata: { name = '', namespace } }: Pod,
    container: string,
    previous: boolean,
  ): Promise<readonly string[]> {
    const { api } = this.#options;
    const resource = (await api.catalog()).byKind('v1', pods.kind);
    const query = { container, previous: String(previous), tailLines, limitBytes };
    try {
      const response = await api.send(
        'GET',
        withQuery(objectPath(resource, name, { namespace }, 'log'), query),
        undefined,
        {
          accept: '*/*',
        },
      );
      return (await readAll(response.body))
        .toString('utf8')
        .split('\n')
        .filter((line) => line !== '');
    } catch (error) {
      const code = statusOf(error)?.code;
      if (code === 403) throw readable(error);
      // The container has not run, or its node does not answer: other evidence must do.
      if (code !== undefined) return [];
      throw error;
    }
  }

  placement(pod: Pod): Promise<readonly Finding[]> {
    return this.#options.placement(pod).catch((error: unknown) => {
      throw readable(error);
    });
  }
}

/** Unreadable for a refusal, other errors as they are. */
function readable(error: unknown): unknown {
  const status = statusOf(error);
  return status?.code === 403 ? new Unreadable(status.message) : error;
}
