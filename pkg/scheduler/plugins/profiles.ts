/** Profiles: the default one, and those of a configuration. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { Plain } from '#daemon/options/config-decode.js';
import type { ExtenderSettings } from '#scheduler/extenders/settings.js';
import type { NamedPlugin, PluginSets } from '#scheduler/framework/plugin-sets.js';
import { checkQueueSorts, makeProfile, type Profile } from '#scheduler/framework/profile.js';
import { defaultContext, type PluginContext, type PluginKind, pluginKinds } from '#scheduler/plugins/registry.js';

/** A profile's configuration. */
export interface ProfileSettings {
  readonly schedulerName: string;
  readonly sets: PluginSets;
  /** Default plugins of the file's version; absent: the current ones. */
  readonly defaults?: readonly NamedPlugin[];
  /** Arguments by plugin, decoded by the plugin's field table. */
  readonly args: Readonly<Record<string, Plain>>;
}

/** Plugins of release 1.24 in its order and with its weights. */
export const defaultPlugins: readonly NamedPlugin[] = pluginKinds
  .filter(({ byDefault }) => byDefault !== false)
  .map(({ name, weight = 1 }) => ({ name, weight }));

/** With the weights of v1beta2, which differ for PodTopologySpread only. */
export const oldDefaultPlugins: readonly NamedPlugin[] = defaultPlugins.map(({ name }) => ({
  name,
  weight: name === 'PodTopologySpread' ? 2 : 1,
}));

/** `more`: plugins from modules. */
export function profileOf(
  { args, defaults = defaultPlugins, schedulerName, sets }: ProfileSettings,
  dialect: Dialect,
  context: PluginContext = defaultContext,
  more: readonly PluginKind[] = [],
): Profile {
  return makeProfile({
    schedulerName,
    sets,
    defaults,
    plugins: new Map(
      [...pluginKinds, ...more].map(({ make, name }) => [name, make(args[name] ?? {}, dialect, context)]),
    ),
  });
}

/** The default profile of release 1.24. */
export function defaultProfile(dialect: Dialect): Profile {
  return profileOf({ schedulerName: dialect.components.defaultScheduler, sets: {}, args: {} }, dialect);
}

export interface ProfileSources {
  readonly profiles: readonly ProfileSettings[];
  readonly extenders: readonly ExtenderSettings[];
}

const fit = 'NodeResourcesFit';

/**
 * Creates the profiles of a configuration. NodeResourcesFit ignores resources that extenders handle. `more`: plugins
 * from modules. Throws OptionsError for invalid profiles.
 */
export function makeProfiles(
  { extenders, profiles }: ProfileSources,
  dialect: Dialect,
  context: PluginContext,
  more: readonly PluginKind[] = [],
): Profile[] {
  const ignoredResources = extenders
    .flatMap(({ managedResources }) => managedResources)
    .flatMap(({ ignoredByScheduler, name }) => (ignoredByScheduler ? [name] : []));
  const result = profiles.map((profile) =>
    profileOf(ignoringResources(profile, ignoredResources), dialect, context, more),
  );
  checkQueueSorts(result);
  return result;
}

function ignoringResources(profile: ProfileSettings, resources: readonly string[]): ProfileSettings {
  if (resources.length === 0) return profile;
  const args = profile.args[fit] ?? {};
  const ignored = (args['ignoredResources'] ?? []) as readonly string[];
  return { ...profile, args: { ...profile.args, [fit]: { ...args, ignoredResources: [...ignored, ...resources] } } };
}
