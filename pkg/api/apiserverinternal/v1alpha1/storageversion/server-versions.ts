/** The status of storage versions from the versions that each server reads and writes. Pure. */
import type {
  ServerStorageVersion,
  StorageVersion,
  StorageVersionCondition,
} from '#api/apiserverinternal/v1alpha1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';

const aspect = 'AllEncodingVersionsEqual';

/** The object with these servers and their common version. `now` in milliseconds. */
export function withServers(
  object: StorageVersion,
  servers: readonly ServerStorageVersion[],
  now: number,
): StorageVersion {
  const { commonEncodingVersion: _, ...status } = object.status ?? {};
  const common = servers[0]?.encodingVersion;
  const agreed = common !== undefined && servers.every(({ encodingVersion }) => encodingVersion === common);
  const old = status.conditions?.find(({ type }) => type === aspect);
  const state = agreed ? 'True' : 'False';
  const condition: StorageVersionCondition = {
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
