/** A pod's phase, from the states of its containers. Rules of release 1.24 (kubelet_pods.go, getPhase). */
import type { ContainerStatus, PodSpec } from '#api/core/v1/types.gen.js';

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

type Named = ReadonlyMap<string, ContainerStatus>;

function initCounts(spec: PodSpec, statuses: Named): { pending: number; failed: number } {
  let pending = 0;
  let failed = 0;
  for (const { name } of spec.initContainers ?? []) {
    const status = statuses.get(name);
    const ended = status?.state?.terminated ?? status?.lastState?.terminated;
    if (status?.state?.running !== undefined || ended === undefined) pending++;
    else if (ended.exitCode !== 0) failed++;
  }
  return { pending, failed };
}

export function podPhase(spec: PodSpec, init: readonly ContainerStatus[], main: readonly ContainerStatus[]): PodPhase {
  const byName = (list: readonly ContainerStatus[]): Named => new Map(list.map((status) => [status.name, status]));
  const { pending, failed } = initCounts(spec, byName(init));
  const policy = spec.restartPolicy ?? 'Always';
  if (failed > 0 && policy === 'Never') return 'Failed';
  let [running, waiting, stopped, succeeded, unknown] = [0, 0, 0, 0, 0];
  const statuses = byName(main);
  for (const { name } of spec.containers) {
    const status = statuses.get(name);
    if (status?.state?.running !== undefined) running++;
    else if (status?.state?.terminated !== undefined) {
      stopped++;
      if (status.state.terminated.exitCode === 0) succeeded++;
    } else if (status?.state?.waiting !== undefined) {
      if (status.lastState?.terminated === undefined) waiting++;
      else stopped++;
    } else unknown++;
  }
  if (pending > 0 || waiting > 0) return 'Pending';
  if (running > 0 && unknown === 0) return 'Running';
  if (running === 0 && stopped > 0 && unknown === 0) {
    if (policy === 'Always') return 'Running';
    if (stopped === succeeded) return 'Succeeded';
    return policy === 'Never' ? 'Failed' : 'Running';
  }
  return 'Pending';
}
