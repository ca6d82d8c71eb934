/** The controller with what it stands on, and what others ask it: health and metrics. */
import type { Registry } from 'prom-client';
import type { ApiEventRecorder } from '#client/events/recorder.js';
import type { InformerFactory } from '#client/informer/informer.js';
import type { Connection } from '#client/rest/connection.js';
import type { Daemon } from '#daemon/daemon.js';
import type { Logger } from '#daemon/log/logger.js';
import { PlainEndpoints } from '#daemon/serving/plain-endpoints.js';
import type { IngressController } from '#ingress/ingress-controller.js';

export interface IngressProcessParts {
  readonly name: string;
  readonly controller: IngressController;
  readonly recorder: ApiEventRecorder;
  readonly informers: InformerFactory;
  readonly connection: Connection;
  readonly metrics: Registry;
  readonly log: Logger;
  /** `0.0.0.0:10254`; empty: none. */
  readonly healthzAddress: string;
  readonly metricsAddress: string;
}

export class IngressProcess implements Daemon {
  readonly name: string;
  readonly #parts: IngressProcessParts;
  readonly #endpoints: PlainEndpoints;
  readonly #stop = new AbortController();
  #isReady = false;

  constructor(parts: IngressProcessParts) {
    this.name = parts.name;
    this.#parts = parts;
    this.#endpoints = new PlainEndpoints(parts.log);
  }

  ready(): Promise<void> {
    return this.#parts.controller.ready();
  }

  async start(signal: AbortSignal): Promise<void> {
    const { controller, healthzAddress, informers, metrics, metricsAddress } = this.#parts;
    void this.#endpoints.serve(healthzAddress, '/healthz', () =>
      this.#isReady ? { status: 200, body: 'ok' } : { status: 503, body: 'the rules are not known yet' },
    );
    void this.#endpoints.serveMetrics(metricsAddress, metrics);
    controller.ready().then(
      () => {
        this.#isReady = true;
      },
      // Whoever waits for it hears of it.
      () => undefined,
    );
    const watched = informers.start(AbortSignal.any([signal, this.#stop.signal]));
    await Promise.race([controller.start(signal), watched]);
  }

  async close(): Promise<void> {
    const { connection, controller, recorder } = this.#parts;
    // Whoever asks is to send requests elsewhere from now on.
    this.#isReady = false;
    await controller.close();
    await recorder.close();
    this.#stop.abort();
    await this.#endpoints.close();
    await connection.close();
  }
}
