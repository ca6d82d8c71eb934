/**
 * Aggregated discovery: all groups, versions and resources in one document, which clients newer than 1.24 request first. The
 * document has the shape of `apidiscovery` v2 and v2beta1, which are equal.
 */
import { createHash } from 'node:crypto';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { parseAccept } from '#apimachinery/codec/negotiate.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { type ApiResourceDocument, type GroupVersions, resourceDocuments } from '#apiserver/discovery/resource-list.js';
import { hasEntity } from '#apiserver/http/etag.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import { deflatePart, GzipDocument, gzipDocumentResponse } from '#apiserver/representation/gzip-document.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';

export interface AggregatedForm {
  /** The requested group. */
  readonly group: string;
  readonly version: string;
}

const versions = new Set(['v2', 'v2beta1']);

/** The aggregated form, if the client accepts it before all others. */
export function aggregatedForm(context: Pick<RequestContext, 'request'>): AggregatedForm | undefined {
  for (const clause of parseAccept(context.request.headers['accept'] ?? '')) {
    if (clause.type !== 'application' && clause.type !== '*') continue;
    const { as: kind, g: group = '', v: version = '' } = clause.params;
    if (kind === undefined) return undefined;
    if (kind === 'APIGroupDiscoveryList' && group.startsWith('apidiscovery.') && versions.has(version)) {
      return { group, version };
    }
  }
  return undefined;
}

export interface AggregatedDiscoveryOptions {
  readonly dialect: Dialect;
  readonly resources: ResourceTable;
  readonly turns: Pick<TurnQueue, 'pause'>;
  /** True when the feature gate is on. */
  readonly gate: (name: string) => boolean;
}

interface CachedDocument {
  /** Generation of the resource table. */
  readonly generation: number;
  readonly document: Promise<TaggedDocument>;
}

interface TaggedDocument {
  readonly etag: string;
  readonly content: GzipDocument;
}

/** Shorter documents are sent uncompressed. */
const minGzipBytes = 128 * 1024;

/** Limit of documents: two versions, two roots, and the names of two dialects. */
const maxCached = 8;

/** The documents, each built on demand, in turns, and kept compressed until the resources change. */
export class AggregatedDiscovery {
  readonly #options: AggregatedDiscoveryOptions;
  /** Documents by form, which clients name, and by root. */
  readonly #documents = new LruCache<string, CachedDocument>({ limit: maxCached });

  constructor(options: AggregatedDiscoveryOptions) {
    this.#options = options;
  }

  /** `groups`: the root's current groups. */
  async answer(
    context: RequestContext,
    form: AggregatedForm,
    root: 'api' | 'apis',
    groups: () => readonly GroupVersions[],
  ): Promise<ApiResponse> {
    const { etag, content } = await this.#document(form, root, groups);
    const headers = { etag, vary: 'Accept-Encoding, Accept' };
    if (hasEntity(context.request, etag)) return { status: 304, headers, body: undefined };
    const type = `application/json;g=${form.group};v=${form.version};as=APIGroupDiscoveryList`;
    const gzipFrom = this.#options.gate('APIResponseCompression') ? minGzipBytes : Number.POSITIVE_INFINITY;
    return gzipDocumentResponse(context, content, { ...headers, 'content-type': type }, gzipFrom);
  }

  #document(form: AggregatedForm, root: string, groups: () => readonly GroupVersions[]): Promise<TaggedDocument> {
    const { generation } = this.#options.resources;
    const key = `${form.group} ${form.version} ${root}`;
    const cached = this.#documents.get(key);
    if (cached?.generation === generation) return cached.document;
    const document = this.#make(form, groups());
    this.#documents.set(key, { generation, document });
    document.catch(() => this.#documents.delete(key));
    return document;
  }

  async #make(form: AggregatedForm, groups: readonly GroupVersions[]): Promise<TaggedDocument> {
    const { turns } = this.#options;
    const apiVersion = JSON.stringify(`${form.group}/${form.version}`);
    const parts = [`{"kind":"APIGroupDiscoveryList","apiVersion":${apiVersion},"metadata":{},"items":[`];
    for (const [i, group] of groups.entries()) {
      await turns.pause();
      parts.push(`${i === 0 ? '' : ','}${JSON.stringify(this.#group(group))}`);
    }
    parts.push(']}\n');
    const bytes = parts.map((part) => Buffer.from(part));
    const hash = createHash('sha256');
    for (const part of bytes) hash.update(part);
    return {
      etag: `"${hash.digest('hex').toUpperCase()}"`,
      content: await GzipDocument.of([await deflatePart(bytes)], turns),
    };
  }

  #group({ name, versions: served }: GroupVersions): object {
    const { resources, dialect } = this.#options;
    return {
      metadata: { name, creationTimestamp: null },
      versions: served.map((version) => ({
        version,
        resources: resourcesOf(resourceDocuments(resources, name, version, { dialect, hashes: false }), name, version),
        freshness: 'Current',
      })),
    };
  }
}

function resourcesOf(documents: readonly ApiResourceDocument[], group: string, version: string): object[] {
  const own: ApiResourceDocument[] = [];
  const subresources = new Map<string, ApiResourceDocument[]>();
  for (const document of documents) {
    const [resource = '', subresource] = document.name.split('/');
    if (subresource === undefined) own.push(document);
    else subresources.set(resource, [...(subresources.get(resource) ?? []), document]);
  }
  return own.map((document) => {
    const below = subresources.get(document.name) ?? [];
    return {
      resource: document.name,
      responseKind: { group, version, kind: document.kind },
      scope: document.namespaced ? 'Namespaced' : 'Cluster',
      singularResource: document.singularName || document.kind.toLowerCase(),
      verbs: document.verbs,
      ...(document.shortNames === undefined ? {} : { shortNames: document.shortNames }),
      ...(document.categories === undefined ? {} : { categories: document.categories }),
      ...(below.length === 0
        ? {}
        : {
            subresources: below.map((sub) => ({
              subresource: sub.name.slice(document.name.length + 1),
              responseKind: { group: sub.group ?? group, version: sub.version ?? version, kind: sub.kind },
              verbs: sub.verbs,
            })),
          }),
    };
  });
}
