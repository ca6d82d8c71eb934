/** Admission of persistent volumes and claims. */
import type { PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import { storageclasses } from '#api/storage/v1/resources.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { compareQuantities } from '#apimachinery/quantity.js';
import type { AdmissionAttributes, AdmissionPlugin, MutableAttributes } from '#apiserver/admission/admission.js';
import { concerns, ReadingPlugin } from '#apiserver/admission/plugin.js';

export class PersistentVolumeClaimResize extends ReadingPlugin implements AdmissionPlugin {
  readonly name = 'PersistentVolumeClaimResize';
  readonly resources = [{ group: 'core', resource: 'persistentvolumeclaims' }] as const;

  handles(attributes: AdmissionAttributes): boolean {
    return attributes.operation === 'UPDATE' && concerns(attributes, 'core', 'persistentvolumeclaims');
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const [claim, old] = [attributes.object, attributes.oldObject] as PersistentVolumeClaim[];
    if (
      claim === undefined ||
      old === undefined ||
      compareQuantities(requestedStorage(claim), requestedStorage(old)) <= 0
    )
      return;
    if (old.status?.phase !== 'Bound')
      throw this.refusal(attributes, 'Only bound persistent volume claims can be expanded');
    if (await this.#mayGrow(claim, old)) return;
    const why =
      'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize';
    throw this.refusal(attributes, why);
  }

  async #mayGrow(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): Promise<boolean> {
    const { dialect, reader } = this;
    const name = storageClassOf(claim, dialect);
    if (name === '' || name !== storageClassOf(old, dialect)) return false;
    return (await reader.get(storageclasses, '', name))?.allowVolumeExpansion === true;
  }
}

function requestedStorage({ spec }: PersistentVolumeClaim): string {
  return spec.resources?.requests?.['storage'] ?? '0';
}

/** Adds a finalizer to new volumes and claims; their controllers remove it once nothing uses them. */
export class StorageObjectInUseProtection implements AdmissionPlugin {
  readonly name = 'StorageObjectInUseProtection';
  readonly resources = [
    { group: 'core', resource: 'persistentvolumes' },
    { group: 'core', resource: 'persistentvolumeclaims' },
  ] as const;
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  handles(attributes: AdmissionAttributes): boolean {
    return attributes.operation === 'CREATE' && this.#finalizerOf(attributes) !== undefined;
  }

  async admit(attributes: MutableAttributes): Promise<void> {
    const finalizer = this.#finalizerOf(attributes);
    const metadata = attributes.object?.metadata;
    if (finalizer === undefined || metadata === undefined || metadata.finalizers?.includes(finalizer)) return;
    metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
  }

  #finalizerOf(attributes: AdmissionAttributes): string | undefined {
    const { pvProtection, pvcProtection } = this.#dialect.finalizers;
    if (concerns(attributes, 'core', 'persistentvolumes')) return pvProtection;
    return concerns(attributes, 'core', 'persistentvolumeclaims') ? pvcProtection : undefined;
  }
}
