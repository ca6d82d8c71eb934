import { storageversions } from '#api/apiserverinternal/v1alpha1/resources.gen.js';
import {
  storageVersionNameErrors,
  validateStorageVersionStatus,
} from '#api/apiserverinternal/v1alpha1/storageversion/validation.js';
import type { ServerStorageVersion, StorageVersion } from '#api/apiserverinternal/v1alpha1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';

/** Further servers are only counted in tables. */
const shownServers = 3;

export const storageVersionStrategy: Strategy<StorageVersion> = kindStrategy<StorageVersion>(storageversions, {
  name: storageVersionNameErrors,
  allowUnconditionalUpdate: false,
  prepareForCreate(version) {
    version.status = {};
  },
  validateStatusUpdate: ({ status }) => validateStorageVersionStatus(status ?? {}),
  cells: ({ metadata, status }, context) => [
    metadata.name ?? '',
    status?.commonEncodingVersion ?? '<unset>',
    serversText(status?.storageVersions ?? []),
    age(metadata.creationTimestamp, context.now),
  ],
});

function serversText(servers: readonly ServerStorageVersion[]): string {
  const shown = servers.slice(0, shownServers);
  const text = shown.map(({ apiServerID = '', encodingVersion = '' }) => `${apiServerID}=${encodingVersion}`).join(',');
  return servers.length > shownServers ? `${text} + ${servers.length - shownServers} more...` : text;
}
