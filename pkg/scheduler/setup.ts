/** Builds the scheduler's settings and profiles from the command line and the configuration file. */
import { readFile } from 'node:fs/promises';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { OptionsError } from '#daemon/options/option.js';
import type { ParsedOptions } from '#daemon/options/parse.js';
import { validateOptions } from '#daemon/options/validate.js';
import type { Profile } from '#scheduler/framework/profile.js';
import type { SchedulingLoopOptions } from '#scheduler/loop/scheduling-loop.js';
import { pluginsOfModules, resolveScheduler } from '#scheduler/options/config/resolve.js';
import type { SchedulerSettings } from '#scheduler/options/config/settings.js';
import {
  type SchedulerOptionTable,
  type SchedulerOptionValues,
  schedulerOptions,
  schedulerRules,
} from '#scheduler/options/options.js';
import { maxDisksWarning } from '#scheduler/plugins/disk-limits.js';
import { makeProfiles } from '#scheduler/plugins/profiles.js';

export interface SetupContext {
  readonly dialect: Dialect;
  /** Receives warnings about settings that have no effect. */
  readonly log: Logger;
  /** Environment variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface SchedulerSetup {
  /** The options after the configuration file has overridden them. */
  readonly values: SchedulerOptionValues;
  readonly settings: SchedulerSettings;
  readonly profiles: readonly Profile[];
  /** The loop's limits, from options and settings. */
  readonly limits: Pick<
    SchedulingLoopOptions,
    'maxUnschedulableMs' | 'initialBackoffMs' | 'maxBackoffMs' | 'percentageOfNodesToScore'
  >;
}

/** Rejects with an OptionsError if the file or a profile is invalid. Checks the options' rules again on the result. */
export async function setUpScheduler(
  parsed: ParsedOptions<SchedulerOptionTable>,
  { dialect, env, log }: SetupContext,
): Promise<SchedulerSetup> {
  const source = parsed.values.config ?? '';
  const table = schedulerOptions(dialect);
  const file = source === '' ? undefined : { source, text: await readConfigFile(source) };
  const morePlugins = file === undefined ? [] : await pluginsOfModules(file);
  const { options, settings } = resolveScheduler(parsed, {
    table,
    dialect,
    morePlugins,
    ...(file === undefined ? {} : { file }),
  });
  for (const warning of options.warnings.slice(parsed.warnings.length)) log.warn(warning);
  validateOptions(options, schedulerRules);
  const { values } = options;
  const warning = maxDisksWarning(env, dialect);
  if (warning !== undefined) log.warn(warning);
  const gates = new FeatureGates(values['feature-gates']);
  return {
    values,
    settings,
    profiles: makeProfiles(settings, dialect, { gates, env }, morePlugins),
    limits: {
      maxUnschedulableMs: values['pod-max-in-unschedulable-pods-duration'],
      initialBackoffMs: settings.podInitialBackoffMs,
      maxBackoffMs: settings.podMaxBackoffMs,
      percentageOfNodesToScore: settings.percentageOfNodesToScore,
    },
  };
}

async function readConfigFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new OptionsError([`--config: cannot read ${path}: ${messageOf(error)}`]);
  }
}
