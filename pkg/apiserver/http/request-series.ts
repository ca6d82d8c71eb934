/**
 * Series that every request updates. They are plain numbers, converted to prom-client's form when they are read: a label
 * lookup per request would cost more than serving a cached object.
 */
import type { Registry } from 'prom-client';
import type { ApiRequest } from '#apiserver/http/exchange.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';
import { exponentialBuckets } from '#daemon/metrics/metric.js';
import { HistogramSeries, registerMetric, type SeriesValue } from '#daemon/metrics/plain-series.js';

/** The labels of a request's series, as release 1.24 reports them. */
export const placeLabels = ['verb', 'group', 'version', 'resource', 'subresource', 'scope'] as const;
export type Place = Readonly<Record<(typeof placeLabels)[number], string>>;
/** The labels that identify a resource. */
export type PlaceOf = Pick<Place, 'group' | 'version' | 'resource'>;

const applyType = 'application/apply-patch+yaml';

/** The label for each verb: the HTTP method, except for reads. */
const reportedVerbs: ReadonlyMap<string, string> = new Map([
  ['get', 'GET'],
  ['list', 'LIST'],
  ['watch', 'WATCH'],
  ['create', 'POST'],
  ['update', 'PUT'],
  ['patch', 'PATCH'],
  ['delete', 'DELETE'],
  ['deletecollection', 'DELETE'],
]);

/** The label for requests of plain paths, by method. */
const plainVerbs: ReadonlyMap<string, string> = new Map([
  ['GET', 'GET'],
  ['HEAD', 'GET'],
  ['POST', 'POST'],
  ['PUT', 'PUT'],
  ['PATCH', 'PATCH'],
  ['DELETE', 'DELETE'],
]);

/** Plain paths with their own series. */
const healthPaths: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz']);

const otherVerb = 'other';

/** Labels of a plain path or an unserved resource: only the method, so that clients cannot create series. */
export function plainPlace(method: string, path: string | undefined): Place {
  const subresource = path !== undefined && healthPaths.has(path) ? path : '';
  return { verb: plainVerbs.get(method) ?? otherVerb, group: '', version: '', resource: '', subresource, scope: '' };
}

/** Labels of a request for a served resource. */
export function resourcePlace(request: Pick<ApiRequest, 'headers'>, info: RequestInfo): Place {
  const { group, version, resource, subresource } = info;
  return { verb: reportedVerb(request, info), group, version, resource, subresource, scope: scopeOf(info) };
}

/** A unique key for each `resourcePlace`, without creating it. */
export function placeKey(request: Pick<ApiRequest, 'headers'>, info: RequestInfo): string {
  const { group, version, resource, subresource } = info;
  return `${reportedVerb(request, info)} ${group}/${version}/${resource}/${subresource} ${scopeOf(info)}`;
}

function resourceKey({ group, version, resource }: PlaceOf): string {
  return `${group}/${version}/${resource}`;
}

/** Empty, `All`, or `invalid`. */
export function dryRunLabel({ query }: RequestInfo): string {
  if (query.size === 0 || !query.has('dryRun')) return '';
  return query.getAll('dryRun').every((value) => value === 'All') ? 'All' : 'invalid';
}

function reportedVerb({ headers }: Pick<ApiRequest, 'headers'>, { verb }: RequestInfo): string {
  if (verb === 'patch' && headers['content-type'] === applyType) return 'APPLY';
  return reportedVerbs.get(verb) ?? otherVerb;
}

function scopeOf({ name, namespace, verb }: RequestInfo): string {
  if (name !== '' || verb === 'create') return 'resource';
  return namespace === '' ? 'cluster' : 'namespace';
}

const component = 'apiserver';

const secondsBuckets = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];
/** From 1 kB to 1 GB. */
const sizeBuckets = exponentialBuckets(1000, 10, 7);

/** Counts and durations of requests with the same labels. */
export class RequestKind {
  readonly place: Place;
  readonly dryRun: string;
  readonly byCode = new Map<number, number>();
  readonly seconds = new HistogramSeries(secondsBuckets);
  /** Durations without the time spent in webhooks. */
  readonly ownSeconds = new HistogramSeries(secondsBuckets);
  /** Response sizes; only for reads. */
  sizes: HistogramSeries | undefined;
  /** Number of requests by this server's own client. */
  own = 0;

  constructor(place: Place, dryRun: string) {
    this.place = place;
    this.dryRun = dryRun;
  }

  add(code: number, seconds: number, ownSeconds = seconds): void {
    this.byCode.set(code, (this.byCode.get(code) ?? 0) + 1);
    this.seconds.observe(seconds);
    this.ownSeconds.observe(ownSeconds);
  }

  size(bytes: number): void {
    this.sizes ??= new HistogramSeries(sizeBuckets);
    this.sizes.observe(bytes);
  }
}

export class RequestSeries {
  readonly #kinds = new Map<string, RequestKind>();
  /** Keys of `#kinds`, by resource. */
  readonly #keysByResource = new Map<string, Set<string>>();

  constructor(registry: Registry) {
    const reset = () => {
      this.#kinds.clear();
      this.#keysByResource.clear();
    };
    registerMetric(registry, {
      name: 'apiserver_request_total',
      help: '[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code.',
      type: 'counter',
      values: () => this.#requests(),
      reset,
    });
    registerMetric(registry, {
      name: 'apiserver_request_duration_seconds',
      help: '[STABLE] Response latency distribution in seconds for each verb, dry run value, group, version, resource, subresource, scope and component.',
      type: 'histogram',
      values: () => this.#seconds(),
      reset,
    });
    registerMetric(registry, {
      name: 'apiserver_request_slo_duration_seconds',
      help: '[ALPHA] Response latency distribution (not counting webhook duration) in seconds for each verb, group, version, resource, subresource, scope and component.',
      type: 'histogram',
      values: () => this.#merged('apiserver_request_slo_duration_seconds', secondsBuckets, (kind) => kind.ownSeconds),
      reset,
    });
    registerMetric(registry, {
      name: 'apiserver_response_sizes',
      help: '[STABLE] Response size distribution in bytes for each group, version, verb, resource, subresource, scope and component.',
      type: 'histogram',
      values: () => this.#merged('apiserver_response_sizes', sizeBuckets, ({ sizes }) => sizes),
      reset,
    });
    registerMetric(registry, {
      name: 'apiserver_selfrequest_total',
      help: '[ALPHA] Counter of apiserver self-requests broken out for each verb, API resource and subresource.',
      type: 'counter',
      values: () => this.#own(),
      reset,
    });
  }

  get(key: string): RequestKind | undefined {
    return this.#kinds.get(key);
  }

  set(key: string, kind: RequestKind): void {
    this.#kinds.set(key, kind);
    const resource = resourceKey(kind.place);
    const keys = this.#keysByResource.get(resource) ?? new Set();
    this.#keysByResource.set(resource, keys.add(key));
  }

  /** Drops the series of a resource that is no longer served. */
  forget(resource: PlaceOf): void {
    for (const key of this.#keysByResource.get(resourceKey(resource)) ?? []) this.#kinds.delete(key);
    this.#keysByResource.delete(resourceKey(resource));
  }

  *#requests(): Generator<SeriesValue> {
    for (const { place, dryRun, byCode } of this.#kinds.values()) {
      for (const [code, value] of byCode) yield { labels: { ...place, dry_run: dryRun, component, code }, value };
    }
  }

  *#seconds(): Generator<SeriesValue> {
    for (const { place, dryRun, seconds } of this.#kinds.values()) {
      yield* seconds.values('apiserver_request_duration_seconds', { ...place, dry_run: dryRun, component });
    }
  }

  /** Sums dry runs and other requests. */
  *#merged(
    name: string,
    buckets: readonly number[],
    of: (kind: RequestKind) => HistogramSeries | undefined,
  ): Generator<SeriesValue> {
    const sums = new Map<string, { readonly place: Place; readonly sum: HistogramSeries }>();
    for (const kind of this.#kinds.values()) {
      const series = of(kind);
      if (series === undefined) continue;
      const key = Object.values(kind.place).join(' ');
      const merged = sums.get(key) ?? { place: kind.place, sum: new HistogramSeries(buckets) };
      merged.sum.add(series);
      sums.set(key, merged);
    }
    for (const { place, sum } of sums.values()) yield* sum.values(name, { ...place, component });
  }

  *#own(): Generator<SeriesValue> {
    const sums = new Map<string, { labels: Record<string, string>; value: number }>();
    for (const { place, own } of this.#kinds.values()) {
      if (own === 0) continue;
      const { verb, resource, subresource } = place;
      const key = `${verb} ${resource}/${subresource}`;
      sums.set(key, { labels: { verb, resource, subresource }, value: (sums.get(key)?.value ?? 0) + own });
    }
    yield* sums.values();
  }
}
