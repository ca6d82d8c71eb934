/** The controller manager as a program of its own: client, events, leader election and HTTPS port around it. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { Registry } from 'prom-client';
import { ApiEventRecorder } from '#client/events/recorder.js';
import { LeaderElector } from '#client/leaderelection/leader-elector.js';
import { LeaseLock } from '#client/leaderelection/lock.js';
import { configFromOptions } from '#client/rest/config-from-options.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { requestMetrics } from '#client/rest/metrics.js';
import { RestClient } from '#client/rest/rest-client.js';
import { type Connection, ControllerManagerProcess } from '#cmd/orch-controller-manager/process.js';
import { ControllerManager } from '#controllers/manager.js';
import {
  type ControllerManagerOptionTable,
  controllerManagerOptions,
  controllerManagerRules,
} from '#controllers/options/options.js';
import type { ProcessFacts } from '#daemon/metrics/process-metrics.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { OptionsError } from '#daemon/options/errors.js';
import type { Program, ProgramContext } from '#daemon/run.js';
import { createDaemonServer } from '#daemon/serving/create-daemon-server.js';
import { HealthChecks } from '#daemon/serving/health.js';

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

async function create(context: Context, facts: ProcessFacts): Promise<ControllerManagerProcess> {
  const { values, dialect, clock, random, log } = context;
  const name = dialect.components.controllerManager;
  const metrics = createRegistry({ dialect, process: facts });
  const connection = await connectionTo(context, values.orchconfig, metrics);
  const client = connection.client('shared-informers');
  // A renewal must not wait behind the requests of busy controllers.
  const leaderClient = connection.client('leader-election');
  const recorder = new ApiEventRecorder({
    client: connection.client('events'),
    source: { component: name },
    clock,
    random,
    log,
    metrics,
  });
  const elector = values['leader-elect']
    ? new LeaderElector({
        lock: new LeaseLock({
          client: leaderClient,
          namespace: values['leader-elect-resource-namespace'],
          name: values['leader-elect-resource-name'],
        }),
        identity: `${hostname()}_${randomUUID()}`,
        leaseDurationMs: values['leader-elect-lease-duration'],
        renewDeadlineMs: values['leader-elect-renew-deadline'],
        retryPeriodMs: values['leader-elect-retry-period'],
        clock,
        random,
        log,
        metrics,
        name,
      })
    : undefined;
  const rootCA = await rootCertificates(values['root-ca-file']);
  const manager = new ControllerManager(values, {
    client,
    clientFor: (controller) => connection.client(controller),
    dialect,
    clock,
    random,
    log,
    events: recorder,
    metrics,
    ...(elector === undefined ? {} : { leadership: elector }),
    ...(rootCA === undefined ? {} : { rootCA }),
  });
  const health = new HealthChecks([
    {
      name: 'leader-election',
      check: () => {
        if (elector?.isHealthy() === false) throw new Error('failed election renewal');
      },
    },
    {
      name: 'controllers',
      check: () => {
        const failed = [...manager.states()]
          .filter(([, state]) => state === 'failed')
          .map(([controller]) => controller);
        if (failed.length > 0) throw new Error(`failed: ${failed.join(', ')}`);
      },
    },
  ]);
  const connections = [connection];
  const reviewer = async (file: string | undefined) => {
    if (file === undefined || file === '') return undefined;
    const other = await connectionTo(context, file, undefined);
    connections.push(other);
    return other.client('delegated-auth');
  };
  const server = await createDaemonServer({
    name,
    values,
    dialect,
    clock,
    log,
    health,
    metrics,
    authenticationClient: await reviewer(values['authentication-orchconfig']),
    authorizationClient: await reviewer(values['authorization-orchconfig']),
  });
  return new ControllerManagerProcess({ manager, server, recorder, connections });
}

/** One connection, and over it as many clients as there are purposes, each with its own rate. */
async function connectionTo(
  { values, dialect, clock, env }: Context,
  file: string | undefined,
  metrics: Registry | undefined,
): Promise<Connection> {
  const { namespace: _, ...target } = await configFromOptions({ file, master: values.master }, { dialect, clock, env });
  const transport = new HttpTransport({ ...target, clock });
  const requests = metrics === undefined ? undefined : requestMetrics(metrics, new URL(target.server).host);
  return {
    client: (purpose) =>
      new RestClient({
        transport,
        dialect,
        clock,
        qps: values['orch-api-qps'],
        burst: values['orch-api-burst'],
        userAgent: `${dialect.components.controllerManager}/${dialect.version} ${purpose}`,
        ...(requests === undefined ? {} : { metrics: requests }),
      }),
    close: () => transport.close(),
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
