/** Settings of the configuration file that have no option. */
import type { ExtenderSettings } from '#scheduler/extenders/settings.js';
import type { ProfileSettings } from '#scheduler/plugins/profiles.js';

export interface SchedulerSettings {
  /** One per scheduler name. */
  readonly profiles: readonly ProfileSettings[];
  /** 0: depends on the size of the cluster. */
  readonly percentageOfNodesToScore: number;
  readonly podInitialBackoffMs: number;
  readonly podMaxBackoffMs: number;
  readonly extenders: readonly ExtenderSettings[];
  /** Absolute paths of plugin modules. */
  readonly pluginModules: readonly string[];
}

/** Defaults of release 1.24, for a scheduler without a file. */
export function defaultSettings(schedulerName: string): SchedulerSettings {
  return {
    profiles: [{ schedulerName, sets: {}, args: {} }],
    percentageOfNodesToScore: 0,
    podInitialBackoffMs: 1000,
    podMaxBackoffMs: 10_000,
    extenders: [],
    pluginModules: [],
  };
}
