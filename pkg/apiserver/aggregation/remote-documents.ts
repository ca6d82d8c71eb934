/**
 * Merges OpenAPI documents of extension API servers into this server's own. Documents are fetched when a server is added and every
 * minute. If a document is invalid, too large or late, the previous one stays, and retries are delayed more and more.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '#apimachinery/clock.js';
import { pathNotFound } from '#apimachinery/errors/status.js';
import type { ApiServices } from '#apiserver/aggregation/api-services.js';
import type { DocumentClient, FetchedDocument } from '#apiserver/aggregation/document-client.js';
import { type ForeignDocument, foreignDocument } from '#apiserver/aggregation/foreign-document.js';
import type { AggregationProxy } from '#apiserver/aggregation/proxy.js';
import { type RemoteService, rootOf } from '#apiserver/aggregation/remote-service.js';
import type { ForeignDocuments, ForeignPart, ForeignVersion } from '#apiserver/openapi/aggregated-documents.js';
import { isKindsExtension, withRefs } from '#apiserver/openapi/aggregated-documents.js';
import type { PathDocument, SchemaDocument } from '#apiserver/openapi/document-types.js';
import type { Outcome } from '#client/workqueue/outcome.js';
import { WorkQueue } from '#client/workqueue/queue.js';
import { ItemExponentialRateLimiter } from '#client/workqueue/rate-limiter.js';
import { runWorkers } from '#client/workqueue/workers.js';
import type { Logger } from '#daemon/log/logger.js';

export interface RemoteDocumentsOptions {
  readonly apiServices: ApiServices;
  readonly client: Pick<DocumentClient, 'fetch'>;
  readonly proxy: Pick<AggregationProxy, 'serve'>;
  readonly clock: Clock;
  readonly log: Logger;
}

interface CachedDocuments {
  readonly v2: FetchedDocument | undefined;
  readonly document: ForeignDocument | undefined;
  /** The index of OpenAPI 3 documents. */
  readonly v3: FetchedDocument | undefined;
  /** Hash of the OpenAPI 3 document, from its link; undefined: there is none. */
  readonly hash: string | undefined;
}

const noDocuments: CachedDocuments = { v2: undefined, document: undefined, v3: undefined, hash: undefined };
/** Parsing a larger document would block the event loop for too long. */
const maxDocumentBytes = 4 * 1024 * 1024;
const maxListBytes = 256 * 1024;
/** Documents are large, so fetch one at a time. */
const concurrency = 1;
const pollMs = 60_000;
const firstRetryMs = 1000;
const maxRetryMs = 5 * 60_000;

export class RemoteDocuments implements ForeignDocuments {
  readonly #options: RemoteDocumentsOptions;
  readonly #queue: WorkQueue;
  /** By the names of APIServices. */
  readonly #documents = new Map<string, CachedDocuments>();
  /** APIServices that are fetched periodically. */
  readonly #polled = new Set<string>();
  #generation = 0;
  #merged: ForeignPart | undefined;

  constructor(options: RemoteDocumentsOptions) {
    this.#options = options;
    const rateLimiter = new ItemExponentialRateLimiter<string>(firstRetryMs, maxRetryMs);
    this.#queue = new WorkQueue({ clock: options.clock, rateLimiter });
  }

  get generation(): number {
    return this.#generation;
  }

  *versions(): Iterable<ForeignVersion> {
    const { apiServices, proxy } = this.#options;
    for (const remote of apiServices.remotes.values()) {
      const hash = this.#documents.get(remote.name)?.hash;
      if (hash === undefined) continue;
      const name = rootOf(remote).slice(1);
      const serve: ForeignVersion['serve'] = async (context) => {
        // The lookup ignored empty path segments; the extension server may not.
        if (context.info.path !== `/openapi/v3/${name}`) throw pathNotFound();
        return proxy.serve(context, apiServices.remotes.get(remote.name) ?? remote);
      };
      yield { name, hash, serve };
    }
  }

  /** The parts of all servers, merged into one in which names are unique. */
  *parts(): Iterable<ForeignPart> {
    this.#merged ??= this.#merge();
    const part = this.#merged;
    if (Object.keys(part.paths).length > 0) yield part;
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { apiServices, log } = this.#options;
    apiServices.listen((name) => this.#changed(name));
    for (const { name } of apiServices.remotes.values()) this.#changed(name);
    const reconcile = (name: string, ending: AbortSignal) => this.#sync(name, ending);
    await runWorkers({ queue: this.#queue, concurrency, reconcile, log }, signal);
  }

  #changed(name: string): void {
    const remote = this.#options.apiServices.remotes.get(name);
    if (remote === undefined) {
      this.#polled.delete(name);
      if (this.#documents.delete(name)) this.#invalidate();
    } else if (remote.available && !this.#polled.has(name)) {
      this.#polled.add(name);
      this.#queue.add(name);
    }
  }

  async #sync(name: string, signal: AbortSignal): Promise<Outcome> {
    const { apiServices } = this.#options;
    const remote = apiServices.remotes.get(name);
    if (remote?.available !== true) {
      // The document is queued again when its server becomes available.
      this.#polled.delete(name);
      return { kind: 'done' };
    }
    const before = this.#documents.get(name) ?? noDocuments;
    let error: unknown;
    const failed = (why: unknown) => {
      error = why;
    };
    const v2 = await this.#v2(remote, before, signal).catch(failed);
    const v3 = await this.#v3(remote, before, signal).catch(failed);
    if (signal.aborted || apiServices.remotes.get(name) === undefined) return { kind: 'done' };
    const next = { ...before, ...v2, ...v3 };
    this.#documents.set(name, next);
    if (next.document !== before.document || next.hash !== before.hash) this.#invalidate();
    if (error !== undefined) return { kind: 'retry', error };
    return { kind: 'requeueAfter', ms: pollMs };
  }

  async #v2(
    remote: RemoteService,
    { v2: cached }: CachedDocuments,
    signal: AbortSignal,
  ): Promise<Partial<CachedDocuments>> {
    const v2 = await this.#options.client.fetch(remote, '/openapi/v2', { cached, maxBytes: maxDocumentBytes, signal });
    if (v2 === cached) return {};
    if (v2 === undefined) return { v2, document: undefined };
    const document = foreignDocument(v2.value, remote);
    return { v2: { ...v2, value: undefined }, document };
  }

  async #v3(
    remote: RemoteService,
    { v3: cached }: CachedDocuments,
    signal: AbortSignal,
  ): Promise<Partial<CachedDocuments>> {
    const v3 = await this.#options.client.fetch(remote, '/openapi/v3', { cached, maxBytes: maxListBytes, signal });
    if (v3 === cached) return {};
    return { v3: v3 && { ...v3, value: undefined }, hash: v3 && hashIn(v3.value, rootOf(remote).slice(1)) };
  }

  #invalidate(): void {
    this.#generation += 1;
    this.#merged = undefined;
  }

  #merge(): ForeignPart {
    const all = [...this.#documents].sort(([a], [b]) => (a < b ? -1 : 1));
    const documents = all.flatMap(([, { document }]) => (document === undefined ? [] : [document]));
    const merged = mergeDocuments({ paths: {}, definitions: {} }, documents);
    return { ...merged, hash: all.map(([name, { v2 }]) => `${name} ${v2?.hash ?? ''}`).join(', ') };
  }
}

/** The hash in the link to the version's document; empty if the link has none. */
function hashIn(value: unknown, version: string): string | undefined {
  const paths = (value as { paths?: Record<string, { serverRelativeURL?: unknown } | undefined> } | null)?.paths;
  const link = paths !== undefined && Object.hasOwn(paths, version) ? paths[version] : undefined;
  if (link === undefined) return undefined;
  const { serverRelativeURL: url } = link;
  return typeof url === 'string' ? (/[?&]hash=([A-Za-z0-9]{1,128})$/.exec(url)?.[1] ?? '') : '';
}

interface MergedDocument {
  readonly paths: Record<string, PathDocument>;
  readonly definitions: Record<string, SchemaDocument>;
}

/**
 * Merges documents like 1.24: existing paths stay, and a different definition of the same name is renamed (`NAME_v2`). Pure.
 */
export function mergeDocuments<D extends MergedDocument>(own: D, foreign: readonly ForeignDocument[]): D {
  if (foreign.length === 0) return own;
  const paths = { ...own.paths };
  const definitions = { ...own.definitions };
  for (const document of foreign) {
    const renamed = new Map<string, string>();
    const added: [name: string, schema: SchemaDocument][] = [];
    for (const [name, schema] of Object.entries(document.definitions)) {
      let free = name;
      for (let i = 2; ; i++) {
        const existing = Object.hasOwn(definitions, free) ? definitions[free] : undefined;
        if (existing === undefined) {
          added.push([free, schema]);
          // Reserve the name; its references are renamed below.
          definitions[free] = schema;
          break;
        }
        if (isDeepStrictEqual(withoutKinds(existing), withoutKinds(schema))) {
          definitions[free] = withKindsOf(existing, schema);
          break;
        }
        free = `${name}_v${i}`;
      }
      if (free !== name) renamed.set(name, free);
    }
    for (const [name, schema] of added) definitions[name] = withRefs(schema, renamed);
    for (const [path, item] of Object.entries(document.paths)) paths[path] ??= withRefs(item, renamed);
  }
  return { ...own, paths, definitions };
}

function withoutKinds(schema: SchemaDocument): object {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => !isKindsExtension(name)));
}

/** The definition with the kinds of both. */
function withKindsOf(definition: SchemaDocument, other: SchemaDocument): SchemaDocument {
  const merged: Record<string, unknown> = { ...definition };
  for (const [name, value] of Object.entries(other)) {
    if (!isKindsExtension(name) || !Array.isArray(value)) continue;
    const before = (merged[name] ?? []) as readonly unknown[];
    const more = value.filter((each) => !before.some((one) => isDeepStrictEqual(one, each)));
    if (more.length > 0) merged[name] = [...before, ...more];
  }
  return merged;
}
