import type { Pod } from '#api/core/v1/types.gen.js';

/** Whether its controller would not recreate the pod on the same node. */
export function canLeaveNode({ metadata }: Pod): boolean {
  return !(metadata.ownerReferences ?? []).some(
    ({ controller, kind }) => controller === true && (kind === 'DaemonSet' || kind === 'Node'),
  );
}
