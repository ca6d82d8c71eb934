import { clusterEvents } from '#scheduler/cluster/events.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Extender } from '#scheduler/framework/extender.js';
import type { Profile } from '#scheduler/framework/profile.js';

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
