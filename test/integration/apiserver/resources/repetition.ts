/** Every verb of a resource with the same large object repeatedly, since repetitions may use caches. */
import type { Test } from 'tap';
import { schemeFor } from '#api/scheme.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { KindInfo } from '#apimachinery/schema/scheme.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { clusterCredentials, startCompleteServer } from '#test/integration/apiserver/complete-server.js';
import { enlarged } from '#test/integration/apiserver/resources/enlarged.js';
import type { AnyCase, Draft } from '#test/integration/apiserver/resources/resource-case.js';
import { type Answer, call } from '#test/integration/apiserver/server.js';

export type Media = 'json' | 'protobuf';

export interface RepetitionOptions {
  readonly server: Pick<ApiServer, 'handler'>;
  readonly dialect: Dialect;
  readonly given: AnyCase;
  /** Bytes added to the case's small object. */
  readonly bytes: number;
  /** Of every request. */
  readonly headers?: Readonly<Record<string, string>>;
}

const sizes = [600, 6_000, 60_000];

/** One test per resource, on one server with all plugins and hooks. */
export function testLargeSpecs(t: Test, cases: readonly AnyCase[], dialect: Dialect): void {
  t.test('objects of every size can be created, changed and deleted repeatedly', { timeout: 600_000 }, async (t) => {
    const { argv } = await clusterCredentials(t, dialect, 'secret,admin,1,"system:masters"\n');
    const { server } = await startCompleteServer(t, { dialect, argv });
    const headers = { authorization: 'Bearer secret' };
    const account = { metadata: { name: 'default' } };
    await call(server, 'POST', '/api/v1/namespaces/default/serviceaccounts', { headers, body: account });
    for (const given of cases) {
      const { resource, version } = given.resource;
      await t.test(`${resource} ${version}`, { timeout: 120_000 }, async (t) => {
        for (const bytes of sizes) {
          const repetition = new Repetition(t, { server, dialect, given, bytes, headers });
          for (const media of ['json', 'protobuf'] as const) await repetition.life(media);
        }
      });
    }
  });
}

export class Repetition {
  readonly #t: Test;
  readonly #options: RepetitionOptions;
  readonly #codec: ObjectCodec;
  /** Undefined for custom kinds, which have no Protobuf and no strategic patches. */
  readonly #kind: KindInfo | undefined;
  readonly #collection: string;
  readonly #draft: Draft;

  constructor(t: Test, options: RepetitionOptions) {
    const { dialect, given } = options;
    const { resource } = given;
    const scheme = schemeFor(dialect);
    const { apiVersion } = given.object(dialect);
    this.#t = t;
    this.#options = options;
    this.#codec = new ObjectCodec(scheme);
    this.#draft = enlarged(given.object(dialect), resource.resource, options.bytes);
    this.#kind = scheme.kind(apiVersion, resource.kind);
    const prefix = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    this.#collection = `${prefix}${resource.namespaced ? '/namespaces/default' : ''}/${resource.resource}`;
  }

  /** Encodings in which its objects can be written. */
  get medias(): readonly Media[] {
    return this.#kind === undefined ? ['json'] : ['json', 'protobuf'];
  }

  get collection(): string {
    return this.#collection;
  }

  get #path(): string {
    return `${this.#collection}/${this.#draft.metadata.name}`;
  }

  /**
   * All writes as dry runs, whatever their outcome: they must change nothing. Only creations if the object does not exist.
   */
  async rehearse(media: Media): Promise<void> {
    const draft = this.#draft;
    const stored = await this.#stored();
    await this.#try(media, 'POST', `${this.#collection}?dryRun=All`, draft);
    if (stored.status === 200) {
      const now: Draft = stored.json;
      const labelled = { ...now, metadata: { ...now.metadata, labels: { rehearsed: 'yes' } } };
      await this.#try(media, 'PUT', `${this.#path}?dryRun=All`, labelled);
      await this.#try(media, 'PUT', `${this.#path}/status?dryRun=All`, labelled);
      const labels = { metadata: { labels: { rehearsed: 'yes' } } };
      const { apiVersion, kind } = draft;
      const patches: readonly (readonly [string, string, unknown])[] = [
        ['merge-patch+json', '', labels],
        ...(this.#kind === undefined ? [] : [['strategic-merge-patch+json', '', labels] as const]),
        ['json-patch+json', '', [{ op: 'add', path: '/metadata/labels', value: labels.metadata.labels }]],
        ['apply-patch+yaml', '&fieldManager=rehearsal&force=true', { apiVersion, kind, ...labels }],
      ];
      for (const [type, query, body] of patches) {
        const options = { headers: { ...this.#options.headers, 'content-type': `application/${type}` }, body };
        await call(this.#options.server, 'PATCH', `${this.#path}?dryRun=All${query}`, options);
      }
    }
    this.#t.equal((await this.#stored()).text, stored.text, 'dry runs change nothing');
  }

  #stored(): Promise<Answer> {
    return call(this.#options.server, 'GET', this.#path, { headers: { ...this.#options.headers } });
  }

  /**
   * The object's life from creation to deletion, each step as a dry run first unless a later step depends on it; returns its
   * states. Throws for the first request that fails.
   */
  async life(media: Media, then?: () => Promise<void>): Promise<string> {
    const draft = this.#draft;
    const queries = then === undefined ? ['?dryRun=All', ''] : [''];
    for (const query of queries) await this.#send(media, 'POST', `${this.#collection}${query}`, draft);
    const created = await this.#read();
    await then?.();
    for (const query of queries) {
      await this.#put(media, `${this.#path}${query}`, { labels: { put: 'yes' } });
    }
    sameJSON(this.#t, this.#body(await this.#read()), this.#body(created), 'an update leaves the rest unchanged');
    await this.#patches();
    const patched = await this.#read();
    this.#t.match(patched.metadata.labels, {
      merge: 'yes',
      ...(this.#kind !== undefined && { strategic: 'yes' }),
      json: 'yes',
      partly: 'yes',
      apply: 'yes',
    });
    await this.#subresources(media);
    sameJSON(this.#t, this.#body(await this.#read()), this.#body(patched), 'so do subresources');
    await this.#remove();
    return this.#body(patched);
  }

  /** JSON without the members that differ between lives. */
  #body({ metadata, status, ...rest }: Draft): string {
    return JSON.stringify(rest).replaceAll(metadata.uid ?? '', 'uid');
  }

  async #patches(): Promise<void> {
    const { apiVersion, kind } = this.#draft;
    const labels = (key: string) => ({ metadata: { labels: { [key]: 'yes' } } });
    const { metadata, ...rest } = this.#draft;
    const applied = { ...rest, apiVersion, kind, metadata: { ...metadata, ...labels('apply').metadata } };
    await this.#patch('merge-patch+json', '', labels('merge'));
    if (this.#kind !== undefined) await this.#patch('strategic-merge-patch+json', '', labels('strategic'));
    await this.#patch('json-patch+json', '', [{ op: 'add', path: '/metadata/labels/json', value: 'yes' }]);
    await this.#patch('apply-patch+yaml', '?fieldManager=partly', { apiVersion, kind, ...labels('partly') });
    await this.#patch('apply-patch+yaml', '?fieldManager=wholly&force=true', applied);
  }

  /** Each result is written back, and the status also by every patch. */
  async #subresources(media: Media): Promise<void> {
    for (const { name, verbs } of this.#options.given.resource.subresources ?? []) {
      const url = `${this.#path}/${name}`;
      if (name === 'status') {
        const metadata = { annotations: { status: 'yes' } };
        await this.#put(media, url, metadata);
        await this.#patch('merge-patch+json', '/status', { metadata });
        if (this.#kind !== undefined) await this.#patch('strategic-merge-patch+json', '/status', { metadata });
        await this.#patch('json-patch+json', '/status', []);
      } else if (name === 'scale') {
        const scale = (await this.#call('GET', url)).json as object;
        await this.#call('PUT', url, { body: scale });
      } else if (verbs?.includes('update') !== false && name !== 'token' && name !== 'proxy') {
        await this.#put(media, url, {});
      }
    }
  }

  /** Replaces the object with other metadata; retries if the server wrote in between. */
  async #put(media: Media, url: string, metadata: Partial<Draft['metadata']>): Promise<void> {
    for (;;) {
      const now = await this.#read();
      const answer = await this.#try(media, 'PUT', url, { ...now, metadata: { ...now.metadata, ...metadata } });
      if (answer.status === 409) continue;
      return this.#check(`PUT ${url}`, answer);
    }
  }

  async #read(): Promise<Draft> {
    return (await this.#call('GET', this.#path)).json as Draft;
  }

  #patch(type: string, suffix: string, body: unknown): Promise<Answer> {
    return this.#call('PATCH', `${this.#path}${suffix}`, { headers: { 'content-type': `application/${type}` }, body });
  }

  async #send(media: Media, method: string, url: string, object: Draft): Promise<void> {
    this.#check(`${method} ${url}`, await this.#try(media, method, url, object));
  }

  #try(media: Media, method: string, url: string, object: Draft): Promise<Answer> {
    const { server, headers, dialect } = this.#options;
    if (media === 'json') return call(server, method, url, { headers: { ...headers }, body: object });
    const { protobufMediaType: type } = dialect;
    if (this.#kind === undefined) throw new Error(`no Protobuf for ${object.kind}`);
    const body = this.#codec.encode(object, this.#kind, 'protobuf');
    return call(server, method, url, { headers: { ...headers, 'content-type': type, accept: type }, body });
  }

  /** With all its finalizers. */
  async #remove(): Promise<void> {
    await this.#call('DELETE', `${this.#path}?propagationPolicy=Background&gracePeriodSeconds=0`);
    const { server, given, headers = {} } = this.#options;
    for (;;) {
      const { status, json } = await call(server, 'GET', this.#path, { headers });
      if (status === 404) return;
      const { metadata, ...rest } = json as Draft;
      // Its finalizers may be removed by the server meanwhile.
      await this.#try('json', 'PUT', this.#path, { ...rest, metadata: { ...metadata, finalizers: [] } });
      if (given.resource.resource !== 'namespaces') continue;
      await this.#try('json', 'PUT', `${this.#path}/finalize`, { ...rest, metadata, spec: { finalizers: [] } });
    }
  }

  async #call(
    method: string,
    url: string,
    { headers = {}, body }: { headers?: Record<string, string>; body?: unknown } = {},
  ): Promise<Answer> {
    const { server, headers: always } = this.#options;
    const answer = await call(server, method, url, { headers: { ...always, ...headers }, body });
    this.#check(`${method} ${url}`, answer);
    return answer;
  }

  #check(request: string, { status, text }: Answer): void {
    if (status >= 300) throw new Error(`${request}: ${status} ${text.slice(0, 500)}`);
  }
}

/** Compares values. They nearly always have the same text, which is faster to compare. */
export function sameJSON(t: Test, actual: string, expected: string, message: string): void {
  if (actual === expected) t.pass(message);
  else t.strictSame(JSON.parse(actual), JSON.parse(expected), message);
}

/** Objects that a server creates itself. */
export function withoutGate(cases: readonly AnyCase[]): readonly AnyCase[] {
  return cases.filter(({ resource }) => resource.featureGate === undefined);
}
