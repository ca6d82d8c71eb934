/** The default StorageClass of a cluster: volumes are directories of its nodes. */
import { localDirectoryProvisioner } from '#api/core/v1/volume/local-directory.js';
import { csidrivers, storageclasses } from '#api/storage/v1/resources.gen.js';
import type { CSIDriver, StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isAlreadyExists } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';

/** @param isDefault Of claims that name no class. Pure. */
function localStorageClass(dialect: Dialect, isDefault: boolean): StorageClass {
  const annotations = isDefault ? { [defaultAnnotation(dialect)]: 'true' } : {};
  return {
    metadata: { name: 'local', annotations },
    provisioner: localDirectoryProvisioner(dialect),
    // The node is known only when the first pod of the claim has one.
    volumeBindingMode: 'WaitForFirstConsumer',
    reclaimPolicy: 'Delete',
  };
}

/** Makes the scheduler ask which nodes have room. No volume is attached by it. Pure. */
function localStorageDriver(dialect: Dialect): CSIDriver {
  return {
    metadata: { name: localDirectoryProvisioner(dialect) },
    spec: { attachRequired: false, podInfoOnMount: false, storageCapacity: true, volumeLifecycleModes: ['Persistent'] },
  };
}

/** What is there stays as it is. The class is the default unless another one is: with two of them, claims would be refused. */
export async function setUpLocalStorage(client: Client): Promise<void> {
  const { dialect } = client;
  const unlessThere = (made: Promise<unknown>) =>
    made.catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  const { items } = await client.resource(storageclasses).list();
  const hasDefault = items.some(({ metadata }) => metadata.annotations?.[defaultAnnotation(dialect)] === 'true');
  await Promise.all([
    unlessThere(client.resource(csidrivers).create(localStorageDriver(dialect))),
    unlessThere(client.resource(storageclasses).create(localStorageClass(dialect, !hasDefault))),
  ]);
}

function defaultAnnotation(dialect: Dialect): string {
  return `storageclass.${dialect.labelDomain}/is-default-class`;
}
