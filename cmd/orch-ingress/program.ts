/** The ingress controller as a program of its own. */
import { ApiEventRecorder } from '#client/events/recorder.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { dropManagedFields } from '#client/informer/transforms.js';
import { connectByOptions } from '#client/kubeconfig/connect-daemon.js';
import { IngressProcess } from '#cmd/orch-ingress/process.js';
import type { Daemon } from '#daemon/daemon.js';
import type { ProcessFacts } from '#daemon/metrics/process-metrics.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { loggingRules } from '#daemon/options/groups/logging.js';
import type { Program, ProgramContext } from '#daemon/run.js';
import { IngressController } from '#ingress/ingress-controller.js';
import { ingressOptionTable, ingressRules, ingressSettings } from '#ingress/options.js';

type IngressOptionTable = ReturnType<typeof ingressOptionTable>;

/** `facts`: what the metrics tell of the process. */
export function ingressProgram(facts: ProcessFacts): Program<IngressOptionTable> {
  return {
    name: (dialect) => dialect.components.ingress,
    description: 'Takes HTTP and HTTPS requests from outside and passes them on to the services that Ingresses name.',
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
