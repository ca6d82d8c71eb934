/** The controller manager as a program of its own. */
import { readFile } from 'node:fs/promises';
import { createControlLoop } from '#client/control-loop/control-loop.js';
import type { Connection } from '#client/rest/connection.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { ServiceAccountToken } from '#client/rest/service-account-token.js';
import { ControllerManager } from '#controllers/manager.js';
import { serviceAccountOf } from '#controllers/names.js';
import {
  type ControllerManagerOptionTable,
  controllerManagerOptions,
  controllerManagerRules,
} from '#controllers/options/options.js';
import type { Daemon } from '#daemon/daemon.js';
import type { ProcessFacts } from '#daemon/metrics/process-metrics.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { OptionsError } from '#daemon/options/errors.js';
import type { Program, ProgramContext } from '#daemon/run.js';
import type { HealthCheck } from '#daemon/serving/health.js';
import { openLeaderLock } from '#storage/etcd/open-leader-lock.js';

type Context = ProgramContext<ControllerManagerOptionTable>;

/** `facts`: what the metrics tell of the process. */
export function controllerManagerProgram(facts: ProcessFacts): Program<ControllerManagerOptionTable> {
  return {
    name: (dialect) => dialect.components.controllerManager,
    description: 'Runs the control loops that move the cluster from the state it is in to the state that is wanted.',
    options: controllerManagerOptions,
    rules: controllerManagerRules,
    create: (context) => create(context, facts),
  };
}

async function create(context: Context, facts: ProcessFacts): Promise<Daemon> {
  const { values, dialect, clock, random, log } = context;
  const name = dialect.components.controllerManager;
  const metrics = createRegistry({ dialect, process: facts });
  const rootCA = await rootCertificates(values['root-ca-file']);
  return createControlLoop({
    context,
    name,
    eventSource: name,
    metrics,
    openEtcdLock: (where) => openLeaderLock({ values, clock, random, ...where }),
    create: ({ client, connection, recorder, leadership }) => {
      const manager = new ControllerManager(values, {
        client,
        clientFor: controllerClients(context, connection),
        dialect,
        clock,
        random,
        log,
        events: recorder,
        metrics,
        ...(leadership === undefined ? {} : { leadership }),
        ...(rootCA === undefined ? {} : { rootCA }),
      });
      return { loop: manager, checks: [controllersCheck(manager)] };
    },
  });
}

/** A client for each controller, kept from one term of leading to the next. */
function controllerClients({ values, dialect, clock }: Context, connection: Connection): (name: string) => RestClient {
  const clients = new Map<string, RestClient>();
  // Tokens must not wait behind anything else.
  const tokens = connection.client('token-requests');
  const make = (controller: string): RestClient => {
    if (!values['use-service-account-credentials']) return connection.client(controller);
    const account = { namespace: dialect.namespaces.system, name: serviceAccountOf(controller) };
    return connection.as(new ServiceAccountToken({ client: tokens, clock, ...account })).client(controller);
  };
  return (controller) => {
    const known = clients.get(controller) ?? make(controller);
    clients.set(controller, known);
    return known;
  };
}

function controllersCheck(manager: ControllerManager): HealthCheck {
  return {
    name: 'controllers',
    check: () => {
      const failed = [...manager.states()].filter(([, state]) => state === 'failed').map(([controller]) => controller);
      if (failed.length > 0) throw new Error(`failed: ${failed.join(', ')}`);
    },
  };
}

async function rootCertificates(file: string | undefined): Promise<string | undefined> {
  if (file === undefined || file === '') return undefined;
  const text = await readFile(file, 'utf8');
  if (!text.includes('-----BEGIN CERTIFICATE-----')) {
    throw new OptionsError([`--root-ca-file: ${file} holds no certificate in PEM form`]);
  }
  return text;
}
