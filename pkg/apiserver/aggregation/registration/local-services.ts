/** The APIServices of what this server serves itself. Pure. */

import type { CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.js';
import type { APIService } from '#api/apiregistration/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { groupPriority, otherGroup, otherVersion, versionPriority } from '#apiserver/discovery/priorities.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

/** Value of the label: kept for as long as the server runs, or looked at once, when it starts. */
export type Management = 'true' | 'onstart';

export interface LocalVersion {
  /** Empty for core. */
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
  /** Undefined: made where there is none, and somebody else's from then on. */
  readonly management: Management | undefined;
}

/** Name of the APIService of a version. */
export function serviceName({ group, version }: Pick<LocalVersion, 'group' | 'version'>): string {
  return `${version}.${group}`;
}

/** Versions of built-in groups, by name. That of APIServices themselves has none, as in 1.24. */
export function builtInVersions(resources: Iterable<ServedResource>): ReadonlyMap<string, LocalVersion> {
  const versions = new Map<string, LocalVersion>();
  for (const { group, declaration } of resources) {
    const { group: key, version } = declaration;
    if (key === 'apiregistration') continue;
    versions.set(serviceName({ group, version }), {
      group,
      version,
      groupPriority: groupPriority(key),
      versionPriority: versionPriority(key, version),
      // Clusters have metrics of another server's, which must not be taken back when this one starts again.
      management: key === 'metrics' ? undefined : 'onstart',
    });
  }
  return versions;
}

/** A version of a definition's group, where it is served. */
export function definedVersions({ spec }: CustomResourceDefinition): LocalVersion[] {
  const { group, versions } = spec;
  return versions
    .filter(({ served }) => served)
    .map(({ name: version }) => ({
      group,
      version,
      groupPriority: otherGroup,
      versionPriority: otherVersion,
      management: 'true',
    }));
}

export function localService(dialect: Dialect, local: LocalVersion): APIService {
  const { group, version, management } = local;
  return {
    metadata: {
      name: serviceName(local),
      ...(management && { labels: { [dialect.labels.autoManaged]: management } }),
    },
    spec: {
      ...(group === '' ? {} : { group }),
      version,
      groupPriorityMinimum: local.groupPriority,
      versionPriority: local.versionPriority,
    },
  };
}
