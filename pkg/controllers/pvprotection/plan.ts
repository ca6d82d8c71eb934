/** Whether a volume that is deleted may go. Pure. */
import type { PersistentVolume } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { protectionStep, withFinalizer, withoutFinalizer } from '#controllers/framework/protection.js';

/** The volume with the finalizer, or without it when it goes and is not bound; undefined when it is as it should be. */
export function planVolume(volume: PersistentVolume, { finalizers }: Dialect): PersistentVolume | undefined {
  const finalizer = finalizers.pvProtection;
  const step = protectionStep(volume, finalizer);
  if (step === 'add') return withFinalizer(volume, finalizer);
  return step === 'release' && volume.status?.phase !== 'Bound' ? withoutFinalizer(volume, finalizer) : undefined;
}
