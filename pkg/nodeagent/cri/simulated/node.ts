/** Nodes without containers: the same node agent on a runtime in memory. */
import { randomBytes } from 'node:crypto';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { SimulatedChecker } from '#nodeagent/cri/simulated/checker.js';
import { SimulatedRuntime } from '#nodeagent/cri/simulated/runtime.js';
import { SimulatedMachine } from '#nodeagent/node/machine.js';
import type { NodeAgentDependencies } from '#nodeagent/nodeagent.js';

export type SimulatedDependencies = Pick<
  NodeAgentDependencies,
  'cri' | 'machine' | 'checker' | 'logFiles' | 'writeFiles'
>;

/** Value of `--container-runtime-endpoint` that asks for it. */
export const simulatedEndpoint = 'simulated';

/** What a node agent needs of its surroundings, in memory. `podCIDR`: the addresses of its pods. */
export function simulatedDependencies(options: {
  dialect: Dialect;
  clock: Clock;
  podCIDR: string;
}): SimulatedDependencies {
  const { dialect, clock, podCIDR } = options;
  const runtime = new SimulatedRuntime({
    clock,
    labelDomain: dialect.labelDomain,
    podCIDR,
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
