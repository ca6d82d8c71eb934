/** Which statuses of pods only tell that they are still being started. */
import type { ContainerStatus, PodStatus } from '#api/core/v1/types.gen.js';

const starting = new Set(['ContainerCreating', 'PodInitializing']);

/**
 * True of a status that another one will soon take the place of: everything still waits for its turn, and nothing has gone
 * wrong. Where writes are rare, such a word can wait for those that somebody else may wait for. Pure.
 */
export function isProgress({ phase, containerStatuses = [], initContainerStatuses = [], reason }: PodStatus): boolean {
  if (phase !== 'Pending' || reason !== undefined) return false;
  const isStarting = ({ state, restartCount }: ContainerStatus) =>
    restartCount === 0 && starting.has(state?.waiting?.reason ?? '');
  return [...initContainerStatuses, ...containerStatuses].every(isStarting);
}
