/** Nodes without containers: the same node agent on a runtime in memory. */
import { randomBytes } from 'node:crypto';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { SimulatedChecker } from '#nodeagent/simulated/checker.js';
import type { SimulatedLogFiles } from '#nodeagent/simulated/log-files.js';
import { SimulatedMachine } from '#nodeagent/simulated/machine.js';
import { SimulatedRuntime, type SimulatedRuntimeOptions } from '#nodeagent/simulated/runtime.js';

export interface SimulatedDependencies {
  readonly cri: SimulatedRuntime;
  readonly machine: SimulatedMachine;
  readonly checker: SimulatedChecker;
  readonly logFiles: SimulatedLogFiles;
  readonly writeFiles: false;
}

/** Value of `--container-runtime-endpoint` that asks for it. */
export const simulatedEndpoint = 'simulated';

/** What a node agent needs of its surroundings, in memory. `podCIDR`: addresses of its pods before the agent tells any. */
export function simulatedDependencies(options: {
  dialect: Dialect;
  clock: Clock;
  podCIDR?: string | undefined;
  onConnection?: SimulatedRuntimeOptions['onConnection'];
}): SimulatedDependencies {
  const { dialect, clock, onConnection, podCIDR } = options;
  const runtime = new SimulatedRuntime({
    clock,
    labelDomain: dialect.labelDomain,
    ...(podCIDR === undefined ? {} : { podCIDR }),
    onConnection,
    newID: () => randomBytes(32).toString('hex'),
  });
  return {
    cri: runtime,
    machine: new SimulatedMachine(),
    checker: new SimulatedChecker(runtime),
    logFiles: runtime.logFiles,
    writeFiles: false,
  };
}
