/**
 * Decides which dead containers and sandboxes of a node are removed. Pure. Rules of release 1.24
 * (pkg/kubelet/kuberuntime/kuberuntime_gc.go). Pods that the node no longer has are removed as a whole elsewhere.
 */
import type { PodSandboxStatus } from '#nodeagent/cri/cri.js';
import type { PodRuntime, RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';

export interface CollectedPod {
  readonly runtime: PodRuntime;
  /** Its containers may be started again; otherwise all of them have ended. */
  readonly isLive: boolean;
}

export interface ContainerPolicy {
  /** Minimum age of a container, counted from its creation. */
  readonly minAgeMs: number;
  /** Dead containers kept of each container of a pod; negative: all. */
  readonly perContainer: number;
  /** Dead containers kept on the node; negative: all. At least one of each container is kept before any other. */
  readonly total: number;
}

export interface ContainerPlanInput {
  readonly pods: readonly CollectedPod[];
  readonly policy: ContainerPolicy;
  /** Time of the wall clock, as the runtime's times. */
  readonly nowMs: number;
  /** Removes all containers of pods that have ended, whatever the policy. */
  readonly removesEnded: boolean;
}

/** The dead containers of one name of one pod, newest first. */
type Unit = readonly RuntimeContainer[];

/** The containers to remove, in this order. */
export function containersToRemove({ pods, policy, nowMs, removesEnded }: ContainerPlanInput): RuntimeContainer[] {
  const { minAgeMs, perContainer, total } = policy;
  const removed: RuntimeContainer[] = [];
  let units: Unit[] = [];
  const keep = (unit: Unit, count: number): Unit => {
    removed.push(...unit.slice(count).reverse());
    return unit.slice(0, count);
  };
  for (const { runtime, isLive } of pods) {
    const dead = runtime.containers.filter((container) => isCollectable(container, isLive, nowMs - minAgeMs));
    const names = new Set(dead.map(({ metadata }) => metadata.name));
    for (const name of names) {
      // The order of the attempts, since the wall clock may have been set back.
      const unit = dead.filter(({ metadata }) => metadata.name === name);
      if (removesEnded && !isLive) keep(unit, 0);
      else units.push(unit);
    }
  }
  if (perContainer >= 0) units = units.map((unit) => keep(unit, perContainer));
  const count = () => units.reduce((sum, unit) => sum + unit.length, 0);
  if (total >= 0 && count() > total) {
    // As in 1.24, a unit of which nothing is left counts as well.
    const each = Math.max(1, Math.floor(total / units.length));
    units = units.map((unit) => keep(unit, each));
    if (count() > total) keep(units.flat().sort(newestFirst), total);
  }
  return removed;
}

/** A live pod's container that was created may be about to start. */
function isCollectable({ state, createdAt }: RuntimeContainer, isLive: boolean, latestMs: number): boolean {
  if (state === 'CONTAINER_RUNNING' || createdAt > latestMs) return false;
  return state !== 'CONTAINER_CREATED' || !isLive;
}

function newestFirst(a: RuntimeContainer, b: RuntimeContainer): number {
  return b.createdAt - a.createdAt;
}

/**
 * The sandboxes that are not ready and have no containers, oldest first. The newest one of a pod is kept unless the pod
 * has ended and everything of it is removed.
 */
export function sandboxesToRemove({ runtime, isLive }: CollectedPod, removesEnded: boolean): PodSandboxStatus[] {
  const occupied = new Set(runtime.containers.map(({ podSandboxId }) => podSandboxId));
  const kept = removesEnded && !isLive ? 0 : 1;
  return runtime.sandboxes
    .slice(kept)
    .filter(({ id, state }) => state !== 'SANDBOX_READY' && !occupied.has(id))
    .reverse();
}
