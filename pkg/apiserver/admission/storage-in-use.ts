/** Volumes and claims are made with a finalizer, which their controllers take away when nothing uses them any more. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { AdmissionAttributes, AdmissionPlugin, MutableAttributes } from '#apiserver/admission/admission.js';
import { concerns } from '#apiserver/admission/refusal.js';

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
