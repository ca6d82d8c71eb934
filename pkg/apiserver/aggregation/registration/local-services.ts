/** The APIServices of versions that this server serves itself. Pure. */

import type { CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.js';
import type { APIService } from '#api/apiregistration/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { groupPriority, otherGroup, otherVersion, versionPriority } from '#apiserver/discovery/priorities.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

/** Value of the label: reconciled while the server runs, or only when it starts. */
export type Management = 'true' | 'onstart';

export interface LocalVersion {
  /** Empty for core. */
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
  /** Undefined: created if missing, and not managed afterwards. */
  readonly management: Management | undefined;
}

export function serviceName({ group, version }: Pick<LocalVersion, 'group' | 'version'>): string {
  return `${version}.${group}`;
}

/** Versions of built-in groups, by name. Like in 1.24, the group of APIServices itself has none. */
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
      // Another server may serve the cluster's metrics; a restart must not replace its registration.
      management: key === 'metrics' ? undefined : 'onstart',
    });
  }
  return versions;
}

/** The served versions of a definition. */
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
