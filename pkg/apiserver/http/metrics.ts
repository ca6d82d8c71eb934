/** Request metrics, named as in 1.24. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { ApiRequest } from '#apiserver/http/exchange.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';
import { RequestSeries } from '#apiserver/http/request-series.js';

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const verbs = new Set(['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']);

/** Reads may be answered in far less than a millisecond, hence the small buckets below those of 1.24. */
const bucketsSeconds = [0.0005, 0.001, 0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.5, 2, 3, 5, 10, 30, 60];

const deprecatedPlace = ['group', 'version', 'resource', 'subresource', 'removed_release'] as const;
const place = ['verb', 'group', 'version', 'resource', 'subresource', 'scope'] as const;
type Place = (typeof place)[number];

export interface RequestMetricsOptions {
  readonly registry: Registry;
  /** True for a resource (and subresource) that exists: only those become labels, so that clients cannot make series. */
  readonly isServed: (info: RequestInfo) => boolean;
}

export class RequestMetrics {
  readonly #registry: Registry;
  readonly #isServed: (info: RequestInfo) => boolean;
  readonly #series: RequestSeries;
  readonly #longRunning: Gauge<Place>;
  readonly #deprecated: Gauge<(typeof deprecatedPlace)[number]>;

  constructor({ registry, isServed }: RequestMetricsOptions) {
    this.#registry = registry;
    this.#isServed = isServed;
    const registers = [registry];
    this.#series = new RequestSeries({
      registry,
      requests: {
        name: 'apiserver_request_total',
        help: 'Requests answered, by verb, resource, scope and HTTP code.',
      },
      seconds: {
        name: 'apiserver_request_duration_seconds',
        help: 'Time from the arrival of a request to the start of its response.',
        buckets: bucketsSeconds,
      },
    });
    this.#longRunning = new Gauge({
      name: 'apiserver_longrunning_requests',
      help: 'Watches and other requests without a time limit that are open.',
      labelNames: place,
      registers,
    });
    this.#deprecated = new Gauge({
      name: 'apiserver_requested_deprecated_apis',
      help: 'One for each deprecated resource that was asked for, by the release that removes it.',
      labelNames: deprecatedPlace,
      registers,
    });
  }

  /** Remembers that somebody asked for what will go away; `removed` is the release that has it no more, if that is known. */
  deprecated({ group, version, resource, subresource }: RequestInfo, removed: string): void {
    this.#deprecated.set({ group, version, resource, subresource, removed_release: removed }, 1);
  }

  observe(request: ApiRequest, info: RequestInfo | undefined, code: number, elapsedMs: number): void {
    const sample = { code, seconds: elapsedMs / 1000 };
    const key = keyOf(request.method, info);
    // What is not served becomes one series for each method, however many names clients think of.
    const known = this.#series.has(key) || (info?.resourceRequest === true && this.#isServed(info));
    const labels = () => this.#labels(request.method, info);
    this.#series.add(known ? key : keyOf(request.method, undefined), labels, sample);
  }

  /** Tells how many requests are being worked on; asked when the series are read. */
  inFlight(counts: () => { readonly readOnly: number; readonly mutating: number }): void {
    new Gauge({
      name: 'apiserver_current_inflight_requests',
      help: 'Requests that are being worked on, reads and writes apart.',
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
    const labels = this.#labels('GET', info);
    this.#longRunning.inc(labels);
    return () => this.#longRunning.dec(labels);
  }

  /** Tells of the memory that answers share; the result counts one that was refused. */
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
      'Memory that answers on their way to clients hold, in bytes.',
      () => budget()?.used ?? 0,
    );
    series('apiserver_waiting_responses', 'Answers that wait for memory.', () => budget()?.waiting ?? 0);
    const refused = new Counter({
      name: 'apiserver_refused_responses_total',
      help: 'Answers refused because too many waited for memory, or for too long.',
      registers,
    });
    return () => refused.inc();
  }

  #labels(method: string, info: RequestInfo | undefined): Record<Place, string> {
    if (info === undefined || !info.resourceRequest || !this.#isServed(info)) {
      const verb = methods.has(method) ? method : 'other';
      return { verb, group: '', version: '', resource: '', subresource: '', scope: '' };
    }
    const { group, version, resource, subresource } = info;
    const verb = verbs.has(info.verb) ? info.verb.toUpperCase() : 'other';
    return { verb, group, version, resource, subresource, scope: scopeOf(info) };
  }
}

/** One text for one set of labels. */
function keyOf(method: string, info: RequestInfo | undefined): string {
  if (info === undefined || !info.resourceRequest) return methods.has(method) ? method : 'other';
  const { verb, group, version, resource, subresource } = info;
  return `${verbs.has(verb) ? verb : 'other'} ${group}/${version}/${resource}/${subresource} ${scopeOf(info)}`;
}

function scopeOf(info: RequestInfo): string {
  if (info.name !== '') return 'resource';
  return info.namespace === '' ? 'cluster' : 'namespace';
}
