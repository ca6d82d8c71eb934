/** What storage versions say once servers that are gone are left out. Pure. */
import type { ServerStorageVersion, StorageVersion } from '#api/apiserverinternal/v1alpha1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';

const aspect = 'AllEncodingVersionsEqual';

/**
 * `delete` when no server is left; undefined when none is gone; else the object with what the others agree on. `now` in
 * milliseconds.
 */
export function withoutGoneServers(
  object: StorageVersion,
  isThere: (server: string) => boolean,
  now: number,
): StorageVersion | 'delete' | undefined {
  const servers = object.status?.storageVersions ?? [];
  const left = servers.filter(({ apiServerID }) => isThere(apiServerID ?? ''));
  if (left.length === servers.length) return undefined;
  return left.length === 0 ? 'delete' : withServers(object, left, now);
}

function withServers(object: StorageVersion, servers: readonly ServerStorageVersion[], now: number): StorageVersion {
  const { commonEncodingVersion: _, ...status } = object.status ?? {};
  const common = servers[0]?.encodingVersion;
  const agreed = common !== undefined && servers.every(({ encodingVersion }) => encodingVersion === common);
  const old = status.conditions?.find(({ type }) => type === aspect);
  const state = agreed ? 'True' : 'False';
  const condition = {
    type: aspect,
    status: state,
    observedGeneration: object.metadata.generation ?? 0,
    lastTransitionTime: old?.status === state && old.lastTransitionTime ? old.lastTransitionTime : formatTime(now),
    reason: agreed ? 'CommonEncodingVersionSet' : 'CommonEncodingVersionUnset',
    message: agreed ? 'Common encoding version set' : 'Common encoding version unset',
  };
  const others = status.conditions?.filter(({ type }) => type !== aspect) ?? [];
  return {
    ...object,
    status: {
      ...status,
      storageVersions: [...servers],
      ...(agreed ? { commonEncodingVersion: common } : {}),
      conditions: [...others, condition],
    },
  };
}
