/**
 * The parts that control loop daemons share, built from the common options: a client, an event recorder, leader
 * election, health checks and an HTTPS port.
 */
import type { Registry } from 'prom-client';
import { deferred } from '#apimachinery/async/deferred.js';
import { ApiEventRecorder } from '#client/events/recorder.js';
import { connectByOptions } from '#client/kubeconfig/connect-daemon.js';
import type { Connection } from '#client/rest/connection.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { createElection, type Election, type LockChoice, type OpenEtcdLock } from '#control-loop/election.js';
import type { Leadership } from '#control-loop/leader-loop.js';
import type { Daemon } from '#daemon/daemon.js';
import { DebugEndpoints, type DebugPages } from '#daemon/debugging/debug-endpoints.js';
import { InspectorProfilerSource } from '#daemon/debugging/profiler.js';
import type { DelegatedAuthValues } from '#daemon/options/groups/authentication.js';
import type { ClientConnectionValues } from '#daemon/options/groups/client-connection.js';
import type { DebuggingValues } from '#daemon/options/groups/debugging.js';
import type { LeaderElectionValues } from '#daemon/options/groups/leader-election.js';
import type { MetricsValues } from '#daemon/options/groups/metrics.js';
import type { ServingValues } from '#daemon/options/groups/serving.js';
import type { TracingValues } from '#daemon/options/groups/tracing.js';
import type { ProgramContext } from '#daemon/run.js';
import { createDaemonServer } from '#daemon/serving/create-daemon-server.js';
import type { DaemonApp } from '#daemon/serving/daemon-app.js';
import type { DaemonServer } from '#daemon/serving/daemon-server.js';
import { type HealthCheck, type HealthCheckSource, HealthChecks } from '#daemon/serving/health.js';
import { openTracer } from '#daemon/tracing/open-tracer.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import type { TokenSource } from '#http/client/credentials.js';

export type ControlLoopValues = ServingValues &
  DelegatedAuthValues &
  LeaderElectionValues &
  ClientConnectionValues &
  MetricsValues &
  TracingValues &
  DebuggingValues;

/** The part of a program's context that a control loop needs. */
export type ControlLoopContext = Pick<
  ProgramContext<never>,
  'dialect' | 'clock' | 'random' | 'log' | 'verbosity' | 'env' | 'argv'
> & {
  readonly values: ControlLoopValues;
};

export interface LoopDependencies {
  /** For the loop's own requests. With leader election its writes succeed only while this process leads. */
  readonly client: RestClient;
  /** Makes further clients, each with its own rate limit, so that a busy client does not delay the others. */
  readonly connection: Connection;
  /** Not fenced by leadership: events of a past term are still written. */
  readonly recorder: ApiEventRecorder;
  /** Makes a recorder for another component, optionally with its own token. */
  readonly recorderFor: (component: string, token?: TokenSource) => ApiEventRecorder;
  /** Absent when leader election is off. */
  readonly leadership: Leadership | undefined;
  /** Creates another election, for work with a separate lock. */
  readonly elect: (lock: LockChoice) => Promise<Election>;
  /** Absent when tracing is off. The daemon closes it with the loop. */
  readonly tracer: Tracer | undefined;
}

export interface Loop {
  readonly loop: Daemon;
  /** Health checks in addition to leader election. */
  readonly checks?: readonly (HealthCheck | HealthCheckSource)[];
  /** Further pages below `/debug`. */
  readonly debug?: DebugPages;
  /** Further routes of the HTTPS port. */
  readonly routes?: (app: DaemonApp) => void;
}

export interface ControlLoopOptions {
  readonly context: ControlLoopContext;
  readonly name: string;
  /** `component` of its events. */
  readonly eventSource: string;
  readonly metrics: Registry;
  /** The configuration that `/configz` shows, by group; by default the values of all options. */
  readonly configz?: Readonly<Record<string, unknown>>;
  /** Required for locks in etcd; without it they are rejected. */
  readonly openEtcdLock?: OpenEtcdLock;
  readonly create: (dependencies: LoopDependencies) => Loop | Promise<Loop>;
}

/** Builds the daemon without starting it. Throws OptionsError and KubeconfigError for unusable options. */
export async function createControlLoop(options: ControlLoopOptions): Promise<Daemon> {
  const { context, name, eventSource, metrics } = options;
  const { values, dialect, clock, random, log } = context;
  // Control loops do not read managedFields.
  const withoutManagers = true;
  const tracer = await openTracer(values['tracing-config-file'], { dialect, service: name, log, metrics });
  const connection = await connectByOptions(context, {
    file: values.orchconfig,
    program: name,
    metrics,
    withoutManagers,
    ...(tracer === undefined ? {} : { tracer }),
  });
  const connections = [connection];
  const reviewer = async (file: string | undefined) => {
    if (file === undefined || file === '') return undefined;
    const other = await connectByOptions(context, { file, program: name, withoutManagers });
    connections.push(other);
    return other.client('delegated-auth');
  };
  const recorders: ApiEventRecorder[] = [];
  const recorderFor = (component: string, token?: TokenSource) => {
    const client = (token === undefined ? connection : connection.as(token)).client('events', { traced: false });
    const recorder = new ApiEventRecorder({ client, source: { component }, clock, random, log, metrics });
    recorders.push(recorder);
    return recorder;
  };
  const recorder = recorderFor(eventSource);
  const elections: Election[] = [];
  const elect = async (lock: LockChoice): Promise<Election> => {
    const { openEtcdLock } = options;
    const shared = { values, connection, openEtcdLock, recorder, dialect, clock, random, log, metrics };
    const election = await createElection({ lock, ...shared });
    elections.push(election);
    return election;
  };
  const main = values['leader-elect'] ? await elect(lockOf(values)) : undefined;
  const own = main?.connection ?? connection;
  const {
    loop,
    checks = [],
    debug,
    routes,
  } = await options.create({
    client: own.client('shared-informers'),
    connection: own,
    recorder,
    recorderFor,
    leadership: main?.leadership,
    elect,
    tracer,
  });
  const server = await createDaemonServer({
    name,
    values,
    dialect,
    clock,
    log,
    health: new HealthChecks([electionCheck(elections), ...checks]),
    metrics,
    debug: debugEndpoints(context, options, debug),
    ...(routes === undefined ? {} : { routes }),
    authenticationClient: await reviewer(values['authentication-orchconfig']),
    authorizationClient: await reviewer(values['authorization-orchconfig']),
  });
  return new ControlLoopDaemon({ loop, server, recorders, connections, elections, tracer });
}

function debugEndpoints(
  context: ControlLoopContext,
  { configz, name }: ControlLoopOptions,
  pages: DebugPages | undefined,
): DebugEndpoints {
  const { values, verbosity, argv, clock } = context;
  return new DebugEndpoints({
    argv,
    configz: configz ?? { [name]: values },
    ...(pages === undefined ? {} : { pages }),
    ...(values.profiling ? { verbosity, profiler: new InspectorProfilerSource({ clock }) } : {}),
  });
}

function lockOf(values: ControlLoopValues): LockChoice {
  return {
    kind: values['leader-elect-resource-lock'],
    namespace: values['leader-elect-resource-namespace'],
    name: values['leader-elect-resource-name'],
  };
}

/** Fails when this process leads in an election but has not renewed the lease in time. */
function electionCheck(elections: readonly Election[]): HealthCheck {
  return {
    name: 'leader-election',
    check: () => {
      if (elections.some(({ elector }) => !elector.isHealthy())) throw new Error('failed election renewal');
    },
  };
}

interface Parts {
  readonly loop: Daemon;
  /** Undefined when the HTTPS port is off. */
  readonly server: DaemonServer | undefined;
  readonly recorders: readonly ApiEventRecorder[];
  readonly connections: readonly Connection[];
  readonly elections: readonly Election[];
  readonly tracer: Tracer | undefined;
}

/** Starts and stops the loop, its HTTPS port and its clients in order. */
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

  /** The port serves health checks before leadership is won, so that probes of a standby succeed. */
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

  /** Stops the loop first, then recorders and connections, and the port near the end. */
  async close(): Promise<void> {
    const { loop, recorders, server, connections, elections, tracer } = this.#parts;
    this.#listening.reject(new Error(`${this.name} stopped`));
    await loop.close();
    await Promise.all(recorders.map((recorder) => recorder.close()));
    for (const election of elections) election.close();
    await Promise.all(connections.map((connection) => connection.close()));
    await server?.close();
    await tracer?.close();
  }
}
