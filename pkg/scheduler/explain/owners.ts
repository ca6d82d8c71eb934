import type { Pod } from '#api/core/v1/types.gen.js';

/** Its controller does not put a pod in its place on the same node. */
export function canLeaveNode({ metadata }: Pod): boolean {
  return !(metadata.ownerReferences ?? []).some(
    ({ controller, kind }) => controller === true && (kind === 'DaemonSet' || kind === 'Node'),
  );
}
