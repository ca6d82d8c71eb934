/** Deliberate differences from release 1.24, with reasons. */

export interface Difference {
  /** The name of the situation. */
  readonly situation: string;
  readonly reason: string;
  /** Set if the difference depends on the order of two events. */
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
  ...['daemonset/roll-twice', 'daemonset/roll-unready', 'daemonset/roll-back'].map((situation) => ({
    situation,
    reason: 'Old pods that are not available count as such; 1.24 takes away more than may be missing.',
  })),
  {
    situation: 'daemonset/quota',
    reason: 'The status is told where pods are refused, too, as by later releases; 1.24 leaves it empty.',
    isChance: true,
  },
  ...['budget/job', 'budget/job-min', 'budget/foreign-owner'].map((situation) => ({
    situation,
    reason: 'The generation was observed where the budget has been looked at before its pods came.',
    isChance: true as const,
  })),
  ...['orphan', 'background', 'foreground'].map((policy) => ({
    situation: `garbage/replicaset-of-two-${policy}`,
    reason: 'Which of the two owners makes the first template is left to chance.',
    isChance: true as const,
  })),
  {
    situation: 'volume/generic-ephemeral-taken',
    reason: 'That the claim exists is told once more where it is not in the cache yet.',
    isChance: true,
  },
  {
    situation: 'replicaset/survivors-crowded-node-first',
    reason: 'Either of the two pods on the crowded node may go.',
    isChance: true,
  },
  {
    situation: 'deployment/proportional',
    reason: 'Which of the pods are left out depends on when the statuses of the two ReplicaSets are written.',
    isChance: true,
  },
  ...['deployment/middle-pause', 'deployment/middle-third-revision'].map((situation) => ({
    situation,
    reason: 'Old ReplicaSets shrink in the order of creation; those of one second are ordered by their names.',
    isChance: true as const,
  })),
  {
    situation: 'cronjob/zone-in-schedule',
    reason: 'The event does not send people to the pages of another product.',
  },
  {
    situation: 'quota/released',
    reason: 'All pods are counted; 1.24 may leave out one that came while it counted for the first time.',
  },
  {
    situation: 'budget/two-budgets',
    reason:
      'Every budget of a pod is looked at when the pod changes; 1.24 looks at one of them, and 1.24 leaves it to chance at which.',
    isChance: true,
  },
  {
    situation: 'cronjob/history-none',
    reason: '1.24 may delete the job before it has told the time of its success.',
    isChance: true,
  },
  {
    situation: 'replicaset/match-expressions',
    reason: 'The pod is adopted where it comes before the ReplicaSet is looked at.',
    isChance: true,
  },
  {
    situation: 'node/taint-evicts',
    reason: '1.24 may tell that it has cancelled the deletion that it has just made.',
    isChance: true,
  },
];
