/** Exercises every verb of a resource, in JSON and Protobuf, in the same way for all. */

import type { Test } from 'tap';
import type { ApiObjectShape } from '#api/meta/object.js';
import { schemeFor } from '#api/scheme.js';
import { strategyFor } from '#api/strategies.js';
import { withoutNulls } from '#apimachinery/codec/json/empty-members.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft as Mutable } from '#apimachinery/draft.js';
import type { KindInfo } from '#apimachinery/schema/scheme.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { gateFor } from '#test/integration/apiserver/resources/every-case.js';
import { type AnyCase, at, type Draft } from '#test/integration/apiserver/resources/resource-case.js';
import { Watching } from '#test/integration/apiserver/resources/watching.js';
import { type Answer, call, startServer } from '#test/integration/apiserver/server.js';

/** One test per resource, all on one server. */
export function testResources(t: Test, cases: readonly AnyCase[], dialect: Dialect): void {
  t.test(`${dialect.name} dialect`, async (t) => {
    const server = await startServer(t, { dialect, dependencies: { gate: gateFor(cases) } });
    for (const given of cases) {
      const { resource, version } = given.resource;
      await t.test(`${resource} ${version}`, async (t) => {
        const exercise = new Exercise(t, server, given, dialect);
        await exercise.json();
        await exercise.patches();
        await exercise.table();
        await exercise.refusal();
        await exercise.protobuf();
        await exercise.deleteCollection();
      });
    }
  });
}

class Exercise {
  readonly #t: Test;
  readonly #server: ApiServer;
  readonly #case: AnyCase;
  readonly #dialect: Dialect;
  readonly #codec: ObjectCodec;
  readonly #kind: KindInfo;
  readonly #listKind: KindInfo;
  readonly #collection: string;

  constructor(t: Test, server: ApiServer, given: AnyCase, dialect: Dialect) {
    const scheme = schemeFor(dialect);
    const { resource } = given;
    const apiVersion = dialect.apiVersion(resource.group, resource.version);
    const kind = scheme.kind(apiVersion, resource.kind);
    const listKind = scheme.kind(apiVersion, `${resource.kind}List`);
    if (kind === undefined || listKind === undefined) throw new Error(`no kind ${resource.kind}`);
    this.#t = t;
    this.#server = server;
    this.#case = given;
    this.#dialect = dialect;
    this.#codec = new ObjectCodec(scheme);
    this.#kind = kind;
    this.#listKind = listKind;
    this.#collection = collectionPath(given, dialect);
  }

  get #draft(): Draft {
    return this.#case.object(this.#dialect);
  }

  get #path(): string {
    return `${this.#collection}/${this.#draft.metadata.name}`;
  }

  async json(): Promise<void> {
    const t = this.#t;
    const watching = await this.#watch('application/json');
    const tried = await this.#json('POST', `${this.#collection}?dryRun=All`, 201, this.#draft);
    const created = await this.#json('POST', this.#collection, 201, this.#draft);
    t.strictSame(Object.keys(tried), Object.keys(created), 'a dry run answers the same object');
    t.match(created, { apiVersion: this.#kind.apiVersion, kind: this.#kind.kind, metadata: { uid: /-/ } });
    for (const [path, value] of Object.entries(this.#case.defaults(this.#dialect))) {
      t.strictSame(at(created, path), value, `default of ${path}`);
    }
    t.strictSame(await this.#json('GET', this.#path, 200), created, 'get');
    this.#checkSettled(created);
    const list = await this.#json('GET', this.#collection, 200);
    t.match(list, { apiVersion: this.#kind.apiVersion, kind: this.#listKind.kind });
    t.ok(this.#namesOf(list).includes(this.#draft.metadata.name), 'list');
    const labelled = { ...created, metadata: { ...created.metadata, labels: { put: 'yes' } } };
    const wouldBe = await this.#json('PUT', `${this.#path}?dryRun=All`, 200, labelled);
    t.equal(at(wouldBe, 'metadata.labels.put'), 'yes', 'dry run of an update');
    const updated = await this.#json('PUT', this.#path, 200, labelled);
    t.equal(at(updated, 'metadata.labels.put'), 'yes', 'update');
    t.not(at(updated, 'metadata.resourceVersion'), at(created, 'metadata.resourceVersion'));
    await this.#remove('application/json');
    t.equal((await call(this.#server, 'GET', this.#path)).status, 404, 'deleted');
    await this.#checkWatch(watching, ['ADDED', 'MODIFIED', 'DELETED']);
  }

  async patches(): Promise<void> {
    const t = this.#t;
    await this.#json('POST', this.#collection, 201, this.#draft);
    const { apiVersion, kind } = this.#kind;
    const labels = (key: string) => ({ metadata: { labels: { [key]: 'yes' } } });
    const rows: [string, unknown][] = [
      ['merge-patch', labels('merge')],
      ['strategic-merge-patch', labels('strategic')],
      ['json-patch', [{ op: 'add', path: '/metadata/labels/json', value: 'yes' }]],
      ['apply-patch', { apiVersion, kind, ...labels('apply') }],
    ];
    for (const [type, body] of rows) {
      const suffix = type === 'apply-patch' ? 'yaml' : 'json';
      const url = type === 'apply-patch' ? `${this.#path}?fieldManager=tests` : this.#path;
      const headers = { 'content-type': `application/${type}+${suffix}` };
      const answer = await call(this.#server, 'PATCH', url, { headers, body });
      t.equal(answer.status, 200, `${type} ${answer.status === 200 ? '' : answer.text}`);
    }
    const patched = await this.#json('GET', this.#path, 200);
    this.#checkSettled(patched);
    t.match(at(patched, 'metadata.labels'), { merge: 'yes', strategic: 'yes', json: 'yes', apply: 'yes' });
    t.match(at(patched, 'metadata.managedFields'), [{ manager: 'tests', operation: 'Apply' }], 'its manager is kept');
  }

  /** Updates share unchanged parts with the stored object, except metadata: preparing it again must change nothing. */
  #checkSettled(stored: object): void {
    const { object } = this.#codec.decodeValue(structuredClone(stored), { expected: this.#kind });
    const context = {
      dialect: this.#dialect,
      scheme: schemeFor(this.#dialect),
      now: 0,
      monotonic: () => 0,
      gate: gateFor([this.#case]),
    };
    strategyFor(this.#case.resource).defaults?.(object as unknown as Mutable<ApiObjectShape>, context);
    this.#t.strictSame(
      { ...object, metadata: undefined },
      { ...withoutNulls(this.#kind.type, stored), metadata: undefined },
      'canonical, with defaults',
    );
  }

  /** Checks the object that `patches` left. */
  async table(): Promise<void> {
    const t = this.#t;
    const accept = `application/json;as=Table;v=v1;g=${this.#dialect.groupName('meta')}`;
    const { json, status } = await call(this.#server, 'GET', this.#path, { headers: { accept } });
    t.equal(status, 200, 'table');
    const columns: { name: string; type: string; priority: number }[] = json.columnDefinitions;
    const declared = this.#case.resource.columns ?? [];
    t.match(
      columns,
      declared.map(({ name, type, format = '', priority = 0 }) => ({ name, type, format, priority })),
    );
    const [row] = json.rows;
    t.equal(row.cells.length, columns.length, 'a cell for each column');
    const { name } = this.#draft.metadata;
    for (const [index, column] of columns.entries()) {
      const cell: unknown = row.cells[index];
      const expected = column.name === 'Name' ? name : this.#case.cells[column.name];
      if (expected !== undefined) t.match(cell, expected, `column ${column.name}`);
      // Some boolean columns contain `True` and `<unset>`, as in 1.24.
      const types = column.type === 'integer' ? ['number'] : ['string', 'number', 'boolean'];
      t.ok(types.includes(typeof cell), `column ${column.name} is ${column.type}: ${JSON.stringify(cell)}`);
    }
    for (const column of Object.keys(this.#case.cells)) {
      t.ok(
        columns.some(({ name }) => name === column),
        `there is a column ${column}`,
      );
    }
    await this.#remove('application/json');
  }

  async refusal(): Promise<void> {
    const answer = await call(this.#server, 'POST', this.#collection, { body: this.#case.invalid(this.#dialect) });
    this.#t.match(answer.json, { kind: 'Status', code: 422, reason: 'Invalid' }, 'an invalid object is refused');
    const causes: { field: string; reason: string; message: string }[] = answer.json.details?.causes ?? [];
    const fields = causes.map(({ field }) => field);
    for (const field of this.#case.causes) {
      this.#t.ok(fields.includes(field), `${field} is blamed`, { causes, message: answer.json.message });
    }
    for (const cause of causes) this.#t.match(cause, { reason: /^FieldValue/, message: /./ });
    if (answer.status === 201) await this.#remove('application/json');
  }

  async protobuf(): Promise<void> {
    const t = this.#t;
    const mediaType = this.#dialect.protobufMediaType;
    const watching = await this.#watch(`${mediaType};stream=watch`);
    const draft = this.#draft;
    const created = await this.#protobuf('POST', this.#collection, 201, draft);
    const inJson = await this.#json('GET', this.#path, 200);
    // Protobuf does not distinguish a status of zeros from none.
    const normal = this.#codec.encode(inJson, this.#kind, 'protobuf');
    const read = await this.#protobuf('GET', this.#path, 200);
    t.ok(this.#codec.encode(read, this.#kind, 'protobuf').equals(normal), 'Protobuf and JSON carry the same');
    const list = await this.#protobuf('GET', this.#collection, 200, undefined, this.#listKind);
    t.ok(this.#namesOf(list).includes(draft.metadata.name), 'list in Protobuf');
    const labelled = { ...created, metadata: { ...created.metadata, labels: { put: 'yes' } } };
    const updated = await this.#protobuf('PUT', this.#path, 200, labelled);
    t.equal(at(updated, 'metadata.labels.put'), 'yes', 'update in Protobuf');
    await this.#remove(mediaType);
    await this.#checkWatch(watching, ['ADDED', 'MODIFIED', 'DELETED']);
  }

  async deleteCollection(): Promise<void> {
    if (!this.#case.resource.verbs.includes('deletecollection')) return;
    await this.#json('POST', this.#collection, 201, this.#draft);
    const answer = await call(this.#server, 'DELETE', `${this.#collection}?propagationPolicy=Background`);
    this.#t.equal(answer.status, 200, 'deletecollection');
    await this.#letGo();
    this.#t.same(this.#namesOf(await this.#json('GET', this.#collection, 200)), []);
  }

  #watch(accept: string): Promise<Watching> {
    const { name } = this.#draft.metadata;
    const url = `${this.#collection}?watch=true&fieldSelector=metadata.name%3D${name}`;
    return Watching.open(this.#server, url, { accept, codec: this.#codec });
  }

  async #checkWatch(watching: Watching, types: readonly string[]): Promise<void> {
    const events = await watching.until('DELETED');
    const seen = new Set(events.map(({ type }) => type));
    this.#t.same([...seen], types, 'watch');
    this.#t.ok(events.every(({ object }) => object.kind === this.#kind.kind));
    await watching.close();
  }

  /** Deletes it without regard to dependents; a namespace goes once nothing holds it. */
  async #remove(accept: string): Promise<void> {
    const answer = await call(this.#server, 'DELETE', `${this.#path}?propagationPolicy=Background`, {
      headers: { accept },
    });
    if (answer.status !== 200) this.#t.fail(`delete: ${answer.status} ${answer.text}`);
    if (this.#case.resource.resource !== 'namespaces') return this.#letGo();
    const body = { ...(await this.#json('GET', this.#path, 200)), spec: { finalizers: [] } };
    await this.#json('PUT', `${this.#path}/finalize`, 200, body);
  }

  /** No controller removes a definition's objects here, so remove its finalizer. */
  async #letGo(): Promise<void> {
    if (this.#case.resource.resource !== 'customresourcedefinitions') return;
    const { items } = (await call(this.#server, 'GET', this.#collection)).json as { items: Draft[] };
    for (const object of items) {
      const body = { ...object, metadata: { ...object.metadata, finalizers: [] } };
      await this.#json('PUT', `${this.#collection}/${object.metadata.name}`, 200, body);
    }
  }

  async #json(method: string, url: string, status: number, body?: unknown): Promise<Draft> {
    const answer: Answer = await call(this.#server, method, url, body === undefined ? {} : { body });
    if (answer.status !== status) throw new Error(`${method} ${url}: ${answer.status} ${answer.text}`);
    return answer.json;
  }

  async #protobuf(method: string, url: string, status: number, body?: Draft, kind = this.#kind): Promise<Draft> {
    const mediaType = this.#dialect.protobufMediaType;
    const response = await this.#server.handler({
      method,
      url,
      headers: { accept: mediaType, 'content-type': mediaType },
      body: body === undefined ? Buffer.alloc(0) : this.#codec.encode(body, this.#kind, 'protobuf'),
      remoteAddress: '127.0.0.1',
      signal: new AbortController().signal,
    });
    const parts: Buffer[] = [];
    if (Buffer.isBuffer(response.body)) parts.push(response.body);
    else if (response.body !== undefined) for await (const part of response.body) parts.push(part);
    const bytes = Buffer.concat(parts);
    if (response.status !== status) throw new Error(`${method} ${url}: ${response.status} ${bytes.toString()}`);
    this.#t.equal(response.headers['content-type'], mediaType);
    return this.#codec.decode(bytes, { encoding: 'protobuf', expected: kind }).object as Draft;
  }

  #namesOf(list: Draft): string[] {
    return ((list['items'] ?? []) as Draft[]).map((item) => item.metadata.name);
  }
}

function collectionPath({ resource }: AnyCase, dialect: Dialect): string {
  const apiVersion = dialect.apiVersion(resource.group, resource.version);
  const prefix = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${prefix}${resource.namespaced ? '/namespaces/default' : ''}/${resource.resource}`;
}
