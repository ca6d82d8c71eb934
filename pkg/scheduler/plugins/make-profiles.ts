import type { Dialect } from '#apimachinery/dialect.js';
import type { ExtenderSettings } from '#scheduler/extenders/settings.js';
import { checkQueueSorts, type Profile } from '#scheduler/framework/profile.js';
import { type ProfileSettings, profileOf } from '#scheduler/plugins/profiles.js';
import type { PluginContext, PluginKind } from '#scheduler/plugins/registry.js';

export interface ProfileSources {
  readonly profiles: readonly ProfileSettings[];
  readonly extenders: readonly ExtenderSettings[];
}

const fit = 'NodeResourcesFit';

/**
 * The profiles of a configuration. What extenders count in the scheduler's place, NodeResourcesFit leaves to them.
 * `more`: plugins beyond those that the scheduler has itself. Throws OptionsError for profiles that cannot be.
 */
export function makeProfiles(
  { extenders, profiles }: ProfileSources,
  dialect: Dialect,
  context: PluginContext,
  more: readonly PluginKind[] = [],
): Profile[] {
  const left = extenders
    .flatMap(({ managedResources }) => managedResources)
    .flatMap(({ ignoredByScheduler, name }) => (ignoredByScheduler ? [name] : []));
  const made = profiles.map((profile) => profileOf(leaving(profile, left), dialect, context, more));
  checkQueueSorts(made);
  return made;
}

function leaving(profile: ProfileSettings, resources: readonly string[]): ProfileSettings {
  if (resources.length === 0) return profile;
  const args = profile.args[fit] ?? {};
  const own = (args['ignoredResources'] ?? []) as readonly string[];
  return { ...profile, args: { ...profile.args, [fit]: { ...args, ignoredResources: [...own, ...resources] } } };
}
