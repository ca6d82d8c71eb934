/** The StorageClass whose volumes are directories of nodes. */
import { localDirectoryProvisioner } from '#api/core/v1/volume/local-provisioner.js';
import { csidrivers, storageclasses } from '#api/storage/v1/resources.gen.js';
import type { CSIDriver, StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { createIfAbsent } from '#cluster/objects/ensure-object.js';

/** @param isDefault Whether claims without a class belong to it. Pure. */
function localStorageClass(dialect: Dialect, isDefault: boolean): StorageClass {
  const annotations = isDefault ? { [defaultAnnotation(dialect)]: 'true' } : {};
  return {
    metadata: { name: 'local', annotations },
    provisioner: localDirectoryProvisioner(dialect),
    // The first pod of a claim determines the node.
    volumeBindingMode: 'WaitForFirstConsumer',
    reclaimPolicy: 'Delete',
  };
}

/** Makes the scheduler consider the free space of nodes. It attaches no volumes. Pure. */
function localStorageDriver(dialect: Dialect): CSIDriver {
  return {
    metadata: { name: localDirectoryProvisioner(dialect) },
    spec: { attachRequired: false, podInfoOnMount: false, storageCapacity: true, volumeLifecycleModes: ['Persistent'] },
  };
}

/**
 * Creates the missing objects; existing ones stay unchanged. The class becomes the default unless there is one: with two
 * default classes claims are refused.
 */
export async function setUpLocalStorage(client: Client): Promise<void> {
  const { dialect } = client;
  const { items } = await client.resource(storageclasses).list();
  const hasDefault = items.some(({ metadata }) => metadata.annotations?.[defaultAnnotation(dialect)] === 'true');
  await Promise.all([
    createIfAbsent(client.resource(csidrivers), localStorageDriver(dialect)),
    createIfAbsent(client.resource(storageclasses), localStorageClass(dialect, !hasDefault)),
  ]);
}

function defaultAnnotation(dialect: Dialect): string {
  return `storageclass.${dialect.labelDomain}/is-default-class`;
}
