/** Metrics of the ingress controller. Labels are existing Ingresses and classes of status codes. */
import type { Registry } from 'prom-client';
import { counter, exponentialBuckets, gauge, histogram } from '#daemon/metrics/metric.js';

export class IngressMetrics {
  readonly retries;
  readonly failures;
  readonly connections;
  readonly rejectedConnections;
  readonly rejectedRequests;
  readonly problems;
  readonly #requests;
  readonly #seconds;
  readonly #upgrades;
  #ingresses: ReadonlySet<string> = new Set();

  constructor(registry: Registry) {
    this.#requests = counter(registry, {
      name: 'ingress_requests_total',
      help: 'Requests that were answered, by the Ingress whose rule they matched and the class of the status code',
      labelNames: ['ingress', 'code'],
    });
    this.#seconds = histogram(registry, {
      name: 'ingress_request_duration_seconds',
      help: 'Time from the head of a request to the end of its answer',
      buckets: exponentialBuckets(0.001, 2, 16),
    });
    this.#upgrades = counter(registry, {
      name: 'ingress_upgrades_total',
      help: 'Connections that were switched to another protocol, by Ingress',
      labelNames: ['ingress'],
    });
    this.retries = counter(registry, {
      name: 'ingress_backend_retries_total',
      help: 'Further endpoints that were tried for requests of which nothing had been sent yet',
    });
    this.failures = counter(registry, {
      name: 'ingress_backend_failures_total',
      help: 'Endpoints that did not answer: dial, stale, silent, broken',
      labelNames: ['reason'],
    });
    this.connections = gauge(registry, {
      name: 'ingress_connections',
      help: 'Open connections of clients',
    });
    this.rejectedConnections = counter(registry, {
      name: 'ingress_rejected_connections_total',
      help: 'Connections that were closed at once since there were too many: of all clients, or of one',
      labelNames: ['limit'],
    });
    this.rejectedRequests = counter(registry, {
      name: 'ingress_rejected_requests_total',
      help: 'Requests that were refused since there were too many: of one client, or for one service',
      labelNames: ['limit'],
    });
    this.problems = gauge(registry, {
      name: 'ingress_problems',
      help: 'Rules and certificates of Ingresses that cannot be carried out',
    });
  }

  answered(ingress: string, status: number, ms: number): void {
    this.#requests.inc({ ingress: this.#label(ingress), code: `${Math.trunc(status / 100)}xx` });
    this.#seconds.observe(ms / 1000);
  }

  upgraded(ingress: string): void {
    this.#upgrades.inc({ ingress: this.#label(ingress) });
  }

  /** Sets the existing Ingresses; series of others are removed. */
  retain(ingresses: ReadonlySet<string>): void {
    for (const ingress of this.#ingresses) {
      if (ingresses.has(ingress)) continue;
      this.#upgrades.remove({ ingress });
      for (const code of codes) this.#requests.remove({ ingress, code });
    }
    this.#ingresses = ingresses;
  }

  /** A response may end after its Ingress was deleted. */
  #label(ingress: string): string {
    return this.#ingresses.has(ingress) ? ingress : '';
  }
}

const codes = ['1xx', '2xx', '3xx', '4xx', '5xx'];
