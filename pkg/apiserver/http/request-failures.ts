/** Series of requests that the server cut off or refused, named as in release 1.24. */
import { Counter, type Registry } from 'prom-client';
import { type Place, type PlaceOf, placeLabels } from '#apiserver/http/request-series.js';
import { PlainCounter } from '#daemon/metrics/plain-series.js';

/** Each kind has its own limit. */
export type InFlightKind = 'readOnly' | 'mutating';
/** How the work on a request ended after the request got 504. */
export type AfterTimeout = 'ok' | 'panic' | 'pending';

export class RequestFailures {
  readonly #aborts: PlainCounter;
  readonly #terminations: PlainCounter;
  readonly #dropped: Counter;
  readonly #afterTimeout: Counter;
  readonly #handshakes: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#aborts = new PlainCounter(registry, {
      name: 'apiserver_request_aborts_total',
      help: '[ALPHA] Number of requests which apiserver aborted possibly due to a timeout, for each group, version, verb, resource, subresource and scope',
      labelNames: placeLabels,
    });
    this.#terminations = new PlainCounter(registry, {
      name: 'apiserver_request_terminations_total',
      help: '[ALPHA] Number of requests which apiserver terminated in self-defense.',
      labelNames: [...placeLabels, 'component', 'code'],
    });
    this.#dropped = new Counter({
      name: 'apiserver_dropped_requests_total',
      help: "[ALPHA] Number of requests dropped with 'Try again later' response",
      labelNames: ['request_kind'],
      registers,
    });
    this.#afterTimeout = new Counter({
      name: 'apiserver_request_post_timeout_total',
      help: '[ALPHA] Tracks the activity of the request handlers after the associated requests have been timed out by the apiserver',
      labelNames: ['source', 'status'],
      registers,
    });
    this.#handshakes = new Counter({
      name: 'apiserver_tls_handshake_errors_total',
      help: "[ALPHA] Number of requests dropped with 'TLS handshake error from' error",
      registers,
    });
  }

  /** Counts a response that was cut off after its head. */
  aborted(place: Place): void {
    this.#aborts.labels(...valuesOf(place)).inc();
  }

  /** Counts a request refused with 429. */
  dropped(kind: InFlightKind, place: Place): void {
    this.#dropped.inc({ request_kind: kind });
    this.#terminated(place, 429);
  }

  timedOut(place: Place): void {
    this.#terminated(place, 504);
  }

  afterTimeout(status: AfterTimeout): void {
    this.#afterTimeout.inc({ source: 'timeout-handler', status });
  }

  handshakeFailed(): void {
    this.#handshakes.inc();
  }

  /** Drops the series of a resource that is no longer served. */
  forget(resource: PlaceOf): void {
    this.#aborts.forget(resource);
    this.#terminations.forget(resource);
  }

  #terminated(place: Place, code: number): void {
    this.#terminations.labels(...valuesOf(place), 'apiserver', String(code)).inc();
  }
}

function valuesOf(place: Place): string[] {
  return placeLabels.map((label) => place[label]);
}
