/** Which pods use more disk space than their own limits allow, as in release 1.24 (localStorageEviction). Pure. */
import { podLimits } from '#api/core/v1/pod/resources.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { canonicalQuantity, value } from '#apimachinery/quantity.js';
import { noDisk, type PodUse } from '#nodeagent/eviction/pod-usage.js';

/** The exceeded limit, as 1.24 names it in its metrics. */
export const storageSignals = ['emptydirfs.limit', 'ephemeralpodfs.limit', 'ephemeralcontainerfs.limit'] as const;
export type StorageSignal = (typeof storageSignals)[number];

export interface StorageExcess {
  readonly signal: StorageSignal;
  /** 1.24's text, which ends in a space. */
  readonly message: string;
}

export type PodStorage = Pick<PodUse, 'containers' | 'volumes'>;

const resource = 'ephemeral-storage';

/** False for pods without storage limits; their usage is not measured. */
export function hasStorageLimits({ spec }: Pod): boolean {
  return (
    (spec.volumes ?? []).some(({ emptyDir }) => isPositive(emptyDir?.sizeLimit)) ||
    [...spec.containers, ...(spec.initContainers ?? [])].some(({ resources }) => resources?.limits?.[resource])
  );
}

/**
 * Why the pod must be evicted; undefined if it is within its limits. `hasImageFilesystem`: writable layers are on
 * another file system, and do not count against the limit of a container.
 */
export function storageExcess(pod: Pod, use: PodStorage, hasImageFilesystem: boolean): StorageExcess | undefined {
  for (const { name, emptyDir } of pod.spec.volumes ?? []) {
    const limit = emptyDir?.sizeLimit;
    const used = use.volumes.get(name)?.bytes;
    if (limit === undefined || used === undefined || !isPositive(limit) || used <= value(limit)) continue;
    const message = `Usage of EmptyDir volume "${name}" exceeds the limit "${canonicalQuantity(limit)}". `;
    return { signal: 'emptydirfs.limit', message };
  }
  const limit = podLimits(pod)[resource];
  if (limit !== undefined && total(pod, use) > value(limit)) {
    const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${canonicalQuantity(limit)}. `;
    return { signal: 'ephemeralpodfs.limit', message };
  }
  for (const { name, rootfs, logs } of use.containers) {
    const own = pod.spec.containers.find((container) => container.name === name)?.resources?.limits?.[resource];
    const used = logs.bytes + (hasImageFilesystem ? 0 : rootfs.bytes);
    if (!isPositive(own) || used <= value(own)) continue;
    const message = `Container ${name} exceeded its local ephemeral storage limit "${canonicalQuantity(own)}". `;
    return { signal: 'ephemeralcontainerfs.limit', message };
  }
  return undefined;
}

function isPositive(quantity: string | undefined): quantity is string {
  return quantity !== undefined && value(quantity) > 0;
}

/** Memory volumes, claims and host paths do not count. */
function total({ spec }: Pod, { volumes, containers }: PodStorage): number {
  let bytes = 0;
  for (const { name, emptyDir, configMap, downwardAPI } of spec.volumes ?? []) {
    const isOnDisk = emptyDir !== undefined && (emptyDir.medium ?? '') === '';
    if (isOnDisk || configMap !== undefined || downwardAPI !== undefined) bytes += (volumes.get(name) ?? noDisk).bytes;
  }
  for (const { rootfs, logs } of containers) bytes += rootfs.bytes + logs.bytes;
  return bytes;
}
