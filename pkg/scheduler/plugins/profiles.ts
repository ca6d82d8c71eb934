import type { Dialect } from '#apimachinery/dialect.js';
import type { Plain } from '#daemon/options/config-decode.js';
import type { PluginSets } from '#scheduler/framework/plugin-sets.js';
import { makeProfile, type Profile } from '#scheduler/framework/profile.js';
import { type PluginKind, pluginKinds } from '#scheduler/plugins/registry.js';

/** What a configuration says of a profile. */
export interface ProfileSettings {
  readonly schedulerName: string;
  readonly sets: PluginSets;
  /** Arguments by plugin, decoded by the plugin's table. */
  readonly args: Readonly<Record<string, Plain>>;
}

/** `more`: plugins beyond those that the scheduler has itself. */
export function profileOf(
  { args, schedulerName, sets }: ProfileSettings,
  dialect: Dialect,
  more: readonly PluginKind[] = [],
): Profile {
  return makeProfile({
    schedulerName,
    sets,
    defaults: pluginKinds.map(({ name, weight = 1 }) => ({ name, weight })),
    plugins: new Map([...pluginKinds, ...more].map(({ make, name }) => [name, make(args[name] ?? {}, dialect)])),
  });
}

/** The plugins that release 1.24 enables by default, as far as they exist here, in its order and with its weights. */
export function defaultProfile(dialect: Dialect): Profile {
  return profileOf({ schedulerName: dialect.components.defaultScheduler, sets: {}, args: {} }, dialect);
}
