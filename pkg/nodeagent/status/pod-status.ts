/** The whole status of a pod that the node agent reports. Pure. */
import { podQosClass } from '#api/core/v1/pod/resources.js';
import type { ContainerStatus, PodStatus } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { podIPs } from '#nodeagent/runtime/pod-runtime.js';
import { podConditions } from '#nodeagent/status/conditions.js';
import { type ContainerStatusInput, containerStatuses, endedStatuses } from '#nodeagent/status/container-status.js';
import { podPhase } from '#nodeagent/status/phase.js';

export interface PodStatusInput extends ContainerStatusInput {
  /** The node's. */
  readonly hostIPs: readonly string[];
  /** Milliseconds. */
  readonly now: number;
  /** Nothing of it runs, or will ever run again. */
  readonly over: boolean;
  /** The agent has given the pod up: phase Failed with this reason and message. */
  readonly failure?: { readonly reason: string; readonly message: string };
}

export function podStatus(input: PodStatusInput): PodStatus {
  const { pod, failure } = input;
  const final = (statuses: ContainerStatus[]) => (input.over ? endedStatuses(statuses) : statuses);
  const init = containerStatuses(pod.spec.initContainers ?? [], 'init', input);
  const main = containerStatuses(pod.spec.containers, 'main', input);
  const ephemeral = containerStatuses(pod.spec.ephemeralContainers ?? [], 'ephemeral', input);
  const old = pod.status?.phase;
  // What has ended stays ended.
  const phase =
    old === 'Succeeded' || old === 'Failed' ? old : failure === undefined ? podPhase(pod.spec, init, main) : 'Failed';
  const now = formatTime(input.now);
  const ips = pod.spec.hostNetwork === true ? input.hostIPs : podIPs(input.runtime);
  const kept = ips.length > 0 ? ips : (pod.status?.podIPs ?? []).map(({ ip = '' }) => ip);
  const status: PodStatus = {
    phase,
    conditions: podConditions({ pod, phase, init, main, now }),
    hostIP: input.hostIPs[0] ?? '',
    startTime: pod.status?.startTime ?? now,
    containerStatuses: final(main),
    qosClass: podQosClass(pod),
  };
  const reason = failure?.reason ?? pod.status?.reason;
  const message = failure?.message ?? pod.status?.message;
  if (reason !== undefined) status.reason = reason;
  if (message !== undefined) status.message = message;
  if (init.length > 0) status.initContainerStatuses = final(init);
  if (ephemeral.length > 0) status.ephemeralContainerStatuses = ephemeral;
  if (kept[0] !== undefined && kept[0] !== '') {
    status.podIP = kept[0];
    status.podIPs = kept.map((ip) => ({ ip }));
  }
  return status;
}
