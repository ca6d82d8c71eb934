/** The scheduler as a program of its own. */
import { createControlLoop } from '#client/control-loop/control-loop.js';
import type { Daemon } from '#daemon/daemon.js';
import type { ProcessFacts } from '#daemon/metrics/process-metrics.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import type { Program, ProgramContext } from '#daemon/run.js';
import { schedulerMetrics } from '#scheduler/metrics.js';
import { type SchedulerOptionTable, schedulerOptions, schedulerRules } from '#scheduler/options.js';
import { Scheduler } from '#scheduler/scheduler.js';

/** `facts`: what the metrics tell of the process. */
export function schedulerProgram(facts: ProcessFacts): Program<SchedulerOptionTable> {
  return {
    name: (dialect) => dialect.components.scheduler,
    description: 'Assigns pods to nodes that can take them.',
    options: schedulerOptions,
    rules: schedulerRules,
    create: (context) => create(context, facts),
  };
}

async function create(context: ProgramContext<SchedulerOptionTable>, facts: ProcessFacts): Promise<Daemon> {
  const { values, dialect, clock, random, log } = context;
  const metrics = createRegistry({ dialect, process: facts });
  return createControlLoop({
    context,
    name: dialect.components.scheduler,
    eventSource: dialect.components.defaultScheduler,
    metrics,
    create: ({ client, recorder, leadership }) => {
      const loop = new Scheduler({
        client,
        recorder,
        dialect,
        clock,
        random,
        log,
        metrics: schedulerMetrics(metrics),
        maxUnschedulableMs: values['pod-max-in-unschedulable-pods-duration'],
        ...(leadership === undefined ? {} : { leadership }),
      });
      return { loop };
    },
  });
}
