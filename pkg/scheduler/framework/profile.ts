import { OptionsError } from '#daemon/options/option.js';
import { clusterEvents } from '#scheduler/cluster/events.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Extender } from '#scheduler/framework/extender.js';
import type {
  FilterPoint,
  Plugin,
  PostFilter,
  PreemptionArgs,
  QueueSort,
  ScorePoint,
} from '#scheduler/framework/plugin.js';
import {
  mergedPlugins,
  type NamedPlugin,
  type PluginPoint,
  type PluginSets,
  pluginsAt,
} from '#scheduler/framework/plugin-sets.js';

/** A plugin's implementation of one extension point. */
export interface At<P> {
  readonly plugin: string;
  readonly point: P;
}

type Method<N extends 'reserve' | 'permit' | 'preBind' | 'bind' | 'postBind'> = readonly At<NonNullable<Plugin[N]>>[];

/** The plugins for the pods with one `schedulerName`, in order. */
export interface Profile {
  readonly schedulerName: string;
  /** Plugin → events that could help a pod it rejected. */
  readonly events: ReadonlyMap<string, NonNullable<Plugin['events']>>;
  readonly queueSort: At<QueueSort>;
  readonly filters: readonly At<FilterPoint>[];
  readonly postFilters: readonly At<PreemptionArgs | PostFilter>[];
  readonly scores: readonly (At<ScorePoint> & { readonly weight: number })[];
  readonly reserves: Method<'reserve'>;
  readonly permits: Method<'permit'>;
  readonly preBinds: Method<'preBind'>;
  readonly binds: Method<'bind'>;
  readonly postBinds: Method<'postBind'>;
  /** Absent: preemption is disabled. */
  readonly preemption: PreemptionArgs | undefined;
}

export interface ProfileInputs {
  readonly schedulerName: string;
  /** Plugins enabled at all their points by default. */
  readonly defaults: readonly NamedPlugin[];
  /** Changes from the configuration file. */
  readonly sets?: PluginSets;
  /** All plugins by name, each created once. */
  readonly plugins: ReadonlyMap<string, Plugin>;
}

/** Throws OptionsError for a plugin at a point it does not implement, no or two queue sorts, or no binder, as 1.24. */
export function makeProfile({ defaults, plugins, schedulerName, sets = {} }: ProfileInputs): Profile {
  const multiPoint = mergedPlugins(defaults, sets.multiPoint);
  const errors: string[] = [];
  /** The plugins that are enabled at the point and have it. */
  const at = <P>(point: PluginPoint, pointOf: (plugin: Plugin) => P | undefined) =>
    pluginsAt(multiPoint, sets[point], (name) => pointOf(plugins.get(name) ?? { name }) !== undefined).flatMap(
      ({ name, weight }) => {
        const own = pointOf(plugins.get(name) ?? { name });
        if (own !== undefined) return [{ plugin: name, point: own, weight: (weight ?? 0) === 0 ? 1 : (weight ?? 1) }];
        errors.push(`plugin ${JSON.stringify(name)} does not extend ${typeName(point)} plugin`);
        return [];
      },
    );
  const filters = at('filter', ({ filter }) => filter);
  const postFilters = at('postFilter', ({ postFilter, preemption }) => postFilter ?? preemption);
  const sorts = at('queueSort', ({ queueSort }) => queueSort);
  const reserves = at('reserve', (plugin) => plugin.reserve?.bind(plugin));
  const permits = at('permit', (plugin) => plugin.permit?.bind(plugin));
  const binds = at('bind', (plugin) => plugin.bind?.bind(plugin));
  const name = JSON.stringify(schedulerName);
  const [queueSort] = sorts;
  if (queueSort === undefined || sorts.length > 1) {
    errors.push(`only one queue sort plugin required for profile with scheduler name ${name}, but got ${sorts.length}`);
  }
  if (binds.length === 0) errors.push(`at least one bind plugin is needed for profile with scheduler name ${name}`);
  const refusing = [...filters, ...reserves, ...permits].map(({ plugin }) => plugin);
  const profile = {
    schedulerName,
    events: new Map(refusing.map((plugin) => [plugin, plugins.get(plugin)?.events ?? []])),
    filters,
    postFilters,
    scores: at('score', ({ score }) => score),
    reserves,
    permits,
    // Reservations have their own `preBind`.
    preBinds: at('preBind', (plugin) => plugin.preBind?.bind(plugin) ?? (plugin.reserve && noPreBind)),
    binds,
    postBinds: at('postBind', (plugin) => plugin.postBind?.bind(plugin)),
    preemption: postFilters.flatMap(({ point }) => (typeof point === 'function' ? [] : [point]))[0],
  };
  if (errors.length > 0 || queueSort === undefined) throw new OptionsError(errors);
  return { ...profile, queueSort, preBinds: profile.preBinds.filter(({ point }) => point !== noPreBind) };
}

const noPreBind = () => Promise.resolve();

/** The interface name in release 1.24, such as `FilterPlugin`. */
const typeName = (point: PluginPoint): string => `${point.charAt(0).toUpperCase()}${point.slice(1)}Plugin`;

/** Throws OptionsError unless all profiles use the same queue sort plugin, since they share the queue. */
export function checkQueueSorts(profiles: readonly Profile[]): void {
  const [first] = profiles;
  for (const { queueSort, schedulerName } of profiles) {
    if (first === undefined || queueSort.plugin === first.queueSort.plugin) continue;
    const [name, other, one] = [schedulerName, queueSort.plugin, first.queueSort.plugin].map((text) =>
      JSON.stringify(text),
    );
    throw new OptionsError([`different queue sort plugins for profile ${name}: ${other}, first: ${one}`]);
  }
}

/**
 * The profile extended by extenders: an extender that binds comes before all Bind plugins. Only the extender knows what
 * could help a pod that it refused, so every event triggers a retry.
 */
export function withExtenders(profile: Profile, extenders: readonly Extender[], stop: AbortSignal): Profile {
  if (extenders.length === 0) return profile;
  const binds = extenders.flatMap((extender) => {
    const { bind } = extender;
    if (bind === undefined) return [];
    const point = async (pod: PodInfo, { name }: { readonly name: string }) => {
      if (!extender.isInterested(pod)) return false;
      await bind(pod, name, stop);
      return true;
    };
    return [{ plugin: extender.name, point }];
  });
  const events = extenders.map(({ name }) => [name, clusterEvents] as const);
  return { ...profile, binds: [...binds, ...profile.binds], events: new Map([...profile.events, ...events]) };
}
