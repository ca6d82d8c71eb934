/**
 * Serves `/openapi/v2` and `/openapi/v3…`. Documents are assembled on request from fragments that are kept compressed: a new
 * or changed definition costs its own fragment, when it is next requested. Source: 1.24,
 * k8s.io/kube-openapi/pkg/{handler,handler3}/handler.go.
 */

import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Clock } from '#apimachinery/clock.js';
import { parseAccept } from '#apimachinery/codec/negotiate.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { notAcceptable, pathNotFound } from '#apimachinery/errors/status.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import { hasEntity } from '#apiserver/http/etag.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { ForeignDocuments, ForeignVersion } from '#apiserver/openapi/aggregated-documents.js';
import { assembled, type DocumentContents } from '#apiserver/openapi/document-assembly.js';
import { Digests } from '#apiserver/openapi/document-digests.js';
import { type DocumentFormat, formats } from '#apiserver/openapi/document-formats.js';
import { Fragments } from '#apiserver/openapi/document-fragments.js';
import { plainDocuments } from '#apiserver/openapi/plain-documents.js';
import { type OpenApiVersion, openAPIEnumsGate } from '#apiserver/openapi/schemas.js';
import { applyGate, fieldValidationGate } from '#apiserver/registry/write-request.js';
import { deflatePart, GzipDocument, gzipDocumentResponse } from '#apiserver/representation/gzip-document.js';
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
  /** Paths that are not resources. */
  readonly paths?: Readonly<Record<string, unknown>>;
  /** Absent: no other servers. */
  readonly foreign?: ForeignDocuments | undefined;
}

/** The documents served at one time. */
interface Index {
  readonly resources: number;
  readonly foreign: number;
  readonly v2: DocumentContents;
  /** Contents by name: `api/v1`, `apis/apps/v1`. */
  readonly v3: ReadonlyMap<string, DocumentContents>;
  readonly others: ReadonlyMap<string, ForeignVersion>;
  /** Digests by name; empty for version 2. */
  readonly digests: Map<string, string>;
  /** Documents by format and name. */
  readonly documents: Map<string, Promise<GzipDocument>>;
}

/** Groups of servers that 1.24 runs in front of the server with the documents. */
const aggregated = ['apiregistration', 'metrics'] as const;

/** Feature gates that change the contents of documents. */
const contentGates = [openAPIEnumsGate, fieldValidationGate, applyGate];

/** Shorter documents are sent uncompressed, as in 1.24. */
const minGzipBytes = 1400;
const yearMs = 365 * 24 * 3600 * 1000;

export class OpenApi {
  readonly #options: OpenApiOptions;
  readonly #units: Fragments;
  readonly #digests: Digests;
  /** What else the documents depend on. */
  readonly #form: readonly string[];
  #index: Index | undefined;

  constructor(options: OpenApiOptions) {
    this.#options = options;
    this.#units = new Fragments(options);
    this.#digests = new Digests(options.scheme);
    this.#form = contentGates.map((name) => `${name} ${options.gate(name)}`);
  }

  /** Undefined for other paths. Throws 404 for group versions that are not served. */
  serve(context: RequestContext): Promise<ApiResponse> | undefined {
    const [root, version, ...rest] = context.info.segments;
    if (root !== 'openapi' || (version === 'v3' && !this.#options.gate('OpenAPIV3'))) return undefined;
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
    const requestedHash = context.info.query.get('hash');
    const digest = await this.#digest(index, name, contents);
    // Redirect old links to the current document.
    if (requestedHash !== null && requestedHash !== '' && requestedHash !== digest) {
      return { status: 301, headers: { location: linkOf(name, digest) }, body: undefined };
    }
    const response = await this.#document(context, index, name, contents, 3);
    // The root links each document by its digest, so the document at a link never changes.
    if (requestedHash === digest) {
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
    const document = await this.#assemble(index, name, contents, format);
    return gzipDocumentResponse(context, document, { ...headers, 'content-type': format.contentType }, minGzipBytes);
  }

  #assemble(index: Index, name: string, contents: DocumentContents, format: DocumentFormat): Promise<GzipDocument> {
    const key = `${format.name} ${name}`;
    let pending = index.documents.get(key);
    if (pending === undefined) {
      const { product: title, version } = this.#options.dialect;
      pending = assembled(this.#units, format, { title, version }, contents);
      index.documents.set(key, pending);
      pending.catch(() => index.documents.delete(key));
    }
    return pending;
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
    const row = await GzipDocument.of([await deflatePart([body])], this.#options.turns);
    return gzipDocumentResponse(context, row, plain, minGzipBytes);
  }

  async #link(index: Index, name: string): Promise<string> {
    const other = index.others.get(name);
    if (other !== undefined) return linkOf(name, other.hash);
    const contents = index.v3.get(name);
    return linkOf(name, contents === undefined ? '' : await this.#digest(index, name, contents));
  }

  async #digest({ digests }: Index, name: string, { builtIn, custom, foreign }: DocumentContents): Promise<string> {
    let cached = digests.get(name);
    if (cached === undefined) {
      const parts = [...this.#form, ...foreign.map(({ hash }) => hash)];
      cached = await this.#digests.document([...builtIn, ...custom], parts, this.#options.turns);
      digests.set(name, cached);
    }
    return cached;
  }

  /** Documents of paths that are not resources; groups of custom kinds and other servers have none, as in 1.24. */
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
    const cached = this.#index;
    if (cached?.resources === generations.resources && cached.foreign === generations.foreign) return cached;
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

/** Sorts resources alike in every server, with the versions of a definition adjacent, so that it is parsed once. */
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
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [resource]);
    else group.push(resource);
  }
  return new Map([...groups].map(([name, resources]) => [name, split(name, resources)]));
}

function linkOf(name: string, hash: string): string {
  return hash === '' ? `/openapi/v3/${name}` : `/openapi/v3/${name}?hash=${hash}`;
}

function negotiated(context: RequestContext, version: OpenApiVersion): DocumentFormat {
  const supported = formats[version];
  for (const clause of parseAccept(context.request.headers['accept'] ?? '*/*')) {
    const media = `${clause.type}/${clause.subtype}`;
    const match = supported.find(({ accepted }) => accepted.includes(media));
    if (match !== undefined) return match;
  }
  throw notAcceptable(supported.flatMap(({ accepted: [first = ''] }) => [first]));
}
