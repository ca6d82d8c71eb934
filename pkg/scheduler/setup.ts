/** What a scheduler decides with, from its command line and the file that it names. */
import { readFile } from 'node:fs/promises';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { OptionsError } from '#daemon/options/option.js';
import type { ParsedOptions } from '#daemon/options/parse.js';
import { validateOptions } from '#daemon/options/validate.js';
import type { Profile } from '#scheduler/framework/profile.js';
import { pluginsOfModules, resolveScheduler } from '#scheduler/options/config/resolve.js';
import type { SchedulerSettings } from '#scheduler/options/config/settings.js';
import {
  type SchedulerOptionTable,
  type SchedulerOptionValues,
  schedulerOptions,
  schedulerRules,
} from '#scheduler/options/options.js';
import { maxDisksWarning } from '#scheduler/plugins/disk-limits.js';
import { makeProfiles } from '#scheduler/plugins/make-profiles.js';
import type { SchedulingLoopOptions } from '#scheduler/scheduling-loop.js';

export interface SetupContext {
  readonly dialect: Dialect;
  /** Hears what counts for nothing. */
  readonly log: Logger;
  /** Variables of the environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface SchedulerSetup {
  /** The options, with what the file says instead. */
  readonly values: SchedulerOptionValues;
  readonly settings: SchedulerSettings;
  readonly profiles: readonly Profile[];
  /** What follows from both for the loop, beside profiles and extenders. */
  readonly limits: Pick<
    SchedulingLoopOptions,
    'maxUnschedulableMs' | 'initialBackoffMs' | 'maxBackoffMs' | 'percentageOfNodesToScore'
  >;
}

/** Rejects with an OptionsError for what the file or the profiles cannot mean. The rules of the command line hold again. */
export async function setUpScheduler(
  parsed: ParsedOptions<SchedulerOptionTable>,
  { dialect, env, log }: SetupContext,
): Promise<SchedulerSetup> {
  const source = parsed.values.config ?? '';
  const table = schedulerOptions(dialect);
  const file = source === '' ? undefined : { source, text: await textOf(source) };
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
  const idle = maxDisksWarning(env, dialect);
  if (idle !== undefined) log.warn(idle);
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

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new OptionsError([`--config: cannot read ${path}: ${messageOf(error)}`]);
  }
}
