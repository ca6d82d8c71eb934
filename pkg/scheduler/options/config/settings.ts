/** What a scheduler's configuration file says beyond the options. */

export interface SchedulerSettings {
  /** The names that pods ask for, one profile each. */
  readonly schedulerNames: readonly string[];
  /** 0 leaves it to the size of the cluster. */
  readonly percentageOfNodesToScore: number;
  readonly podInitialBackoffMs: number;
  readonly podMaxBackoffMs: number;
}

/** Release 1.24's, for a scheduler without a file. */
export function defaultSettings(schedulerName: string): SchedulerSettings {
  return {
    schedulerNames: [schedulerName],
    percentageOfNodesToScore: 0,
    podInitialBackoffMs: 1000,
    podMaxBackoffMs: 10_000,
  };
}
