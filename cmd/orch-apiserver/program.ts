/** The API server as a program of its own. */

import { availableParallelism, networkInterfaces, totalmem } from 'node:os';
import { type MessagePort, Worker } from 'node:worker_threads';
import { apiGates } from '#api/api-gates.js';
import { type ApiServerSetup, buildApiServer, buildApiServerWorker } from '#apiserver/config.js';
import { serverGates } from '#apiserver/identity/server-identity.js';
import { apiServerOptions } from '#apiserver/options/options.js';
import { apiServerProgramRules } from '#apiserver/options/rules.js';
import type { WorkerData } from '#apiserver/workers/messages.js';
import { WorkerLink } from '#apiserver/workers/worker-link.js';
import { type SpawnWorker, workerLimits } from '#apiserver/workers/worker-pool.js';
import { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import { InspectorProfilerSource } from '#daemon/debugging/profiler.js';
import { garbageCollector } from '#daemon/memory/garbage-collector.js';
import type { ProcessFacts } from '#daemon/metrics/process-metrics.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import type { Program, ProgramContext } from '#daemon/run.js';

interface MemoryLimit {
  /** Bytes that the system lets the process have; 0 or more than there are without a limit. */
  constrainedMemory(): number;
}

type Facts = ProcessFacts & MemoryLimit;
type Options = ReturnType<typeof apiServerOptions>;

function availableBytes(limit: MemoryLimit): number {
  const bytes = limit.constrainedMemory();
  return bytes > 0 ? Math.min(bytes, totalmem()) : totalmem();
}

/** `facts`: what the metrics tell of the process. `spawn`: starts a thread that runs `apiServerWorkerProgram`. */
export function apiServerProgram(facts: Facts, spawn: SpawnWorker = spawnWorker): Program<Options> {
  return {
    ...common,
    create: (context) => {
      const { dialect, verbosity } = context;
      return buildApiServer({
        ...setupOf(context, facts, verbosity),
        metrics: createRegistry({ dialect, process: facts }),
        workers: { spawn, cores: availableParallelism(), verbosity },
      });
    },
  };
}

export interface WorkerThread {
  readonly data: WorkerData;
  /** To the main thread. */
  readonly port: MessagePort;
  /** Called when the thread is to end its work. */
  readonly stop: () => void;
  /** Answers at further paths. */
  readonly paths?: ApiServerSetup['paths'];
}

/** A thread of that program which serves requests. */
export function apiServerWorkerProgram(facts: Facts, { paths = {}, ...thread }: WorkerThread): Program<Options> {
  return {
    ...common,
    isThread: true,
    create: (context) => {
      const { dialect, clock, verbosity, log } = context;
      const metrics = createRegistry({ dialect });
      const link = new WorkerLink({ ...thread, clock, metrics, verbosity });
      const own = { ...context, log: log.child({ worker: thread.data.index }) };
      return buildApiServerWorker({ ...setupOf(own, facts, link.verbosity), metrics, paths }, link);
    },
  };
}

const common = {
  name: (dialect) => dialect.components.apiServer,
  description:
    'Serves the cluster’s API: keeps its objects in etcd, decides who may do what, and validates, defaults and publishes every change.',
  options: apiServerOptions,
  rules: apiServerProgramRules,
  actingGates: () => [...apiGates(), ...serverGates],
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

/** Relative to the folder above, which this file shares with `worker.js` however it was bundled. */
const spawnWorker: SpawnWorker = (workerData, transferList) =>
  new Worker(new URL('../orch-apiserver/worker.js', import.meta.url), {
    argv: process.argv.slice(2),
    workerData,
    transferList: [...transferList],
    resourceLimits: workerLimits,
  });
