/** Where our controllers deliberately leave something else than release 1.24 does, and why. */

export interface Difference {
  /** Name of the situation. */
  readonly situation: string;
  readonly reason: string;
  /** Not always: it depends on which of two things happens first. */
  readonly isChance?: true;
}

export const differences: readonly Difference[] = [
  {
    situation: 'statefulset/ordered-pod-succeeded',
    reason: 'A pod that has ended with success is replaced, as by later releases; 1.24 waits for it for ever.',
  },
  {
    situation: 'statefulset/parallel-pod-succeeded',
    reason: 'A pod that has ended with success is replaced, as by later releases; 1.24 waits for it for ever.',
  },
  {
    situation: 'volume/released-delete',
    reason: 'Directories of the machine that no provisioner has made are not deleted; 1.24 deletes those below /tmp.',
  },
  {
    situation: 'node/taint-evicts',
    reason: '1.24 may tell that it has cancelled the deletion that it has just made.',
    isChance: true,
  },
];
