/** What a scheduler's configuration file says beyond the options. */
import type { ExtenderSettings } from '#scheduler/extenders/settings.js';
import type { ProfileSettings } from '#scheduler/plugins/profiles.js';

export interface SchedulerSettings {
  /** One for each name that pods ask for. */
  readonly profiles: readonly ProfileSettings[];
  /** 0 leaves it to the size of the cluster. */
  readonly percentageOfNodesToScore: number;
  readonly podInitialBackoffMs: number;
  readonly podMaxBackoffMs: number;
  readonly extenders: readonly ExtenderSettings[];
  /** Absolute paths of modules with further plugins. */
  readonly pluginModules: readonly string[];
}

/** Release 1.24's, for a scheduler without a file. */
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
