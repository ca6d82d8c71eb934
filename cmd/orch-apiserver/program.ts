/** The API server as a program of its own: one process, or a supervisor and its workers. */

import { availableParallelism, networkInterfaces, totalmem } from 'node:os';
import { apiGates } from '#api/api-gates.js';
import { type ApiServerSetup, buildApiServer } from '#apiserver/build/build.js';
import { serverGates } from '#apiserver/identity/server-identity.js';
import { type ApiServerValues, apiServerOptions } from '#apiserver/options/options.js';
import { apiServerProgramRules } from '#apiserver/options/rules.js';
import type { WorkerPlace } from '#apiserver/workers/messages.js';
import { type SpawnWorker, WorkerSupervisor, workerCount } from '#apiserver/workers/supervisor.js';
import { type Channel, WorkerLink } from '#apiserver/workers/worker-link.js';
import { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import { InspectorProfilerSource } from '#daemon/debugging/profiler.js';
import { garbageCollector } from '#daemon/memory/idle-collector.js';
import type { ProcessFacts } from '#daemon/metrics/process-metrics.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import type { Program, ProgramContext } from '#daemon/run.js';

interface MemoryLimit {
  /** Memory limit in bytes; 0, or more than the machine has, without a limit. */
  constrainedMemory(): number;
}

type Facts = ProcessFacts & MemoryLimit;
type Options = ReturnType<typeof apiServerOptions>;

function availableBytes(limit: MemoryLimit): number {
  const bytes = limit.constrainedMemory();
  return bytes > 0 ? Math.min(bytes, totalmem()) : totalmem();
}

/** Time to stop after the shutdown delay: 5 s for requests, 2 s for the endpoints, the rest for cleanup. */
const shutdownSlackMs = 12_000;

/** The longest time for requests under way after the delay. */
function drainMs(values: ApiServerValues): number {
  return values['shutdown-send-retry-after'] ? values['request-timeout'] : 0;
}

/** `facts`: the process's figures for the metrics. `spawn`: starts a process that runs `apiServerWorkerProgram`. */
export function apiServerProgram(facts: Facts, spawn: SpawnWorker): Program<Options> {
  return {
    ...common,
    create: (context) => {
      const { dialect, verbosity, values, clock, log } = context;
      const metrics = createRegistry({ dialect, process: facts });
      const count = values['secure-port'] === 0 ? 1 : workerCount(values.workers, availableParallelism());
      if (count === 1) return buildApiServer({ ...setupOf(context, facts, verbosity), metrics });
      return new WorkerSupervisor({
        name: dialect.components.apiServer,
        count,
        spawn,
        shutdownMs: values['shutdown-delay-duration'] + drainMs(values) + shutdownSlackMs,
        clock,
        log,
        metrics,
        verbosity,
      });
    },
  };
}

export interface WorkerSetup {
  readonly place: WorkerPlace;
  readonly channel: Channel;
  /** Called when the process should end. */
  readonly stop: () => void;
  /** Handlers of further paths. */
  readonly paths?: ApiServerSetup['paths'];
}

/** A worker process of the API server. */
export function apiServerWorkerProgram(facts: Facts, { paths = {}, ...setup }: WorkerSetup): Program<Options> {
  return {
    ...common,
    isWorker: true,
    create: (context) => {
      const { dialect, clock, verbosity, log } = context;
      const metrics = createRegistry({ dialect, process: facts });
      const worker = new WorkerLink({ ...setup, clock, metrics, verbosity });
      const own = { ...context, log: log.child({ worker: setup.place.index }) };
      return buildApiServer({ ...setupOf(own, facts, worker.verbosity), metrics, paths, worker });
    },
  };
}

const common = {
  name: (dialect) => dialect.components.apiServer,
  description:
    'Serves the cluster’s API: stores its objects in etcd, authorizes requests, and validates and publishes every change.',
  options: apiServerOptions,
  rules: apiServerProgramRules,
  actingGates: () => [...new Set([...apiGates(), ...serverGates])],
} satisfies Omit<Program<Options>, 'create'>;

function setupOf(
  { values, dialect, clock, log, argv, random }: ProgramContext<Options>,
  facts: Facts,
  verbosity: { level: number },
): ApiServerSetup {
  return {
    values,
    dialect,
    clock,
    log,
    random,
    debug: new DebugEndpoints({
      argv,
      configz: { [dialect.components.apiServer]: values },
      ...(values.profiling ? { verbosity, profiler: new InspectorProfilerSource({ clock }) } : {}),
    }),
    memoryBytes: availableBytes(facts),
    idleCollection: { cpuUsage: () => facts.cpuUsage(), collect: garbageCollector() },
    machineAddresses: Object.values(networkInterfaces()).flatMap((addresses = []) =>
      addresses.filter(({ internal }) => !internal).map(({ address }) => address),
    ),
  };
}
