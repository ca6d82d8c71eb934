/** What of a pod's rules depends on feature gates, and what is let through because it is stored already. */
import { someContainer } from '#api/core/v1/pod/parts/containers.js';
import { isDivisibleHugePages, isHugePages } from '#api/core/v1/resources/names.js';
import type { PodSpec, ResourceFieldSelector } from '#api/core/v1/types.gen.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import type { Dialect } from '#apimachinery/dialect.js';

export interface PodOptions {
  /** Huge pages may be told to containers. */
  readonly hugePagesInDownwardAPI: boolean;
  /** Amounts of huge pages need not be whole numbers of pages. */
  readonly indivisibleHugePages: boolean;
  /** The annotation with the cost of a pod's deletion may be any text. */
  readonly anyDeletionCost: boolean;
  /** More and longer search domains. */
  readonly expandedDNS: boolean;
  /** Containers may be privileged. */
  readonly privileged: boolean;
  /** Claims of ephemeral volumes may be for one pod only. */
  readonly singlePodVolumes: boolean;
  /** Names of sysctls may have slashes. */
  readonly slashedSysctls: boolean;
}

/** As the gates of release 1.24 stand when nobody sets them. */
export const defaultPodOptions: PodOptions = {
  hugePagesInDownwardAPI: true,
  indivisibleHugePages: false,
  anyDeletionCost: false,
  expandedDNS: false,
  privileged: true,
  singlePodVolumes: false,
  slashedSysctls: false,
};

/** A pod or a template of pods, as far as the options look at it. */
export interface PodLike {
  readonly metadata?: ObjectMeta;
  readonly spec?: PodSpec;
}

/** The longest lists of search domains that every resolver takes. */
export const searchLimits = { paths: 6, characters: 256 } as const;

/** Options of a create, or of an update of `old`. */
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

/** A 32-bit number that starts with neither a zero (but for `0`) nor a plus sign. */
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
