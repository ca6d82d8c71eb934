/** Which pods leave a node that is drained, and which stand in the way. Rules and words of `kubectl drain`. Pure. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

export interface DrainPolicy {
  /** Leave the pods of daemon sets, which would come back at once. */
  readonly ignoreDaemonSets: boolean;
  /** Evict pods although what they have in emptyDir volumes is lost. */
  readonly deleteEmptyDirData: boolean;
  /** Evict pods that nobody makes again. */
  readonly force: boolean;
}

export interface DrainPlan {
  readonly evicted: readonly Pod[];
  /** What is lost or left, in words. */
  readonly warnings: readonly string[];
  /** Why it may not be drained this way; with what to do about it. */
  readonly obstacles: readonly string[];
}

/** `pods`: those of the node. */
export function planDrain(dialect: Dialect, pods: readonly Pod[], policy: DrainPolicy): DrainPlan {
  const evicted: Pod[] = [];
  const daemons: string[] = [];
  const orphans: string[] = [];
  const withData: string[] = [];
  for (const pod of pods) {
    // The node runs static pods whether or not the API knows of them.
    if (pod.metadata.annotations?.[dialect.annotations.configMirror] !== undefined) continue;
    const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
    const isOver = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
    const controller = pod.metadata.ownerReferences?.find((owner) => owner.controller === true);
    if (controller?.kind === 'DaemonSet' && !isOver) {
      daemons.push(name);
      continue;
    }
    if (controller === undefined && !isOver) orphans.push(name);
    if (!isOver && (pod.spec.volumes ?? []).some((volume) => volume.emptyDir !== undefined)) withData.push(name);
    evicted.push(pod);
  }
  const warnings: string[] = [];
  const obstacles: string[] = [];
  const judge = (names: readonly string[], allowed: boolean, option: string, warning: string, obstacle: string) => {
    if (names.length === 0) return;
    if (allowed) warnings.push(`${warning}: ${names.join(', ')}`);
    else obstacles.push(`cannot delete ${obstacle} (use ${option} to ${optionMeanings[option]}): ${names.join(', ')}`);
  };
  judge(
    daemons,
    policy.ignoreDaemonSets,
    '--ignore-daemonsets',
    'ignoring DaemonSet-managed Pods',
    'DaemonSet-managed Pods',
  );
  judge(
    withData,
    policy.deleteEmptyDirData,
    '--delete-emptydir-data',
    'deleting Pods with local storage',
    'Pods with local storage',
  );
  judge(orphans, policy.force, '--force', 'deleting Pods that declare no controller', 'Pods declare no controller');
  return { evicted, warnings, obstacles };
}

const optionMeanings: Readonly<Record<string, string>> = {
  '--ignore-daemonsets': 'ignore',
  '--delete-emptydir-data': 'override',
  '--force': 'override',
};
