/** The scheduler as a program of its own. */

import { readFile, writeFile } from 'node:fs/promises';
import { messageOf } from '#apimachinery/errors/message.js';
import { createControlLoop } from '#control-loop/control-loop.js';
import type { Daemon } from '#daemon/daemon.js';
import type { ProcessFacts } from '#daemon/metrics/process-metrics.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { OptionsError } from '#daemon/options/errors.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { validateOptions } from '#daemon/options/validate.js';
import type { Program, ProgramContext } from '#daemon/run.js';
import { explainPages } from '#scheduler/explain/page.js';
import { httpExtenders } from '#scheduler/extenders/http-extenders.js';
import { schedulerMetrics } from '#scheduler/metrics/metrics.js';
import { formatSchedulerConfig, schedulerConfig } from '#scheduler/options/config/format.js';
import { pluginsOfModules, type ResolvedScheduler, resolveScheduler } from '#scheduler/options/config/resolve.js';
import { type SchedulerOptionTable, schedulerOptions, schedulerRules } from '#scheduler/options/options.js';
import { maxDisksWarning } from '#scheduler/plugins/disk-limits.js';
import { makeProfiles } from '#scheduler/plugins/make-profiles.js';
import { type PluginKind, schedulerGates } from '#scheduler/plugins/registry.js';
import { Scheduler } from '#scheduler/scheduler.js';
import { openLeaderLock } from '#storage/etcd/open-leader-lock.js';

type Context = ProgramContext<SchedulerOptionTable>;

/** `facts`: what the metrics tell of the process. */
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
  const { dialect, clock, random, log } = context;
  const { morePlugins, options, settings } = await resolve(context);
  const { values } = options;
  const name = dialect.components.scheduler;
  const plugins = { gates: new FeatureGates(values['feature-gates']), env: context.env };
  const idle = maxDisksWarning(context.env, dialect);
  if (idle !== undefined) log.warn(idle);
  const profiles = makeProfiles(settings, dialect, plugins, morePlugins);
  const config = schedulerConfig(values, settings, dialect);
  log.debug({ config }, 'Using component config');
  const target = values['write-config-to'] ?? '';
  if (target !== '') {
    return task(name, async () => {
      await writeFile(target, formatSchedulerConfig(values, settings, dialect), { mode: 0o644 });
      log.info({ file: target }, 'Wrote configuration');
    });
  }
  const extenders = await httpExtenders(settings.extenders, { clock, env: context.env, log });
  const metrics = createRegistry({ dialect, process: facts });
  return createControlLoop({
    context: { ...context, values },
    name,
    eventSource: dialect.components.defaultScheduler,
    metrics,
    openEtcdLock: (where) => openLeaderLock({ values, clock, random, ...where }),
    configz: { componentconfig: config },
    create: ({ client, recorder, leadership }) => {
      const loop = new Scheduler({
        client,
        recorder,
        dialect,
        clock,
        random,
        log,
        metrics: schedulerMetrics(metrics),
        registry: metrics,
        maxUnschedulableMs: values['pod-max-in-unschedulable-pods-duration'],
        initialBackoffMs: settings.podInitialBackoffMs,
        maxBackoffMs: settings.podMaxBackoffMs,
        percentageOfNodesToScore: settings.percentageOfNodesToScore,
        profiles,
        extenders,
        ...(leadership === undefined ? {} : { leadership }),
      });
      return { loop, debug: explainPages({ view: () => loop.view, dialect, clock, profiles, extenders }) };
    },
  });
}

/** The options with the file of `--config`, which is validated as the command line was. */
async function resolve(context: Context): Promise<ResolvedScheduler & { morePlugins: readonly PluginKind[] }> {
  const { dialect, values, log } = context;
  const source = values.config ?? '';
  const table = schedulerOptions(dialect);
  const file = source === '' ? undefined : { source, text: await textOf(source) };
  const morePlugins = file === undefined ? [] : await pluginsOfModules(file);
  const resolved = resolveScheduler(context, {
    table,
    dialect,
    morePlugins,
    ...(file === undefined ? {} : { file }),
  });
  for (const warning of resolved.options.warnings.slice(context.warnings.length)) log.warn(warning);
  validateOptions(resolved.options, schedulerRules);
  return { ...resolved, morePlugins };
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new OptionsError([`--config: cannot read ${path}: ${messageOf(error)}`]);
  }
}

/** A daemon whose work is over when that one thing is done. */
function task(name: string, work: () => Promise<void>): Daemon {
  return { name, start: work, ready: () => Promise.resolve(), close: () => Promise.resolve() };
}
