/** Defaults of claims, in place; templates of claims get them, too. */
import type { PersistentVolumeClaim } from '#api/core/v1/types.gen.js';

export function defaultClaim(claim: PersistentVolumeClaim): void {
  claim.status = { ...claim.status, phase: claim.status?.phase || 'Pending' };
  if (claim.spec !== undefined) claim.spec.volumeMode ??= 'Filesystem';
}
