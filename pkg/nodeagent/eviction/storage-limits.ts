/** When a pod holds more on disk than its own limits allow: release 1.24 evicts it. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { addQuantities, canonicalQuantity, compareQuantities, value } from '#apimachinery/quantity.js';

/** Bytes that a pod holds. */
export interface StorageHeld {
  /** By volume; those that are unknown are not judged. */
  readonly volumes: ReadonlyMap<string, number>;
  /** By container: its own layer and its logs. */
  readonly containers: ReadonlyMap<string, number>;
}

/** What is exceeded, as 1.24 names it in its metrics. */
export const storageSignals = ['emptydirfs.limit', 'ephemeralpodfs.limit', 'ephemeralcontainerfs.limit'] as const;
export type StorageSignal = (typeof storageSignals)[number];

export interface StorageExcess {
  readonly signal: StorageSignal;
  /** In the words of 1.24, which end in a space. */
  readonly message: string;
}

const resource = 'ephemeral-storage';

/** True for pods that have something to be held against; of all others nothing is measured. */
export function hasStorageLimits({ spec }: Pod): boolean {
  return (
    (spec.volumes ?? []).some(({ emptyDir }) => isPositive(emptyDir?.sizeLimit)) ||
    [...spec.containers, ...(spec.initContainers ?? [])].some(({ resources }) => resources?.limits?.[resource])
  );
}

/** Why the pod is to go; undefined when it keeps its limits. */
export function storageExcess(pod: Pod, held: StorageHeld): StorageExcess | undefined {
  for (const { name, emptyDir } of pod.spec.volumes ?? []) {
    const limit = emptyDir?.sizeLimit;
    const used = held.volumes.get(name);
    if (limit === undefined || used === undefined || !isPositive(limit) || used <= value(limit)) continue;
    const message = `Usage of EmptyDir volume "${name}" exceeds the limit "${canonicalQuantity(limit)}". `;
    return { signal: 'emptydirfs.limit', message };
  }
  const limit = podLimit(pod);
  if (limit !== undefined && total(pod, held) > value(limit)) {
    const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${canonicalQuantity(limit)}. `;
    return { signal: 'ephemeralpodfs.limit', message };
  }
  for (const { name, resources } of pod.spec.containers) {
    const own = resources?.limits?.[resource];
    if (own === undefined || (held.containers.get(name) ?? 0) <= value(own)) continue;
    const message = `Container ${name} exceeded its local ephemeral storage limit "${canonicalQuantity(own)}". `;
    return { signal: 'ephemeralcontainerfs.limit', message };
  }
  return undefined;
}

const isPositive = (quantity: string | undefined): boolean => quantity !== undefined && value(quantity) > 0;

/** What all containers may hold together, or the init container that may hold most. */
function podLimit({ spec }: Pod): string | undefined {
  const of = (containers: Pod['spec']['containers']) =>
    containers.flatMap(({ resources }) => resources?.limits?.[resource] ?? []);
  const [first, ...rest] = of(spec.containers);
  const sum = first === undefined ? undefined : rest.reduce(addQuantities, first);
  return [...(sum === undefined ? [] : [sum]), ...of(spec.initContainers ?? [])].reduce<string | undefined>(
    (most, each) => (most === undefined || compareQuantities(each, most) > 0 ? each : most),
    undefined,
  );
}

/** Memory, claims and the host's own paths do not count. */
function total({ spec }: Pod, { volumes, containers }: StorageHeld): number {
  let bytes = 0;
  for (const { name, emptyDir, configMap, downwardAPI } of spec.volumes ?? []) {
    const isOnDisk = emptyDir !== undefined && (emptyDir.medium ?? '') === '';
    if (isOnDisk || configMap !== undefined || downwardAPI !== undefined) bytes += volumes.get(name) ?? 0;
  }
  for (const used of containers.values()) bytes += used;
  return bytes;
}
