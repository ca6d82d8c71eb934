/**
 * Serves `/openapi/v2` and `/openapi/v3…`. Documents are put together when they are asked for, from units that are kept
 * compressed (`units.ts`): a definition that comes or changes costs its own unit, and only when somebody asks again.
 * Source: 1.24, k8s.io/kube-openapi/pkg/{handler,handler3}/handler.go.
 */

import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Clock } from '#apimachinery/clock.js';
import { parseAccept } from '#apimachinery/codec/negotiate.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { notAcceptable, pathNotFound } from '#apimachinery/errors/status.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import type { RequestContext } from '#apiserver/http/context.js';
import { hasEntity } from '#apiserver/http/etag.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { ForeignDocuments, ForeignVersion } from '#apiserver/openapi/aggregated-documents.js';
import { assembled, type DocumentContents } from '#apiserver/openapi/assembly.js';
import { Digests } from '#apiserver/openapi/document-digests.js';
import { type DocumentFormat, formats } from '#apiserver/openapi/format.js';
import { plainDocuments } from '#apiserver/openapi/plain-documents.js';
import type { OpenApiVersion } from '#apiserver/openapi/schemas.js';
import { Units } from '#apiserver/openapi/units.js';
import { PackedRow, pack, packedAnswer } from '#apiserver/representation/gzip-document.js';
import { acceptsGzip } from '#apiserver/representation/respond.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

export interface OpenApiOptions {
  readonly scheme: Scheme;
  readonly dialect: Dialect;
  readonly resources: ResourceTable;
  readonly turns: Pick<TurnQueue, 'pause'>;
  readonly clock: Pick<Clock, 'now'>;
  /** True when the feature gate is on. */
  readonly gate: (name: string) => boolean;
  /** Paths of other rooms that are no resources. */
  readonly paths?: Readonly<Record<string, unknown>>;
  /** Absent: there are no other servers. */
  readonly foreign?: ForeignDocuments | undefined;
}

/** What is served at one time. */
interface Index {
  readonly resources: number;
  readonly foreign: number;
  readonly v2: DocumentContents;
  /** By name: `api/v1`, `apis/apps/v1`. */
  readonly v3: ReadonlyMap<string, DocumentContents>;
  readonly others: ReadonlyMap<string, ForeignVersion>;
  /** By name; of version 2 with an empty one. */
  readonly digests: Map<string, string>;
  /** By format and name. */
  readonly documents: Map<string, Promise<PackedRow>>;
}

/** Groups of servers that 1.24 puts in front of the one that has the documents. */
const aggregated = ['apiregistration', 'metrics'] as const;

/** Shorter ones are sent as they are, as from 1.24. */
const minGzipBytes = 1400;
const yearMs = 365 * 24 * 3600 * 1000;

export class OpenApi {
  readonly #options: OpenApiOptions;
  readonly #units: Units;
  readonly #digests: Digests;
  #index: Index | undefined;

  constructor(options: OpenApiOptions) {
    this.#options = options;
    this.#units = new Units(options);
    this.#digests = new Digests(options.scheme);
  }

  /** Undefined for other paths. Throws 404 for group versions that are not served. */
  serve(context: RequestContext): Promise<ApiResponse> | undefined {
    const [root, version, ...rest] = context.info.segments;
    if (root !== 'openapi') return undefined;
    const index = this.#current();
    if (version === 'v2' && rest.length === 0) return this.#document(context, index, '', index.v2, 2);
    if (version !== 'v3') throw pathNotFound();
    if (rest.length === 0) return this.#root(context, index);
    const name = rest.join('/');
    const other = index.others.get(name);
    if (other !== undefined) return other.serve(context);
    const contents = index.v3.get(name);
    if (contents === undefined) throw pathNotFound();
    return this.#version(context, index, name, contents);
  }

  async #version(
    context: RequestContext,
    index: Index,
    name: string,
    contents: DocumentContents,
  ): Promise<ApiResponse> {
    await this.#digests.ready(this.#options.turns);
    const asked = context.info.query.get('hash');
    const digest = await this.#digest(index, name, contents);
    // Whoever has an old link is sent to what there is now.
    if (asked !== null && asked !== '' && asked !== digest) {
      return { status: 301, headers: { location: linkOf(name, digest) }, body: undefined };
    }
    const response = await this.#document(context, index, name, contents, 3);
    // The root names each document by its digest, so that one with its digest never changes.
    if (asked === digest) {
      response.headers['cache-control'] = 'public, immutable';
      response.headers['expires'] = new Date(this.#options.clock.now() + yearMs).toUTCString();
    }
    return response;
  }

  async #document(
    context: RequestContext,
    index: Index,
    name: string,
    contents: DocumentContents,
    version: OpenApiVersion,
  ): Promise<ApiResponse> {
    const format = negotiated(context, version);
    await this.#digests.ready(this.#options.turns);
    const etag = `"${this.#digests.form(await this.#digest(index, name, contents), format.name)}"`;
    const headers = { etag, vary: 'Accept-Encoding, Accept' };
    if (hasEntity(context.request, etag)) return { status: 304, headers, body: undefined };
    const row = await this.#made(index, name, contents, format);
    return packedAnswer(context, row, { ...headers, 'content-type': format.contentType }, minGzipBytes);
  }

  #made(index: Index, name: string, contents: DocumentContents, format: DocumentFormat): Promise<PackedRow> {
    const key = `${format.name} ${name}`;
    let made = index.documents.get(key);
    if (made === undefined) {
      const { product: title, version } = this.#options.dialect;
      made = assembled(this.#units, format, { title, version }, contents);
      index.documents.set(key, made);
      made.catch(() => index.documents.delete(key));
    }
    return made;
  }

  async #root(context: RequestContext, index: Index): Promise<ApiResponse> {
    await this.#digests.ready(this.#options.turns);
    const names = [...new Set([...index.v3.keys(), ...index.others.keys()])].sort();
    const links: [string, { readonly serverRelativeURL: string }][] = [];
    for (const name of names) links.push([name, { serverRelativeURL: await this.#link(index, name) }]);
    const body = Buffer.from(JSON.stringify({ paths: Object.fromEntries(links) }));
    const [json] = formats[3];
    const parts = links.map((link) => JSON.stringify(link));
    const etag = `"${await this.#digests.document([], parts, this.#options.turns)}"`;
    const headers = { etag, vary: 'Accept-Encoding, Accept' };
    if (hasEntity(context.request, etag)) return { status: 304, headers, body: undefined };
    const plain = { ...headers, 'content-type': json.contentType };
    if (body.length < minGzipBytes || !acceptsGzip(context.request)) return { status: 200, headers: plain, body };
    const row = await PackedRow.of([await pack([body])], this.#options.turns);
    return packedAnswer(context, row, plain, minGzipBytes);
  }

  async #link(index: Index, name: string): Promise<string> {
    const other = index.others.get(name);
    if (other !== undefined) return linkOf(name, other.hash);
    const contents = index.v3.get(name);
    return linkOf(name, contents === undefined ? '' : await this.#digest(index, name, contents));
  }

  async #digest({ digests }: Index, name: string, { builtIn, custom, foreign }: DocumentContents): Promise<string> {
    let known = digests.get(name);
    if (known === undefined) {
      const parts = foreign.map(({ hash }) => hash);
      known = await this.#digests.document([...builtIn, ...custom], parts, this.#options.turns);
      digests.set(name, known);
    }
    return known;
  }

  /** Documents of what is no resource; groups of custom kinds and of other servers have none, as in 1.24. */
  #plain(all: readonly ServedResource[]): [string, DocumentContents][] {
    const { dialect, scheme, paths = {} } = this.#options;
    const others = new Set(['', ...aggregated.map((key) => dialect.groupName(key))]);
    const names = new Set(all.filter((resource) => !isCustom(resource)).map(({ group }) => group));
    const groups = [...names].filter((group) => !others.has(group));
    const parts = plainDocuments({ scheme, dialect, groups, paths: new Set(Object.keys(paths)) });
    return [...parts].map(([name, part]) => [name, { key: name, builtIn: [], custom: [], foreign: [part] }]);
  }

  #current(): Index {
    const { resources, foreign } = this.#options;
    const generations = { resources: resources.generation, foreign: foreign?.generation ?? 0 };
    const known = this.#index;
    if (known?.resources === generations.resources && known.foreign === generations.foreign) return known;
    const others = new Map([...(foreign?.versions() ?? [])].map((version) => [version.name, version] as const));
    const all = inOrder(resources.all());
    const index: Index = {
      ...generations,
      v2: { ...split('all', all), foreign: [...(foreign?.parts() ?? [])] },
      v3: new Map([...this.#plain(all), ...groupVersions(all)]),
      others,
      digests: new Map(),
      documents: new Map(),
    };
    this.#index = index;
    return index;
  }
}

/** Versions of a definition one after the other, so that it is parsed once; the same in every server. */
function inOrder(resources: readonly ServedResource[]): ServedResource[] {
  const keyed = resources.map((resource) => {
    const { declaration, group } = resource;
    return [`${group} ${declaration.resource} ${declaration.version}`, resource] as const;
  });
  return keyed.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, resource]) => resource);
}

const isCustom = ({ edition }: ServedResource): boolean => edition !== undefined;

function split(key: string, resources: readonly ServedResource[]): DocumentContents {
  const builtIn = resources.filter((resource) => !isCustom(resource));
  return { key, builtIn, custom: resources.filter(isCustom), foreign: [] };
}

function groupVersions(all: readonly ServedResource[]): Map<string, DocumentContents> {
  const groups = new Map<string, ServedResource[]>();
  for (const resource of all) {
    const { version } = resource.declaration;
    const name = resource.group === '' ? `api/${version}` : `apis/${resource.group}/${version}`;
    const known = groups.get(name);
    if (known === undefined) groups.set(name, [resource]);
    else known.push(resource);
  }
  return new Map([...groups].map(([name, resources]) => [name, split(name, resources)]));
}

function linkOf(name: string, hash: string): string {
  return hash === '' ? `/openapi/v3/${name}` : `/openapi/v3/${name}?hash=${hash}`;
}

function negotiated(context: RequestContext, version: OpenApiVersion): DocumentFormat {
  const known = formats[version];
  for (const clause of parseAccept(context.request.headers['accept'] ?? '*/*')) {
    const media = `${clause.type}/${clause.subtype}`;
    const found = known.find(({ accepted }) => accepted.includes(media));
    if (found !== undefined) return found;
  }
  throw notAcceptable(known.flatMap(({ accepted: [first = ''] }) => [first]));
}
