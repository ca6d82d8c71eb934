/** The order in which pods are evicted. Pure. Rules of release 1.24 (pkg/kubelet/eviction/helpers.go). */
import { podPriority } from '#api/core/v1/pod/conditions.js';
import { podRequests } from '#api/core/v1/pod/resources.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { value } from '#apimachinery/quantity.js';
import { type DiskPart, type PodUse, type PodUses, podDisk } from '#nodeagent/eviction/pod-usage.js';
import { resourceOf, type Signal } from '#nodeagent/pressure/thresholds.js';

export interface RankingInput {
  readonly signal: Signal;
  readonly pods: readonly Pod[];
  readonly uses: PodUses;
  /** Images and writable layers are on another file system than the pods' volumes and logs. */
  readonly hasImageFilesystem: boolean;
}

/** What decides between two pods: negative if the first one is to be evicted sooner. */
type Comparison = (a: Measured, b: Measured) => number;

interface Measured {
  readonly pod: Pod;
  readonly use: PodUse | undefined;
  readonly requests: Readonly<Record<string, string>>;
}

/** The first pod is to be evicted first. Pods that are equal in all respects keep their order. */
export function rankForEviction({ signal, pods, uses, hasImageFilesystem }: RankingInput): Pod[] {
  const comparisons = comparisonsFor(signal, hasImageFilesystem);
  const compare: Comparison = (a, b) => {
    for (const comparison of comparisons) {
      const result = comparison(a, b);
      if (result !== 0) return result;
    }
    return 0;
  };
  return pods
    .map((pod): Measured => ({ pod, use: uses.get(pod.metadata.uid ?? ''), requests: podRequests(pod) }))
    .sort(compare)
    .map(({ pod }) => pod);
}

function comparisonsFor(signal: Signal, hasImageFilesystem: boolean): Comparison[] {
  const resource = resourceOf(signal);
  switch (resource) {
    case 'memory': {
      const memory = ({ memoryBytes }: PodUse) => memoryBytes;
      return [
        exceeding(({ use, requests }) => memory(use) > request(requests, 'memory')),
        byPriority,
        byUse(({ use, requests }) => memory(use) - request(requests, 'memory')),
      ];
    }
    case 'pids':
      return [byPriority, byUse(({ use }) => use.processes)];
    case 'ephemeral-storage':
    case 'inodes': {
      const parts = partsOf(signal, hasImageFilesystem);
      const disk = ({ pod, use }: Used) => {
        const { bytes, inodes } = podDisk(pod, use, parts);
        return resource === 'inodes' ? inodes : bytes;
      };
      return [
        exceeding((each) => disk(each) > request(each.requests, resource)),
        byPriority,
        // As in 1.24, requested bytes count even among pods that are compared by their files.
        byUse((each) => disk(each) - request(each.requests, 'ephemeral-storage')),
      ];
    }
    default:
      return resource satisfies never;
  }
}

/** Without a file system of their own, images and writable layers fill that of the volumes and logs. */
function partsOf(signal: Signal, hasImageFilesystem: boolean): DiskPart[] {
  if (!hasImageFilesystem) return ['root', 'logs', 'localVolumes'];
  return signal.startsWith('nodefs') ? ['logs', 'localVolumes'] : ['root'];
}

type Used = Measured & { readonly use: PodUse };

const isUsed = (each: Measured): each is Used => each.use !== undefined;
const request = (requests: Readonly<Record<string, string>>, resource: string) => value(requests[resource] ?? '0');

/** Pods for which it is true come first. */
function trueFirst(a: boolean, b: boolean): number {
  return Number(b) - Number(a);
}

/** Pods without measurements come first, then those that use more than they requested. */
function exceeding(exceeds: (each: Used) => boolean): Comparison {
  return (a, b) =>
    isUsed(a) && isUsed(b) ? trueFirst(exceeds(a), exceeds(b)) : trueFirst(a.use === undefined, b.use === undefined);
}

/** Less important pods come first. */
const byPriority: Comparison = (a, b) => podPriority(a.pod) - podPriority(b.pod);

/** Pods without measurements come first, then those that use most. */
function byUse(amount: (each: Used) => number): Comparison {
  return (a, b) =>
    isUsed(a) && isUsed(b) ? amount(b) - amount(a) : trueFirst(a.use === undefined, b.use === undefined);
}
