/** Container statuses of a pod that has ended. Rules of release 1.24 (status manager, TerminatePod). Pure. */
import type { ContainerState, ContainerStatus } from '#api/core/v1/types.gen.js';

export const lostState: ContainerState = {
  terminated: {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located when the pod was terminated',
  },
};

export interface PodContainerStatuses {
  readonly init: readonly ContainerStatus[];
  readonly main: readonly ContainerStatus[];
}

/**
 * A container that may have run counts as lost if its end was not observed; one that waited for a restart keeps its
 * last end. Containers behind a failed init container keep waiting: the init container's status has the failure.
 */
export function endedStatuses({ init, main }: PodContainerStatuses): {
  init: ContainerStatus[];
  main: ContainerStatus[];
} {
  const lastStarted = init.findLastIndex(hasStarted);
  return {
    init: init.map((status, index) => (index <= Math.max(0, lastStarted) ? ended(status) : status)),
    main: hasInitialized(init, main) ? main.map(ended) : [...main],
  };
}

function hasStarted({ state, lastState }: ContainerStatus): boolean {
  return state?.waiting === undefined || lastState?.terminated !== undefined;
}

/** Init has completed, or a main container has run, which implies it. */
function hasInitialized(init: readonly ContainerStatus[], main: readonly ContainerStatus[]): boolean {
  const last = init.at(-1);
  if (last === undefined || main.some(hasStarted)) return true;
  return last.state?.terminated?.exitCode === 0 || last.lastState?.terminated?.exitCode === 0;
}

function ended(status: ContainerStatus): ContainerStatus {
  const { state, lastState } = status;
  if (state?.terminated !== undefined) return status;
  const last = state?.waiting === undefined ? undefined : lastState?.terminated;
  return { ...status, state: last === undefined ? lostState : { terminated: last } };
}
