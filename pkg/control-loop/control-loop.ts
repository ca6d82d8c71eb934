/**
 * What the daemons around control loops share: a client, an event recorder, leader election, health and an HTTPS port,
 * all from the common options.
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

/** What of a program's context a control loop needs. */
export type ControlLoopContext = Pick<
  ProgramContext<never>,
  'dialect' | 'clock' | 'random' | 'log' | 'verbosity' | 'env' | 'argv'
> & {
  readonly values: ControlLoopValues;
};

export interface LoopDependencies {
  /** Of the loop itself, such as its caches. With leader election its writes land only while this process leads. */
  readonly client: RestClient;
  /** For further clients, each with a rate of its own, so that a busy one does not hold up the others. */
  readonly connection: Connection;
  /** Events tell what happened, also of a term that is over: they belong to none. */
  readonly recorder: ApiEventRecorder;
  /** For parts whose events name another component, and may be written with a token of their own. */
  readonly recorderFor: (component: string, token?: TokenSource) => ApiEventRecorder;
  /** Absent when leader election is off. */
  readonly leadership: Leadership | undefined;
  /** One more election, for work that has a lock of its own. */
  readonly elect: (lock: LockChoice) => Promise<Election>;
  /** Absent: nothing is traced. It is closed with the loop. */
  readonly tracer: Tracer | undefined;
}

export interface Loop {
  readonly loop: Daemon;
  /** Health checks beside the one of leader election. */
  readonly checks?: readonly (HealthCheck | HealthCheckSource)[];
  /** Further paths for whoever looks for a fault. */
  readonly debug?: DebugPages;
}

export interface ControlLoopOptions {
  readonly context: ControlLoopContext;
  /** The daemon's name. */
  readonly name: string;
  /** `component` of its events. */
  readonly eventSource: string;
  readonly metrics: Registry;
  /** What `/configz` shows: the configuration in force, by its group. Absent: the values of all options. */
  readonly configz?: Readonly<Record<string, unknown>>;
  /** Absent: a lock in etcd is refused. */
  readonly openEtcdLock?: OpenEtcdLock;
  readonly create: (dependencies: LoopDependencies) => Loop | Promise<Loop>;
}

/** The daemon, not yet started. Throws OptionsError and KubeconfigError for what the options cannot mean. */
export async function createControlLoop(options: ControlLoopOptions): Promise<Daemon> {
  const { context, name, eventSource, metrics } = options;
  const { values, dialect, clock, random, log } = context;
  // Loops read objects; who manages which field is the API server's business.
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
    const made = new ApiEventRecorder({ client, source: { component }, clock, random, log, metrics });
    recorders.push(made);
    return made;
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

/** Of all locks that this process may hold. */
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
  /** Undefined when HTTPS is off. */
  readonly server: DaemonServer | undefined;
  readonly recorders: readonly ApiEventRecorder[];
  readonly connections: readonly Connection[];
  readonly elections: readonly Election[];
  readonly tracer: Tracer | undefined;
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
