import type { FilterPoint, Plugin, ScorePoint } from '#scheduler/framework/plugin.js';

/** A plugin at one point. */
export interface At<P> {
  readonly plugin: string;
  readonly point: P;
}

/** Which plugins decide for the pods of one scheduler name, in order. */
export interface Profile {
  readonly schedulerName: string;
  readonly plugins: readonly Plugin[];
  readonly filters: readonly At<FilterPoint>[];
  readonly scores: readonly (At<ScorePoint> & { readonly weight: number })[];
}

/** A plugin that a profile enables at all its points. */
export interface EnabledPlugin {
  readonly plugin: Plugin;
  /** Of its score; 1 when absent. */
  readonly weight?: number;
}

export function makeProfile(schedulerName: string, enabled: readonly EnabledPlugin[]): Profile {
  return {
    schedulerName,
    plugins: enabled.map(({ plugin }) => plugin),
    filters: enabled.flatMap(({ plugin: { name, filter } }) =>
      filter === undefined ? [] : [{ plugin: name, point: filter }],
    ),
    scores: enabled.flatMap(({ plugin: { name, score }, weight = 1 }) =>
      score === undefined ? [] : [{ plugin: name, point: score, weight }],
    ),
  };
}
