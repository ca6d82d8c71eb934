/**
 * One collection, listed page by page and then watched for as long as it has users. It starts over when the server no longer
 * has the history, and waits longer after each failure in a row.
 */
import type { Clock } from '#apimachinery/clock.js';
import { type Requests, withQuery } from '#dashboard/live/requests.js';
import type { Liveness, SourceQuery } from '#dashboard/model/messages.js';
import { RequestError, type Trouble, troubleFrom } from '#dashboard/model/trouble.js';

/** Holds what a source reads: rows of a table, or objects. */
export interface Holder {
  /** Media type of lists and watches. */
  readonly accept: string;
  /** A new list begins; what it does not contain is gone at its end. */
  begin(): void;
  page(document: unknown): void;
  end(): void;
  event(type: string, object: unknown): void;
}

export interface SourceOptions {
  readonly requests: Requests;
  readonly clock: Clock;
  readonly random: () => number;
  /** Something changed: objects, liveness or trouble. */
  readonly onChange: () => void;
}

interface ListDocument {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
}

interface WatchDocument {
  readonly type: string;
  readonly object: {
    readonly metadata?: { readonly resourceVersion?: string };
    readonly code?: number;
    readonly message?: string;
    readonly rows?: readonly { readonly object?: { readonly metadata?: { readonly resourceVersion?: string } } }[];
  };
}

/** Rows of the first page, so that something is shown soon, and of those after it. */
const firstPage = 200;
const nextPages = 1000;
const shortestPauseMs = 1000;
const longestPauseMs = 30_000;
/** Refused lists are tried again this often, because rights change. */
const refusedPauseMs = 60_000;
/** Collections that cannot be watched are read this often: the resolution of their metrics. */
const unwatchedMs = 15_000;

export class Source {
  liveness: Liveness = 'loading';
  trouble: Trouble | undefined;
  /** The user may not read all namespaces: these are the objects of those that the user may read. */
  isPartial = false;
  readonly #query: SourceQuery;
  readonly #holder: Holder;
  readonly #options: SourceOptions;
  readonly #stop = new AbortController();
  /** Where a watch goes on; empty: a list is needed. */
  #version = '';
  #failures = 0;

  constructor(query: SourceQuery, holder: Holder, options: SourceOptions) {
    this.#query = query;
    this.#holder = holder;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { clock, onChange } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        if (this.#version === '') await this.#list();
        if (this.#query.isUnwatched === true) {
          this.#version = '';
          await clock.sleep(unwatchedMs, signal);
          continue;
        }
        // One that ended without a word would be opened again at once, for ever.
        if (!(await this.#watch())) await this.#pause();
      } catch (error) {
        if (signal.aborted) return;
        const trouble = troubleFrom(error);
        if (trouble.code === 410) {
          this.#version = '';
          // History that is gone again after the list: the server needs time.
          if (this.#failures > 0) await this.#pause();
          else this.#failures = 1;
          continue;
        }
        if (isForbidden(error) && this.#version === '') this.#clear();
        this.trouble = trouble;
        this.liveness = this.#version === '' ? 'loading' : 'reconnecting';
        onChange();
        const isRefused = trouble.code >= 400 && trouble.code < 500 && trouble.code !== 429;
        if (isRefused) await clock.sleep(refusedPauseMs, signal);
        else await this.#pause();
        if (isRefused) this.#version = '';
      }
    }
  }

  close(): void {
    this.#stop.abort();
  }

  /** Longer after each failure in a row. */
  async #pause(): Promise<void> {
    const { clock, random } = this.#options;
    this.#failures++;
    const pauseMs = Math.min(longestPauseMs, shortestPauseMs * 2 ** (this.#failures - 1));
    await clock.sleep(pauseMs * (0.5 + random()), this.#stop.signal);
  }

  /** What the user may no longer read is no longer shown. */
  #clear(): void {
    this.#holder.begin();
    this.#holder.end();
  }

  /** Users without the right in all namespaces get the objects of those in which they have it, from servers that can tell. */
  async #list(): Promise<void> {
    try {
      await this.#listPages(false);
    } catch (error) {
      if (!isForbidden(error) || !spansNamespaces(this.#query.path)) throw error;
      await this.#listPages(true);
    }
  }

  async #listPages(isPartial: boolean): Promise<void> {
    const { requests, onChange } = this.#options;
    const { path, labelSelector, fieldSelector } = this.#query;
    const { signal } = this.#stop;
    this.#holder.begin();
    let next: string | undefined;
    let version = '';
    do {
      const limit = String(next === undefined ? firstPage : nextPages);
      const url = withQuery(path, {
        ...{ labelSelector, fieldSelector, limit, continue: next },
        ...visible(isPartial),
      });
      const document: ListDocument = await requests.json(url, { accept: this.#holder.accept, signal });
      this.#holder.page(document);
      version = document.metadata?.resourceVersion ?? '';
      next = document.metadata?.continue;
      if (next === '') next = undefined;
      this.trouble = undefined;
      this.isPartial = isPartial;
      onChange();
    } while (next !== undefined);
    this.#holder.end();
    this.#version = version === '' ? '0' : version;
    this.liveness = 'live';
    onChange();
  }

  /** False if it ended without a message. */
  async #watch(): Promise<boolean> {
    const { requests, onChange } = this.#options;
    const { path, labelSelector, fieldSelector } = this.#query;
    const url = withQuery(path, {
      ...{ labelSelector, fieldSelector, watch: '1', resourceVersion: this.#version, allowWatchBookmarks: 'true' },
      ...visible(this.isPartial),
    });
    let hasSpoken = false;
    for await (const line of requests.lines(url, { accept: this.#holder.accept, signal: this.#stop.signal })) {
      if (line === '') continue;
      const { type, object } = JSON.parse(line) as WatchDocument;
      if (type === 'ERROR') throw new RequestError(object.code ?? 500, object.message ?? 'the watch failed');
      hasSpoken = true;
      this.#failures = 0;
      const version = object.metadata?.resourceVersion ?? object.rows?.[0]?.object?.metadata?.resourceVersion;
      if (version !== undefined && version !== '') this.#version = version;
      if (type !== 'BOOKMARK') this.#holder.event(type, object);
      if (this.liveness !== 'live' || this.trouble !== undefined) {
        this.liveness = 'live';
        this.trouble = undefined;
      }
      onChange();
    }
    return hasSpoken;
  }
}

/** See docs/access.md; other servers of release 1.24 ignore it, and refuse again. */
function visible(isPartial: boolean): Readonly<Record<string, string>> {
  return isPartial ? { visible: 'true' } : {};
}

function isForbidden(error: unknown): boolean {
  return error instanceof RequestError && error.code === 403;
}

/** A collection of all namespaces, or of something that is in none. */
function spansNamespaces(path: string): boolean {
  return !/\/namespaces\/[^/]+\//.test(path);
}
