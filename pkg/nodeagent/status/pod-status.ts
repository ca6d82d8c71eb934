/** The whole status of a pod that the node agent reports. Pure. */

import { podQosClass } from '#api/core/v1/pod/resources.js';
import type { ContainerStatus, PodStatus } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import type { Draft } from '#apimachinery/draft.js';
import { podIPs } from '#nodeagent/runtime/pod-runtime.js';
import { podConditions } from '#nodeagent/status/conditions.js';
import { type ContainerStatusInput, containerStatuses } from '#nodeagent/status/container-status.js';
import { endedStatuses } from '#nodeagent/status/ended-status.js';
import { podPhase } from '#nodeagent/status/phase.js';

export interface PodStatusInput extends ContainerStatusInput {
  /** The node's. */
  readonly hostIPs: readonly string[];
  /** Milliseconds. */
  readonly now: number;
  /** Nothing of it runs, or will ever run again. */
  readonly over: boolean;
  /** The agent has given the pod up: phase Failed with this reason and message. */
  readonly failure?: { readonly reason: string; readonly message: string; readonly isRefusal?: boolean };
  /** The pod waits for what the node does not have. */
  readonly blocked?: { readonly reason: string; readonly message: string };
}

/** Nothing of a pod that was refused has ever been here, and nothing is made up. */
function refusedStatus({ pod, failure, runtime, now }: PodStatusInput): PodStatus | undefined {
  const { phase, reason = '', message = '', startTime, containerStatuses = [] } = pod.status ?? {};
  const known = containerStatuses.length + runtime.containers.length + runtime.sandboxes.length;
  const wasRefused = phase === 'Failed' && known === 0;
  if (failure?.isRefusal !== true && !wasRefused) return undefined;
  return {
    phase: 'Failed',
    reason: failure?.reason ?? reason,
    message: failure?.message ?? message,
    startTime: startTime ?? formatTime(now),
    qosClass: podQosClass(pod),
  };
}

export function podStatus(input: PodStatusInput): PodStatus {
  const { pod, failure, blocked } = input;
  const refused = refusedStatus(input);
  if (refused !== undefined) return refused;
  const init = containerStatuses(pod.spec.initContainers ?? [], 'init', input);
  const main = containerStatuses(pod.spec.containers, 'main', input);
  const ephemeral = containerStatuses(pod.spec.ephemeralContainers ?? [], 'ephemeral', input);
  const final = finalStatuses({ init, main }, input);
  const old = pod.status?.phase;
  // What has ended stays ended.
  const next = failure !== undefined ? 'Failed' : blocked !== undefined ? 'Pending' : podPhase(pod.spec, init, main);
  const phase = old === 'Succeeded' || old === 'Failed' ? old : next;
  const now = formatTime(input.now);
  const ips = pod.spec.hostNetwork === true ? input.hostIPs : podIPs(input.runtime);
  const kept = ips.length > 0 ? ips : (pod.status?.podIPs ?? []).map(({ ip = '' }) => ip);
  const status: Draft<PodStatus> = {
    phase,
    conditions: podConditions({ pod, phase, init, main, now }),
    hostIP: input.hostIPs[0] ?? '',
    startTime: pod.status?.startTime ?? now,
    containerStatuses: final.main,
    qosClass: podQosClass(pod),
  };
  // What was said of a phase holds as long as that does.
  const { reason, message } = failure ?? blocked ?? (phase === old ? pod.status : undefined) ?? {};
  if (reason !== undefined) status.reason = reason;
  if (message !== undefined) status.message = message;
  if (init.length > 0) status.initContainerStatuses = final.init;
  if (ephemeral.length > 0) status.ephemeralContainerStatuses = ephemeral;
  if (kept[0] !== undefined && kept[0] !== '') {
    status.podIP = kept[0];
    status.podIPs = kept.map((ip) => ({ ip }));
  }
  return status;
}

function finalStatuses(
  { init, main }: { init: ContainerStatus[]; main: ContainerStatus[] },
  { over, blocked }: PodStatusInput,
): { init: ContainerStatus[]; main: ContainerStatus[] } {
  if (over) return endedStatuses({ init, main });
  if (blocked === undefined) return { init, main };
  return { init: init.map(blockedStatus), main: main.map(blockedStatus) };
}

/** What waits is not being created. */
function blockedStatus(status: ContainerStatus): ContainerStatus {
  return status.state?.waiting === undefined ? status : { ...status, state: { waiting: { reason: 'Blocked' } } };
}
