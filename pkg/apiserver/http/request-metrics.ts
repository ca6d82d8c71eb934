/** Request metrics, named as in 1.24. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { ApiRequest, ApiResponse } from '#apiserver/http/exchange.js';
import { type AfterTimeout, type InFlightKind, RequestFailures } from '#apiserver/http/request-failures.js';
import { type RequestInfo, requestInfo } from '#apiserver/http/request-info.js';
import {
  dryRunLabel,
  type Place,
  type PlaceOf,
  placeKey,
  placeLabels,
  plainPlace,
  RequestKind,
  RequestSeries,
  resourcePlace,
} from '#apiserver/http/request-series.js';
import { exponentialBuckets } from '#daemon/metrics/metric.js';
import {
  type CounterSeries,
  type HistogramSeries,
  PlainCounter,
  PlainGauge,
  PlainHistogram,
} from '#daemon/metrics/plain-series.js';

const eventLabels = ['group', 'version', 'kind'] as const;

export interface RequestMetricsOptions {
  readonly registry: Registry;
  /** True for a served resource and subresource: only these become labels, so that clients cannot create series. */
  readonly isServed: (info: RequestInfo) => boolean;
}

/** A request that has its response. */
export interface Observed {
  readonly request: ApiRequest;
  /** Absent for a malformed request. */
  readonly info: RequestInfo | undefined;
  readonly elapsedMs: number;
  /** The part of `elapsedMs` spent in webhooks. */
  readonly webhookMs: number;
  /** True for requests sent by this server itself. */
  readonly own: boolean;
}

/** Durations of the stages before the endpoint, for requests that pass them. */
export interface FilterSeries {
  readonly authentication: HistogramSeries;
  readonly impersonation: HistogramSeries;
  readonly authorization: HistogramSeries;
}

/** Series of the events that watchers of one kind get. */
export interface WatchEventSeries {
  readonly count: CounterSeries;
  readonly sizes: HistogramSeries;
}

export class RequestMetrics {
  readonly filters: FilterSeries;
  readonly #registry: Registry;
  readonly #isServed: (info: RequestInfo) => boolean;
  readonly #series: RequestSeries;
  readonly #failures: RequestFailures;
  readonly #longRunning: PlainGauge;
  readonly #deprecated: PlainGauge;
  readonly #watchEvents: PlainCounter;
  readonly #watchEventSizes: PlainHistogram;

  constructor({ registry, isServed }: RequestMetricsOptions) {
    this.#registry = registry;
    this.#isServed = isServed;
    this.#series = new RequestSeries(registry);
    this.#failures = new RequestFailures(registry);
    this.#longRunning = new PlainGauge(registry, {
      name: 'apiserver_longrunning_requests',
      help: '[ALPHA] Gauge of all active long-running apiserver requests broken out by verb, group, version, resource, scope and component. Not all requests are tracked this way.',
      labelNames: [...placeLabels, 'component'],
    });
    this.#deprecated = new PlainGauge(registry, {
      name: 'apiserver_requested_deprecated_apis',
      help: '[STABLE] Gauge of deprecated APIs that have been requested, broken out by API group, version, resource, subresource, and removed_release.',
      labelNames: ['group', 'version', 'resource', 'subresource', 'removed_release'],
    });
    this.#watchEvents = new PlainCounter(registry, {
      name: 'apiserver_watch_events_total',
      help: '[ALPHA] Number of events sent in watch clients',
      labelNames: eventLabels,
    });
    this.#watchEventSizes = new PlainHistogram(registry, {
      name: 'apiserver_watch_events_sizes',
      help: '[ALPHA] Watch event size distribution in bytes',
      labelNames: eventLabels,
      buckets: exponentialBuckets(1024, 2, 8),
    });
    const filters = new PlainHistogram(registry, {
      name: 'apiserver_request_filter_duration_seconds',
      help: '[ALPHA] Request filter latency distribution in seconds, for each filter type',
      labelNames: ['filter'],
      buckets: [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 5],
    });
    this.filters = {
      authentication: filters.labels('authentication'),
      impersonation: filters.labels('impersonation'),
      authorization: filters.labels('authorization'),
    };
  }

  /** Records a request for a deprecated version; `removed` is the release that removes it, or empty. */
  deprecated({ group, version, resource, subresource }: RequestInfo, removed: string): void {
    this.#deprecated.labels(group, version, resource, subresource, removed).value = 1;
  }

  /** Drops the series of a resource that is no longer served, so that short-lived definitions do not pile up. */
  forget(resource: PlaceOf, kind: string): void {
    this.#series.forget(resource);
    this.#failures.forget(resource);
    const { group, version } = resource;
    for (const metric of [this.#longRunning, this.#deprecated]) metric.forget({ ...resource });
    for (const metric of [this.#watchEvents, this.#watchEventSizes]) metric.forget({ group, version, kind });
  }

  /** Counts the request and its duration; the size of a streamed response follows when it ends. */
  observe(observed: Observed, response: ApiResponse): void {
    const { request, info, elapsedMs, webhookMs, own } = observed;
    const kind = this.#kind(request, info);
    kind.add(response.status, elapsedMs / 1000, Math.max(0, elapsedMs - webhookMs) / 1000);
    if (own) kind.own++;
    if (info?.verb !== 'get' && info?.verb !== 'list') return;
    const { body } = response;
    if (body === undefined) kind.size(0);
    else if (body.length !== undefined) kind.size(body.length);
    else if (!Buffer.isBuffer(body)) {
      let bytes = 0;
      const part = (piece: Buffer) => {
        bytes += piece.length;
      };
      body.follow({ part, ended: () => kind.size(bytes) });
    }
  }

  /** Counts a response that was cut off after its head. */
  aborted(request: Pick<ApiRequest, 'method' | 'url' | 'headers'>): void {
    this.#failures.aborted(this.#place(request, infoOf(request)));
  }

  /** Counts a request refused with 429. */
  dropped(kind: InFlightKind, request: ApiRequest, info: RequestInfo): void {
    this.#failures.dropped(kind, this.#place(request, info));
  }

  /** Counts a request that timed out. */
  timedOut(request: ApiRequest, info: RequestInfo): void {
    this.#failures.timedOut(this.#place(request, info));
  }

  afterTimeout(status: AfterTimeout): void {
    this.#failures.afterTimeout(status);
  }

  handshakeFailed(): void {
    this.#failures.handshakeFailed();
  }

  /** The series of events sent to a watcher: their number and sizes in bytes. */
  watchEvents(group: string, version: string, kind: string): WatchEventSeries {
    return {
      count: this.#watchEvents.labels(group, version, kind),
      sizes: this.#watchEventSizes.labels(group, version, kind),
    };
  }

  /** `counts` is called when the series are read. */
  inFlight(counts: () => { readonly readOnly: number; readonly mutating: number }): void {
    new Gauge({
      name: 'apiserver_current_inflight_requests',
      help: '[STABLE] Maximal number of currently used inflight request limit of this apiserver per request kind in last second.',
      labelNames: ['request_kind'],
      registers: [this.#registry],
      collect() {
        const { readOnly, mutating } = counts();
        this.set({ request_kind: 'readOnly' }, readOnly);
        this.set({ request_kind: 'mutating' }, mutating);
      },
    });
  }

  /** Counts an open watch; the result ends the count. */
  watchOpened(info: RequestInfo): () => void {
    const place = this.#place({ method: 'GET', headers: {} }, info);
    const open = this.#longRunning.labels(...placeLabels.map((label) => place[label]), 'apiserver');
    open.inc();
    return () => open.inc(-1);
  }

  /** `budget` is read with the series; the result counts a refused response. */
  responseMemory(budget: () => { readonly used: number; readonly waiting: number } | undefined): () => void {
    const registers = [this.#registry];
    const series = (name: string, help: string, value: () => number) =>
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(value());
        },
      });
    series(
      'apiserver_response_memory_bytes',
      'Memory held by responses that are being sent, in bytes.',
      () => budget()?.used ?? 0,
    );
    series('apiserver_waiting_responses', 'Responses waiting for memory.', () => budget()?.waiting ?? 0);
    const refused = new Counter({
      name: 'apiserver_refused_responses_total',
      help: 'Responses refused because too many waited for memory, or waited too long.',
      registers,
    });
    return () => refused.inc();
  }

  #kind(request: ApiRequest, info: RequestInfo | undefined): RequestKind {
    const dryRun = info === undefined ? '' : dryRunLabel(info);
    if (info?.resourceRequest === true) {
      const key = `${placeKey(request, info)} ${dryRun}`;
      const series = this.#series.get(key);
      if (series !== undefined) return series;
      if (this.#isServed(info)) return this.#add(key, resourcePlace(request, info), dryRun);
    }
    // Requests for unserved resources share one series per method, whatever names clients use.
    const place = this.#place(request, info);
    const key = `${place.verb} ${place.subresource}`;
    return this.#series.get(key) ?? this.#add(key, place, '');
  }

  #add(key: string, place: Place, dryRun: string): RequestKind {
    const kind = new RequestKind(place, dryRun);
    this.#series.set(key, kind);
    return kind;
  }

  #place(request: Pick<ApiRequest, 'method' | 'headers'>, info: RequestInfo | undefined): Place {
    return info?.resourceRequest === true && this.#isServed(info)
      ? resourcePlace(request, info)
      : plainPlace(request.method, info?.path);
  }
}

function infoOf(request: Pick<ApiRequest, 'method' | 'url'>): RequestInfo | undefined {
  try {
    return requestInfo(request);
  } catch {
    // A malformed request got 400; it counts by its method.
    return undefined;
  }
}
