/**
 * Provisions directories of the manager's machine, for tests on one node: the plugin of release 1.24 behind
 * `--enable-hostpath-provisioner`.
 */
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import {
  createVolume,
  deleteVolume,
  type VolumeProvisioner,
  volumeForClaim,
} from '#controllers/persistentvolumebinder/volume-provisioner.js';

export interface HostDirectories {
  /** Creates the directory and its parents, accessible to owner and group. */
  make(path: string): Promise<void>;
  /** Removes the directory with its content, if it exists. */
  remove(path: string): Promise<void>;
}

const root = '/tmp/hostpath_pv';

function hostPathPlugin(dialect: Dialect): string {
  return `${dialect.labelDomain}/host-path`;
}

/** Throws for unsupported claims and classes. Pure. */
function hostPathVolume(claim: PersistentVolumeClaim, storageClass: StorageClass, dialect: Dialect): PersistentVolume {
  const plugin = hostPathPlugin(dialect);
  const { mountOptions = [], metadata } = storageClass;
  if (mountOptions.length > 0) {
    const options = `StorageClass "${metadata.name}" has mount options [${mountOptions.join(' ')}]`;
    throw new Error(`Mount options are not supported by the provisioner but ${options}`);
  }
  if (claim.spec.volumeMode === 'Block') throw new Error(`${plugin} does not support block volume provisioning`);
  const volume = volumeForClaim(claim, storageClass, { dialect, plugin });
  volume.metadata.annotations[`${dialect.labelDomain}/createdby`] = 'hostpath-dynamic-provisioner';
  volume.spec.hostPath = { path: `${root}/${claim.metadata.uid ?? ''}` };
  return volume;
}

export class HostPathVolumes implements VolumeProvisioner {
  readonly plugin: string;
  readonly #client: Client;
  readonly #directories: HostDirectories;

  constructor(client: Client, directories: HostDirectories) {
    this.plugin = hostPathPlugin(client.dialect);
    this.#client = client;
    this.#directories = directories;
  }

  async provision(claim: PersistentVolumeClaim, storageClass: StorageClass): Promise<PersistentVolume> {
    const volume = hostPathVolume(claim, storageClass, this.#client.dialect);
    await this.#directories.make(volume.spec.hostPath?.path ?? '');
    await createVolume(this.#client, volume);
    return volume;
  }

  /** Throws for a directory that this plugin does not create. */
  async delete(volume: PersistentVolume): Promise<void> {
    const path = volume.spec.hostPath?.path ?? '';
    const [name, ...more] = path.startsWith(`${root}/`) ? path.slice(root.length + 1).split('/') : [];
    if (name === undefined || ['', '.', '..'].includes(name) || more.length > 0) {
      throw new Error(`host_path deleter only supports ${root}/.+ but received provided ${path}`);
    }
    await this.#directories.remove(path);
    await deleteVolume(this.#client, volume);
  }
}
