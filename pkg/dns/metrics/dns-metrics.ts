/**
 * Metrics of the DNS server, named like those of the usual cluster DNS server, so that its dashboards and alerts work.
 */
import type { Registry } from 'prom-client';
import type { Dialect } from '#apimachinery/dialect.js';
import { gauge } from '#daemon/metrics/metric.js';
import { type CounterSeries, PlainCounter, PlainHistogram } from '#daemon/metrics/plain-series.js';
import { codeName, typeName } from '#dns/message/numbers.js';

export type Transport = 'udp' | 'tcp';

const secondsBuckets = Array.from({ length: 16 }, (_, i) => 0.000_25 * 2 ** i);
const sizeBuckets = [0, 100, 200, 300, 400, 511, 1023, 2047, 4095, 8291, 16_000, 32_000, 48_000, 64_000];

export class DnsMetrics {
  readonly rejects: CounterSeries;
  readonly autopathSuccesses: CounterSeries;
  readonly #server: string;
  readonly #prefix: string;
  readonly #registry: Registry;
  readonly #requests: PlainCounter;
  readonly #responses: PlainCounter;
  readonly #seconds: PlainHistogram;
  readonly #requestBytes: PlainHistogram;
  readonly #responseBytes: PlainHistogram;
  readonly #hits: CounterSeries;
  readonly #misses: CounterSeries;
  readonly #forwardRequests: PlainCounter;
  readonly #forwardResponses: PlainCounter;
  readonly #forwardFailures: PlainCounter;
  readonly #forwardSeconds: PlainHistogram;

  /** `server`: value of the `server` label, the address of this server. */
  constructor(registry: Registry, dialect: Dialect, server: string) {
    const prefix = dialect.dnsMetricsPrefix;
    this.#registry = registry;
    this.#prefix = prefix;
    this.#server = server;
    const counter = (name: string, help: string, labelNames: readonly string[]) =>
      new PlainCounter(registry, { name: `${prefix}_${name}`, help, labelNames });
    const histogram = (name: string, help: string, labelNames: readonly string[], buckets: readonly number[]) =>
      new PlainHistogram(registry, { name: `${prefix}_${name}`, help, labelNames, buckets });
    const protocol = ['server', 'zone', 'proto'];
    this.#requests = counter('dns_requests_total', 'Counter of DNS requests made per zone, protocol and family.', [
      ...['server', 'zone', 'proto', 'family', 'type'],
    ]);
    this.#responses = counter('dns_responses_total', 'Counter of response status codes.', ['server', 'zone', 'rcode']);
    this.#seconds = histogram(
      'dns_request_duration_seconds',
      'Histogram of the time (in seconds) each request took per zone.',
      ['server', 'zone'],
      secondsBuckets,
    );
    this.#requestBytes = histogram('dns_request_size_bytes', 'Size of the request in bytes.', protocol, sizeBuckets);
    this.#responseBytes = histogram(
      'dns_response_size_bytes',
      'Size of the returned response in bytes.',
      protocol,
      sizeBuckets,
    );
    this.#hits = counter('cache_hits_total', 'The count of cache hits.', ['server']).labels(server);
    this.#misses = counter('cache_misses_total', 'The count of cache misses.', ['server']).labels(server);
    this.autopathSuccesses = counter('autopath_success_total', 'Counter of requests that did autopath.', [
      'server',
    ]).labels(server);
    this.rejects = counter(
      'forward_max_concurrent_rejects_total',
      'Counter of the number of queries rejected because the concurrent queries were at maximum.',
      [],
    ).labels();
    this.#forwardRequests = counter('forward_requests_total', 'Counter of requests made per upstream.', ['to']);
    this.#forwardResponses = counter('forward_responses_total', 'Counter of responses received per upstream.', [
      ...['to', 'rcode'],
    ]);
    this.#forwardFailures = counter(
      'forward_healthcheck_failures_total',
      'Counter of questions that an upstream did not answer.',
      ['to'],
    );
    this.#forwardSeconds = histogram(
      'forward_request_duration_seconds',
      'Histogram of the time each request took.',
      ['to', 'rcode'],
      secondsBuckets,
    );
  }

  observeCache(entries: () => number): void {
    const server = this.#server;
    gauge(this.#registry, {
      name: `${this.#prefix}_cache_entries`,
      help: 'The number of elements in the cache.',
      labelNames: ['server'],
      collect() {
        this.set({ server }, entries());
      },
    });
  }

  /** `zone`: the cluster's domain, or `.`. */
  answered(request: {
    readonly zone: string;
    readonly transport: Transport;
    readonly isIPv6: boolean;
    readonly type: number;
    readonly code: number;
    readonly requestBytes: number;
    readonly responseBytes: number;
    readonly seconds: number;
  }): void {
    const { zone, transport } = request;
    const server = this.#server;
    this.#requests.labels(server, zone, transport, request.isIPv6 ? '2' : '1', typeName(request.type)).inc();
    this.#responses.labels(server, zone, codeName(request.code)).inc();
    this.#seconds.labels(server, zone).observe(request.seconds);
    this.#requestBytes.labels(server, zone, transport).observe(request.requestBytes);
    this.#responseBytes.labels(server, zone, transport).observe(request.responseBytes);
  }

  cacheLooked(hit: boolean): void {
    (hit ? this.#hits : this.#misses).inc();
  }

  forwarding(to: string): void {
    this.#forwardRequests.labels(to).inc();
  }

  forwarded(to: string, code: number, seconds: number): void {
    this.#forwardResponses.labels(to, codeName(code)).inc();
    this.#forwardSeconds.labels(to, codeName(code)).observe(seconds);
  }

  forwardFailed(to: string): void {
    this.#forwardFailures.labels(to).inc();
  }
}
