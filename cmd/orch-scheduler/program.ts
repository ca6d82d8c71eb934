/** The scheduler as a separate program. */

import { writeFile } from 'node:fs/promises';
import { createControlLoop } from '#control-loop/control-loop.js';
import type { Daemon } from '#daemon/daemon.js';
import type { ProcessFacts } from '#daemon/metrics/process-metrics.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import type { Program, ProgramContext } from '#daemon/run.js';
import { explainPages } from '#scheduler/explain/page.js';
import { httpExtenders } from '#scheduler/extenders/http-extender.js';
import { schedulerMetrics } from '#scheduler/metrics/metrics.js';
import { addPodResources } from '#scheduler/metrics/pod-resources-route.js';
import { formatSchedulerConfig, schedulerConfig } from '#scheduler/options/config/format.js';
import { type SchedulerOptionTable, schedulerOptions, schedulerRules } from '#scheduler/options/options.js';
import { schedulerGates } from '#scheduler/plugins/registry.js';
import { Scheduler } from '#scheduler/scheduler.js';
import { setUpScheduler } from '#scheduler/setup.js';
import { openLeaderLock } from '#storage/etcd/leader-lock.js';

type Context = ProgramContext<SchedulerOptionTable>;

/** `facts`: process metrics. */
export function schedulerProgram(facts: ProcessFacts): Program<SchedulerOptionTable> {
  return {
    name: (dialect) => dialect.components.scheduler,
    description: 'Assigns pods to nodes that can take them.',
    options: schedulerOptions,
    rules: schedulerRules,
    actingGates: () => schedulerGates,
    create: (context) => create(context, facts),
  };
}

async function create(context: Context, facts: ProcessFacts): Promise<Daemon> {
  const { dialect, clock, env, random, log } = context;
  const { limits, profiles, settings, values } = await setUpScheduler(context, context);
  const name = dialect.components.scheduler;
  const config = schedulerConfig(values, settings, dialect);
  log.debug({ config }, 'using component config');
  const target = values['write-config-to'] ?? '';
  if (target !== '') {
    return task(name, async () => {
      await writeFile(target, formatSchedulerConfig(values, settings, dialect), { mode: 0o644 });
      log.info({ file: target }, 'wrote configuration');
    });
  }
  const extenders = await httpExtenders(settings.extenders, { clock, env, log });
  const metrics = createRegistry({ dialect, process: facts });
  return createControlLoop({
    context: { ...context, values },
    name,
    eventSource: dialect.components.defaultScheduler,
    metrics,
    openEtcdLock: (where) => openLeaderLock({ values, clock, random, ...where }),
    configz: { componentconfig: config },
    create: ({ client, recorder, leadership, tracer }) => {
      const loop = new Scheduler({
        client,
        recorder,
        dialect,
        clock,
        random,
        log,
        metrics: schedulerMetrics(metrics),
        registry: metrics,
        ...limits,
        profiles,
        extenders,
        ...(leadership === undefined ? {} : { leadership }),
        ...(tracer === undefined ? {} : { tracer }),
      });
      const view = () => loop.view;
      return {
        loop,
        debug: explainPages({ view, dialect, clock, profiles, extenders }),
        routes: (app) => addPodResources(app, { pods: () => view()?.pods(), dialect }),
      };
    },
  });
}

/** A daemon that ends when its task is done. */
function task(name: string, work: () => Promise<void>): Daemon {
  return { name, start: work, ready: () => Promise.resolve(), close: () => Promise.resolve() };
}
