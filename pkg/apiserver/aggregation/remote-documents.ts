/**
 * The OpenAPI documents of extension API servers, as they are in this server's own: asked for when a server comes and once a
 * minute from then on. One that lies, hangs or has too much to say keeps what it said before, and is asked less and less often.
 */
import type { Clock } from '#apimachinery/clock.js';
import { pathNotFound } from '#apimachinery/errors/status.js';
import type { ApiServices } from '#apiserver/aggregation/api-services.js';
import type { DocumentClient, Fetched } from '#apiserver/aggregation/document-client.js';
import { type ForeignDocument, foreignDocument } from '#apiserver/aggregation/foreign-document.js';
import { mergeDocuments } from '#apiserver/aggregation/merge-documents.js';
import type { AggregationProxy } from '#apiserver/aggregation/proxy.js';
import { type RemoteService, rootOf } from '#apiserver/aggregation/remote-service.js';
import type { ForeignDocuments, ForeignPart, ForeignVersion } from '#apiserver/openapi/aggregated-documents.js';
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

interface Known {
  readonly v2: Fetched | undefined;
  readonly document: ForeignDocument | undefined;
  /** The list of its documents of version 3. */
  readonly v3: Fetched | undefined;
  /** Of its document of version 3, from the link to it; undefined: it has none. */
  readonly hash: string | undefined;
}

const nothing: Known = { v2: undefined, document: undefined, v3: undefined, hash: undefined };
/** Parsing more at once would hold up everybody else. */
const maxDocumentBytes = 4 * 1024 * 1024;
const maxListBytes = 256 * 1024;
/** One after the other: what is parsed is large. */
const concurrency = 1;
const pollMs = 60_000;
const firstRetryMs = 1000;
const maxRetryMs = 5 * 60_000;

export class RemoteDocuments implements ForeignDocuments {
  readonly #options: RemoteDocumentsOptions;
  readonly #queue: WorkQueue;
  /** By the names of APIServices. */
  readonly #known = new Map<string, Known>();
  /** Those that are asked again and again. */
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
      const hash = this.#known.get(remote.name)?.hash;
      if (hash === undefined) continue;
      // As it is when it is asked for.
      const name = rootOf(remote).slice(1);
      const serve: ForeignVersion['serve'] = async (context) => {
        // What was looked up is the path without what is empty in it; only that is known over there.
        if (context.info.path !== `/openapi/v3/${name}`) throw pathNotFound();
        return proxy.serve(context, apiServices.remotes.get(remote.name) ?? remote);
      };
      yield { name, hash, serve };
    }
  }

  /** One of all servers: a name means the same in all of it. */
  *parts(): Iterable<ForeignPart> {
    this.#merged ??= this.#merge();
    const part = this.#merged;
    if (Object.keys(part.paths).length > 0) yield part;
  }

  /** Until the signal aborts. */
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
      if (this.#known.delete(name)) this.#tell();
    } else if (remote.available && !this.#polled.has(name)) {
      this.#polled.add(name);
      this.#queue.add(name);
    }
  }

  async #sync(name: string, signal: AbortSignal): Promise<Outcome> {
    const { apiServices } = this.#options;
    const remote = apiServices.remotes.get(name);
    if (remote?.available !== true) {
      // It is heard of again when it is there.
      this.#polled.delete(name);
      return { kind: 'done' };
    }
    const before = this.#known.get(name) ?? nothing;
    let error: unknown;
    const failed = (why: unknown) => {
      error = why;
    };
    const v2 = await this.#v2(remote, before, signal).catch(failed);
    const v3 = await this.#v3(remote, before, signal).catch(failed);
    if (signal.aborted || apiServices.remotes.get(name) === undefined) return { kind: 'done' };
    const next = { ...before, ...v2, ...v3 };
    this.#known.set(name, next);
    if (next.document !== before.document || next.hash !== before.hash) this.#tell();
    if (error !== undefined) return { kind: 'retry', error };
    return { kind: 'requeueAfter', ms: pollMs };
  }

  async #v2(remote: RemoteService, { v2: known }: Known, signal: AbortSignal): Promise<Partial<Known>> {
    const v2 = await this.#options.client.fetch(remote, '/openapi/v2', { known, maxBytes: maxDocumentBytes, signal });
    if (v2 === known) return {};
    if (v2 === undefined) return { v2, document: undefined };
    const document = foreignDocument(v2.value, remote);
    return { v2: { ...v2, value: undefined }, document };
  }

  async #v3(remote: RemoteService, { v3: known }: Known, signal: AbortSignal): Promise<Partial<Known>> {
    const v3 = await this.#options.client.fetch(remote, '/openapi/v3', { known, maxBytes: maxListBytes, signal });
    if (v3 === known) return {};
    return { v3: v3 && { ...v3, value: undefined }, hash: v3 && hashIn(v3.value, rootOf(remote).slice(1)) };
  }

  #tell(): void {
    this.#generation += 1;
    this.#merged = undefined;
  }

  #merge(): ForeignPart {
    const all = [...this.#known].sort(([a], [b]) => (a < b ? -1 : 1));
    const documents = all.flatMap(([, { document }]) => (document === undefined ? [] : [document]));
    const merged = mergeDocuments({ paths: {}, definitions: {} }, documents);
    return { ...merged, hash: all.map(([name, { v2 }]) => `${name} ${v2?.hash ?? ''}`).join(', ') };
  }
}

/** Of the link to the document of that version; empty where it says nothing that could be one. */
function hashIn(value: unknown, version: string): string | undefined {
  const paths = (value as { paths?: Record<string, { serverRelativeURL?: unknown } | undefined> } | null)?.paths;
  const link = paths !== undefined && Object.hasOwn(paths, version) ? paths[version] : undefined;
  if (link === undefined) return undefined;
  const { serverRelativeURL: url } = link;
  return typeof url === 'string' ? (/[?&]hash=([A-Za-z0-9]{1,128})$/.exec(url)?.[1] ?? '') : '';
}
