/** The ingress controller as a program. */

import type { Registry } from 'prom-client';
import { ApiEventRecorder } from '#client/events/recorder.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import type { InformerFactory } from '#client/informer/informer.js';
import { dropManagedFields } from '#client/informer/transforms.js';
import { connectByOptions } from '#client/kubeconfig/connect-daemon.js';
import type { Connection } from '#client/rest/connection.js';
import type { Daemon } from '#daemon/daemon.js';
import type { Logger } from '#daemon/log/logger.js';
import type { ProcessFacts } from '#daemon/metrics/process-metrics.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { loggingRules } from '#daemon/options/groups/logging.js';
import type { Program, ProgramContext } from '#daemon/run.js';
import { PlainEndpoints } from '#daemon/serving/plain-http.js';
import { IngressController } from '#ingress/ingress-controller.js';
import { ingressOptionTable, ingressRules, ingressSettings } from '#ingress/options.js';

type IngressOptionTable = ReturnType<typeof ingressOptionTable>;

/** `facts`: what the process metrics report. */
export function ingressProgram(facts: ProcessFacts): Program<IngressOptionTable> {
  return {
    name: (dialect) => dialect.components.ingress,
    description: 'Forwards external HTTP and HTTPS requests to the services that Ingresses name.',
    options: ingressOptionTable,
    rules: [ingressRules, loggingRules],
    create: (context) => create(context, facts),
  };
}

async function create(context: ProgramContext<IngressOptionTable>, facts: ProcessFacts): Promise<Daemon> {
  const { clock, dialect, log, random, values } = context;
  const name = dialect.components.ingress;
  const metrics = createRegistry({ dialect, process: facts });
  const connection = await connectByOptions(context, { file: values.orchconfig, program: name, metrics });
  const client = connection.client('ingress');
  const informers = new SharedInformerFactory({ client, clock, random, log, metrics, transform: dropManagedFields });
  const recorder = new ApiEventRecorder({ client, source: { component: name }, clock, random, log, metrics });
  const controller = new IngressController({
    ...ingressSettings(values),
    ...{ informers, recorder, clock, random, log, metrics },
  });
  return new IngressProcess({
    ...{ name, controller, recorder, informers, connection, metrics, log },
    healthzAddress: values['healthz-bind-address'],
    metricsAddress: values['metrics-bind-address'],
  });
}

interface IngressProcessParts {
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

/** The controller with its informers, recorder and connection, and its health and metrics endpoints. */
class IngressProcess implements Daemon {
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
      this.#isReady ? { status: 200, body: 'ok' } : { status: 503, body: 'the rules are not loaded yet' },
    );
    void this.#endpoints.serveMetrics(metricsAddress, metrics);
    controller.ready().then(
      () => {
        this.#isReady = true;
      },
      // `start` rejects with the same error.
      () => undefined,
    );
    const watched = informers.start(AbortSignal.any([signal, this.#stop.signal]));
    await Promise.race([controller.start(signal), watched]);
  }

  async close(): Promise<void> {
    const { connection, controller, recorder } = this.#parts;
    // The health check fails from now on, so that load balancers send no more requests here.
    this.#isReady = false;
    await controller.close();
    await recorder.close();
    this.#stop.abort();
    await this.#endpoints.close();
    await connection.close();
  }
}
