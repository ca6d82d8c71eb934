import type { Dialect } from '#apimachinery/dialect.js';
import type { Plain } from '#daemon/options/config-decode.js';
import type { NamedPlugin, PluginSets } from '#scheduler/framework/plugin-sets.js';
import { makeProfile, type Profile } from '#scheduler/framework/profile.js';
import { defaultContext, type PluginContext, type PluginKind, pluginKinds } from '#scheduler/plugins/registry.js';

/** What a configuration says of a profile. */
export interface ProfileSettings {
  readonly schedulerName: string;
  readonly sets: PluginSets;
  /** Those of the file's version; the current ones unless told. */
  readonly defaults?: readonly NamedPlugin[];
  /** Arguments by plugin, decoded by the plugin's table. */
  readonly args: Readonly<Record<string, Plain>>;
}

/** In the order of release 1.24, with its weights. */
export const defaultPlugins: readonly NamedPlugin[] = pluginKinds
  .filter(({ byDefault }) => byDefault !== false)
  .map(({ name, weight = 1 }) => ({ name, weight }));

/** With the weights of v1beta2, where only spreading counts for more. */
export const oldDefaultPlugins: readonly NamedPlugin[] = defaultPlugins.map(({ name }) => ({
  name,
  weight: name === 'PodTopologySpread' ? 2 : 1,
}));

/** `more`: plugins beyond those that the scheduler has itself. */
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

/** The plugins that release 1.24 enables by default, in its order and with its weights. */
export function defaultProfile(dialect: Dialect): Profile {
  return profileOf({ schedulerName: dialect.components.defaultScheduler, sets: {}, args: {} }, dialect);
}
