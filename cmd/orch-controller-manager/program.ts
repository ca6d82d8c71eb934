/** The controller manager as a program of its own: client, events, leader election and HTTPS port around it. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { ApiEventRecorder } from '#client/events/recorder.js';
import { LeaderElector } from '#client/leaderelection/leader-elector.js';
import { LeaseLock } from '#client/leaderelection/lock.js';
import { connect } from '#client/rest/client-config.js';
import { configFromOptions } from '#client/rest/config-from-options.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { ControllerManagerProcess } from '#cmd/orch-controller-manager/process.js';
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
  const client = await clientFor(context, values.orchconfig, name);
  // A renewal must not wait behind the requests of busy controllers.
  const leaderClient = await clientFor(context, values.orchconfig, 'leader-election');
  const recorder = new ApiEventRecorder({ client, source: { component: name }, clock, random, log, metrics });
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
  const reviewer = (file: string | undefined) =>
    (file ?? '') === '' ? undefined : clientFor(context, file, 'delegated-auth');
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
  return new ControllerManagerProcess({ manager, server, recorder, clients: [client, leaderClient] });
}

async function clientFor(
  { values, dialect, clock, env }: Context,
  file: string | undefined,
  purpose: string,
): Promise<RestClient> {
  const config = await configFromOptions({ file, master: values.master }, { dialect, clock, env });
  return connect(config, {
    dialect,
    clock,
    qps: values['orch-api-qps'],
    burst: values['orch-api-burst'],
    userAgent: `${dialect.components.controllerManager}/${dialect.version} ${purpose}`,
  });
}

async function rootCertificates(file: string | undefined): Promise<string | undefined> {
  if (file === undefined || file === '') return undefined;
  const text = await readFile(file, 'utf8');
  if (!text.includes('-----BEGIN CERTIFICATE-----')) {
    throw new OptionsError([`--root-ca-file: ${file} holds no certificate in PEM form`]);
  }
  return text;
}
