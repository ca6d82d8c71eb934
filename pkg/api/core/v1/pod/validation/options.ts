/** Options of pod rules: feature gates, and tolerated values of the stored pod. */
import { someContainer } from '#api/core/v1/pod/parts/containers.js';
import { isDivisibleHugePages, isHugePages } from '#api/core/v1/resources/names.js';
import type { PodSpec, ResourceFieldSelector } from '#api/core/v1/types.gen.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import type { Dialect } from '#apimachinery/dialect.js';

export interface PodOptions {
  /** Allows huge pages in the downward API. */
  readonly hugePagesInDownwardAPI: boolean;
  /** Allows amounts of huge pages that are not multiples of the page size. */
  readonly indivisibleHugePages: boolean;
  /** Allows any text as pod deletion cost. */
  readonly anyDeletionCost: boolean;
  /** Allows more and longer search domains. */
  readonly expandedDNS: boolean;
  /** Allows privileged containers. */
  readonly privileged: boolean;
  /** Allows ephemeral volumes with the access mode for a single pod. */
  readonly singlePodVolumes: boolean;
  /** Allows slashes in names of sysctls. */
  readonly slashedSysctls: boolean;
}

/** The default gates of release 1.24. */
export const defaultPodOptions: PodOptions = {
  hugePagesInDownwardAPI: true,
  indivisibleHugePages: false,
  anyDeletionCost: false,
  expandedDNS: false,
  privileged: true,
  singlePodVolumes: false,
  slashedSysctls: false,
};

/** The parts of a pod or template that the options depend on. */
export interface PodLike {
  readonly metadata?: ObjectMeta;
  readonly spec?: PodSpec;
}

/** Limits of search domains that every resolver supports. */
export const searchLimits = { paths: 6, characters: 256 } as const;

/** Options for creating a pod, or for updating `old`. */
export function podOptions(
  pod: PodLike | undefined,
  old: PodLike | undefined,
  context: Pick<StrategyContext, 'gate' | 'dialect' | 'allowPrivileged'>,
): PodOptions {
  const { gate, dialect } = context;
  return {
    hugePagesInDownwardAPI: gate('DownwardAPIHugePages') || tellsHugePages(old?.spec),
    indivisibleHugePages: hasIndivisibleHugePages(old?.spec),
    anyDeletionCost: !gate('PodDeletionCost') || hasBadDeletionCost(old?.metadata, dialect),
    expandedDNS: gate('ExpandedDNSConfig') || keepsExpandedDNS(pod?.spec, old?.spec),
    privileged: context.allowPrivileged ?? true,
    singlePodVolumes: gate('ReadWriteOncePod'),
    slashedSysctls: old?.spec?.securityContext?.sysctls?.some(({ name = '' }) => name.includes('/')) === true,
  };
}

/** A 32-bit number without leading zero or plus sign. */
export function isDeletionCost(text: string): boolean {
  if (!/^(0|[1-9][0-9]*|-[0-9]+)$/.test(text)) return false;
  const cost = Number(text);
  return cost >= -(2 ** 31) && cost < 2 ** 31;
}

function hasBadDeletionCost(metadata: ObjectMeta | undefined, dialect: Dialect): boolean {
  const text = metadata?.annotations?.[dialect.annotations.podDeletionCost];
  return text !== undefined && !isDeletionCost(text);
}

function keepsExpandedDNS(spec: PodSpec | undefined, old: PodSpec | undefined): boolean {
  const before = old?.dnsConfig?.searches ?? [];
  const expanded = before.length > searchLimits.paths || before.join(' ').length > searchLimits.characters;
  const after = spec?.dnsConfig?.searches ?? [];
  return expanded && after.length === before.length && after.every((search, i) => search === before[i]);
}

function tellsHugePages(spec: PodSpec | undefined): boolean {
  if (spec === undefined) return false;
  const names = (ref: ResourceFieldSelector | undefined): boolean =>
    /^(limits|requests)\.hugepages-/.test(ref?.resource ?? '');
  return (
    someContainer(spec, ({ env }) => env?.some(({ valueFrom }) => names(valueFrom?.resourceFieldRef))) ||
    (spec.volumes ?? []).some(
      ({ downwardAPI, projected }) =>
        downwardAPI?.items?.some((file) => names(file.resourceFieldRef)) ||
        projected?.sources?.some((source) => source.downwardAPI?.items?.some((file) => names(file.resourceFieldRef))),
    )
  );
}

function hasIndivisibleHugePages(spec: PodSpec | undefined): boolean {
  if (spec === undefined) return false;
  const indivisible = (list: Readonly<Record<string, string>> | undefined): boolean => {
    for (const name in list) if (isHugePages(name) && !isDivisibleHugePages(name, list[name] ?? '')) return true;
    return false;
  };
  return (
    indivisible(spec.overhead) ||
    someContainer(spec, ({ resources }) => indivisible(resources?.limits) || indivisible(resources?.requests))
  );
}
