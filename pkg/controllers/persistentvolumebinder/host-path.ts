/**
 * Volumes that are directories of the machine that the manager runs on, for tests on one node: the plugin of release
 * 1.24 that `--enable-hostpath-provisioner` turns on.
 */
import { persistentvolumeclaims, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';

/** Directories of the machine. */
export interface HostDirectories {
  /** With those above it, for the owner and the group. */
  make(path: string): Promise<void>;
  /** With all that is in it; nothing when there is none. */
  remove(path: string): Promise<void>;
}

const root = '/tmp/hostpath_pv';

/** As classes name it, and as volumes say who made them. */
export function hostPathPlugin(dialect: Dialect): string {
  return `${dialect.labelDomain}/host-path`;
}

/** The volume for the claim, bound to it already. Throws why there can be none. Pure. */
export function hostPathVolume(
  { metadata, spec }: PersistentVolumeClaim,
  { metadata: { name: className = '' }, reclaimPolicy = 'Delete', mountOptions = [] }: StorageClass,
  dialect: Dialect,
): PersistentVolume {
  const plugin = hostPathPlugin(dialect);
  const { name = '', namespace = '', uid = '', resourceVersion = '' } = metadata;
  if (mountOptions.length > 0) {
    const given = `StorageClass "${className}" has mount options [${mountOptions.join(' ')}]`;
    throw new Error(`Mount options are not supported by the provisioner but ${given}`);
  }
  if (spec.volumeMode === 'Block') throw new Error(`${plugin} does not support block volume provisioning`);
  const { kind, group, version } = persistentvolumeclaims;
  return {
    metadata: {
      name: `pvc-${uid}`,
      annotations: {
        [dialect.annotations.boundByController]: 'yes',
        [dialect.annotations.provisionedBy]: plugin,
        [`${dialect.labelDomain}/createdby`]: 'hostpath-dynamic-provisioner',
      },
    },
    spec: {
      capacity: { storage: spec.resources?.requests?.['storage'] ?? '0' },
      accessModes: spec.accessModes ?? ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: reclaimPolicy,
      storageClassName: className,
      hostPath: { path: `${root}/${uid}` },
      claimRef: { kind, apiVersion: dialect.apiVersion(group, version), namespace, name, uid, resourceVersion },
    },
  };
}

export class HostPathVolumes {
  readonly #client: Client;
  readonly #directories: HostDirectories;

  constructor(client: Client, directories: HostDirectories) {
    this.#client = client;
    this.#directories = directories;
  }

  /** Makes the directory, then the volume. */
  async make(volume: PersistentVolume): Promise<void> {
    await this.#directories.make(volume.spec.hostPath?.path ?? '');
    try {
      await this.#client.resource(persistentvolumes).create(volume);
    } catch (error) {
      // An earlier try was heard although its answer was lost.
      if (!isAlreadyExists(error)) throw error;
    }
  }

  /** The directory, then the volume. Throws for a directory that this plugin cannot have made. */
  async delete({ metadata, spec }: PersistentVolume): Promise<void> {
    const path = spec.hostPath?.path ?? '';
    const [name, ...more] = path.startsWith(`${root}/`) ? path.slice(root.length + 1).split('/') : [];
    if (name === undefined || ['', '.', '..'].includes(name) || more.length > 0) {
      throw new Error(`host_path deleter only supports ${root}/.+ but received provided ${path}`);
    }
    await this.#directories.remove(path);
    const { name: volume = '', uid = '' } = metadata;
    try {
      await this.#client.resource(persistentvolumes).delete(volume, { preconditions: { uid } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
