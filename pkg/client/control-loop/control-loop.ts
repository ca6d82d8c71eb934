/**
 * What the daemons around control loops share: a client, an event recorder, leader election, health and an HTTPS port,
 * all from the common options.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Registry } from 'prom-client';
import { deferred } from '#apimachinery/deferred.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { ApiEventRecorder } from '#client/events/recorder.js';
import { LeaderElector } from '#client/leaderelection/leader-elector.js';
import { LeaseLock } from '#client/leaderelection/lock.js';
import { connect } from '#client/rest/client-config.js';
import { configFromOptions } from '#client/rest/config-from-options.js';
import type { RestClient } from '#client/rest/rest-client.js';
import type { Daemon } from '#daemon/daemon.js';
import type { DelegatedAuthValues } from '#daemon/options/groups/authentication.js';
import type { ClientConnectionValues } from '#daemon/options/groups/client-connection.js';
import type { LeaderElectionValues } from '#daemon/options/groups/leader-election.js';
import type { MetricsValues } from '#daemon/options/groups/metrics.js';
import type { ServingValues } from '#daemon/options/groups/serving.js';
import type { ProgramContext } from '#daemon/run.js';
import { createDaemonServer } from '#daemon/serving/create-daemon-server.js';
import type { DaemonServer } from '#daemon/serving/daemon-server.js';
import { type HealthCheck, HealthChecks } from '#daemon/serving/health.js';

export type ControlLoopValues = ServingValues &
  DelegatedAuthValues &
  LeaderElectionValues &
  ClientConnectionValues &
  MetricsValues;

/** What of a program's context a control loop needs. */
export type ControlLoopContext = Pick<ProgramContext<never>, 'dialect' | 'clock' | 'random' | 'log' | 'env'> & {
  readonly values: ControlLoopValues;
};

export interface LoopDependencies {
  readonly client: RestClient;
  readonly recorder: ApiEventRecorder;
  /** Absent when leader election is off. */
  readonly leadership: LeaderElector | undefined;
}

export interface ControlLoopOptions {
  readonly context: ControlLoopContext;
  /** The daemon's name. */
  readonly name: string;
  /** `component` of its events. */
  readonly eventSource: string;
  readonly metrics: Registry;
  readonly create: (dependencies: LoopDependencies) => { loop: Daemon; checks?: readonly HealthCheck[] };
}

/** The daemon, not yet started. Throws OptionsError and KubeconfigError for what the options cannot mean. */
export async function createControlLoop(options: ControlLoopOptions): Promise<Daemon> {
  const { context, name, eventSource, metrics } = options;
  const { values, dialect, clock, random, log } = context;
  const client = await clientFor(context, values.orchconfig, name);
  // A renewal must not wait behind the requests of a busy loop.
  const leaderClient = await clientFor(context, values.orchconfig, `${name} leader-election`);
  const recorder = new ApiEventRecorder({ client, source: { component: eventSource }, clock, random, log, metrics });
  const leadership = values['leader-elect'] ? electorOf(context, name, leaderClient, metrics) : undefined;
  const { loop, checks = [] } = options.create({ client, recorder, leadership });
  const election: HealthCheck = {
    name: 'leader-election',
    check: () => {
      if (leadership?.isHealthy() === false) throw new Error('failed election renewal');
    },
  };
  const reviewer = async (file: string | undefined) =>
    file === undefined || file === '' ? undefined : clientFor(context, file, `${name} delegated-auth`);
  const server = await createDaemonServer({
    name,
    values,
    dialect,
    clock,
    log,
    health: new HealthChecks([election, ...checks]),
    metrics,
    authenticationClient: await reviewer(values['authentication-orchconfig']),
    authorizationClient: await reviewer(values['authorization-orchconfig']),
  });
  return new ControlLoopDaemon({ loop, server, recorder, clients: [client, leaderClient] });
}

function electorOf(context: ControlLoopContext, name: string, client: RestClient, metrics: Registry): LeaderElector {
  const { values, clock, random, log } = context;
  return new LeaderElector({
    lock: new LeaseLock({
      client,
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
  });
}

async function clientFor(context: ControlLoopContext, file: string | undefined, agent: string): Promise<RestClient> {
  const { values, dialect, clock, env } = context;
  const config = await configFromOptions({ file, master: values.master }, { dialect, clock, env });
  const rates = { qps: values['orch-api-qps'], burst: values['orch-api-burst'] };
  return connect(config, { dialect, clock, ...rates, userAgent: userAgent(dialect, agent) });
}

function userAgent(dialect: Dialect, agent: string): string {
  const [program = '', ...purpose] = agent.split(' ');
  return [`${program}/${dialect.version}`, ...purpose].join(' ');
}

interface Parts {
  readonly loop: Daemon;
  /** Undefined when HTTPS is off. */
  readonly server: DaemonServer | undefined;
  readonly recorder: ApiEventRecorder;
  readonly clients: readonly RestClient[];
}

/** The loop with its port, and the order in which they start and stop. */
class ControlLoopDaemon implements Daemon {
  readonly name: string;
  readonly #parts: Parts;
  readonly #listening = deferred();

  constructor(parts: Parts) {
    this.name = parts.loop.name;
    this.#parts = parts;
  }

  async ready(): Promise<void> {
    await this.#listening.promise;
    await this.#parts.loop.ready();
  }

  /** Health is answered before there is anything to lead, so that a standby is seen to be alive. */
  async start(signal: AbortSignal): Promise<void> {
    try {
      await this.#parts.server?.start();
      this.#listening.resolve();
    } catch (error) {
      this.#listening.reject(error);
      throw error;
    }
    await this.#parts.loop.start(signal);
  }

  /** The loop first, then what it reports to, the port last. */
  async close(): Promise<void> {
    const { loop, recorder, server, clients } = this.#parts;
    this.#listening.reject(new Error(`${this.name} stopped`));
    await loop.close();
    await recorder.close();
    await Promise.all(clients.map((client) => client.close()));
    await server?.close();
  }
}
