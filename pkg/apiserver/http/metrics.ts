/** Request metrics, named as in 1.24. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ApiRequest } from '#apiserver/http/exchange.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Reads may be answered in far less than a millisecond, hence the small buckets below those of 1.24. */
const bucketsSeconds = [0.0005, 0.001, 0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.5, 2, 3, 5, 10, 30, 60];

export class RequestMetrics {
  readonly #requests: Counter<'verb' | 'group' | 'version' | 'resource' | 'subresource' | 'scope' | 'code'>;
  readonly #seconds: Histogram<'verb' | 'group' | 'version' | 'resource' | 'subresource' | 'scope'>;
  readonly #watches: Gauge<'group' | 'version' | 'kind'>;

  constructor(registry: Registry) {
    this.#requests = new Counter({
      name: 'apiserver_request_total',
      help: 'Requests answered, by verb, resource, scope and HTTP code.',
      labelNames: ['verb', 'group', 'version', 'resource', 'subresource', 'scope', 'code'],
      registers: [registry],
    });
    this.#seconds = new Histogram({
      name: 'apiserver_request_duration_seconds',
      help: 'Time from the arrival of a request to the start of its response.',
      labelNames: ['verb', 'group', 'version', 'resource', 'subresource', 'scope'],
      buckets: bucketsSeconds,
      registers: [registry],
    });
    this.#watches = new Gauge({
      name: 'apiserver_longrunning_watches',
      help: 'Watches that are open.',
      labelNames: ['group', 'version', 'kind'],
      registers: [registry],
    });
  }

  observe(request: ApiRequest, info: RequestInfo | undefined, code: number, elapsedMs: number): void {
    const resourceRequest = info?.resourceRequest === true && code !== 404;
    // Labels come from paths that exist, so that a client cannot make series by inventing paths.
    const labels = {
      verb: resourceRequest ? info.verb.toUpperCase() : methods.has(request.method) ? request.method : 'other',
      group: resourceRequest ? info.group : '',
      version: resourceRequest ? info.version : '',
      resource: resourceRequest ? info.resource : '',
      subresource: resourceRequest ? info.subresource : '',
      scope: resourceRequest ? scopeOf(info) : '',
    };
    this.#requests.inc({ ...labels, code });
    this.#seconds.observe(labels, elapsedMs / 1000);
  }

  /** Counts an open watch; the result ends the count. */
  watchOpened(group: string, version: string, kind: string): () => void {
    const labels = { group, version, kind };
    this.#watches.inc(labels);
    return () => this.#watches.dec(labels);
  }
}

function scopeOf(info: RequestInfo): string {
  if (info.name !== '') return 'resource';
  return info.namespace === '' ? 'cluster' : 'namespace';
}
