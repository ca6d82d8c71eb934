/** The API server as a program of its own. */

import { networkInterfaces, totalmem } from 'node:os';
import { apiGates } from '#api/api-gates.js';
import { buildApiServer } from '#apiserver/config.js';
import { apiServerOptions } from '#apiserver/options/options.js';
import { apiServerProgramRules } from '#apiserver/options/rules.js';
import { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import { InspectorProfilerSource } from '#daemon/debugging/profiler.js';
import { garbageCollector } from '#daemon/memory/garbage-collector.js';
import type { ProcessFacts } from '#daemon/metrics/process-metrics.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import type { Program } from '#daemon/run.js';

interface MemoryLimit {
  /** Bytes that the system lets the process have; 0 or more than there are without a limit. */
  constrainedMemory(): number;
}

function availableBytes(limit: MemoryLimit): number {
  const bytes = limit.constrainedMemory();
  return bytes > 0 ? Math.min(bytes, totalmem()) : totalmem();
}

/** `facts`: what the metrics tell of the process. */
export function apiServerProgram(facts: ProcessFacts & MemoryLimit): Program<ReturnType<typeof apiServerOptions>> {
  return {
    name: (dialect) => dialect.components.apiServer,
    description:
      'Serves the cluster’s API: keeps its objects in etcd, decides who may do what, and validates, defaults and publishes every change.',
    options: apiServerOptions,
    rules: apiServerProgramRules,
    actingGates: apiGates,
    create: ({ values, dialect, clock, log, verbosity, argv, random }) =>
      buildApiServer({
        values,
        dialect,
        clock,
        log,
        random,
        metrics: createRegistry({ dialect, process: facts }),
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
      }),
  };
}
