import type { FilterPoint, Plugin, PreemptionArgs, ScorePoint } from '#scheduler/framework/plugin.js';
import { mergedPlugins, type NamedPlugin, type PluginSets, pluginsAt } from '#scheduler/framework/plugin-sets.js';

/** A plugin at one point. */
export interface At<P> {
  readonly plugin: string;
  readonly point: P;
}

/** Which plugins decide for the pods of one scheduler name, in order. */
export interface Profile {
  readonly schedulerName: string;
  /** Of the filters: what could help pods that they rejected. */
  readonly events: ReadonlyMap<string, NonNullable<Plugin['events']>>;
  readonly filters: readonly At<FilterPoint>[];
  readonly scores: readonly (At<ScorePoint> & { readonly weight: number })[];
  readonly reserves: readonly At<NonNullable<Plugin['reserve']>>[];
  /** Absent: no pod is evicted for another. */
  readonly preemption: PreemptionArgs | undefined;
}

export interface ProfileInputs {
  readonly schedulerName: string;
  /** Those enabled at all their points unless told otherwise. */
  readonly defaults: readonly NamedPlugin[];
  /** What the configuration says of points. */
  readonly sets?: PluginSets;
  /** Every plugin that is named, made once. */
  readonly plugins: ReadonlyMap<string, Plugin>;
}

export function makeProfile({ defaults, plugins, schedulerName, sets = {} }: ProfileInputs): Profile {
  const multiPoint = mergedPlugins(defaults, sets.multiPoint);
  /** The plugins that are enabled at the point and have it. */
  const at = <P>(point: keyof PluginSets, of: (plugin: Plugin) => P | undefined) =>
    pluginsAt(multiPoint, sets[point], (name) => of(plugins.get(name) ?? { name }) !== undefined).flatMap(
      ({ name, weight }) => {
        const has = of(plugins.get(name) ?? { name });
        return has === undefined ? [] : [{ plugin: name, point: has, weight: (weight ?? 0) === 0 ? 1 : (weight ?? 1) }];
      },
    );
  const filters = at('filter', ({ filter }) => filter);
  return {
    schedulerName,
    events: new Map(filters.map(({ plugin }) => [plugin, plugins.get(plugin)?.events ?? []])),
    filters,
    scores: at('score', ({ score }) => score),
    reserves: at('reserve', ({ reserve }) => reserve),
    preemption: at('postFilter', ({ preemption }) => preemption)[0]?.point,
  };
}
