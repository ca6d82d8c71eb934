/** The pod status that the node agent reports. Pure. */
import { getPodCondition } from '#api/core/v1/pod/conditions.js';
import { podQosClass } from '#api/core/v1/pod/resources.js';
import type { ContainerStatus, Pod, PodCondition, PodSpec, PodStatus } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import type { Draft } from '#apimachinery/draft.js';
import { podIPs } from '#nodeagent/runtime/pod-runtime.js';
import { type ContainerStatusInput, containerStatuses } from '#nodeagent/status/container-status.js';
import { endedStatuses } from '#nodeagent/status/ended-status.js';

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

/** A pod's phase, from the states of its containers. Rules of release 1.24 (kubelet_pods.go, getPhase). */
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

/** Conditions that the node agent maintains. Reasons and messages of release 1.24 (status/generate.go). */
const agentConditions = ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'] as const;

type ConditionValue = Omit<PodCondition, 'type'>;

const isTrue: ConditionValue = { status: 'True' };
const names = (statuses: readonly string[]) => `[${statuses.join(' ')}]`;

function unmet(unknown: readonly string[], other: readonly string[], what: string): string {
  const parts: string[] = [];
  if (unknown.length > 0) parts.push(`containers with unknown status: ${names(unknown)}`);
  if (other.length > 0) parts.push(`containers with ${what} status: ${names(other)}`);
  return parts.join(', ');
}

function initialized(pod: Pod, statuses: readonly ContainerStatus[], phase: PodPhase): ConditionValue {
  const init = pod.spec.initContainers ?? [];
  if (phase === 'Succeeded') return { status: 'True', reason: 'PodCompleted' };
  const incomplete = init.filter((c) => statuses.find((s) => s.name === c.name)?.ready !== true).map((c) => c.name);
  if (incomplete.length === 0) return isTrue;
  return { status: 'False', reason: 'ContainersNotInitialized', message: unmet([], incomplete, 'incomplete') };
}

function containersReady(pod: Pod, statuses: readonly ContainerStatus[], phase: PodPhase): ConditionValue {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  const unknown: string[] = [];
  const unready: string[] = [];
  for (const { name } of pod.spec.containers) {
    const status = statuses.find((s) => s.name === name);
    if (status === undefined) unknown.push(name);
    else if (!status.ready) unready.push(name);
  }
  if (unknown.length === 0 && unready.length === 0) return isTrue;
  return { status: 'False', reason: 'ContainersNotReady', message: unmet(unknown, unready, 'unready') };
}

function ready(pod: Pod, containers: ConditionValue): ConditionValue {
  if (containers.status !== 'True') return containers;
  const missing: string[] = [];
  for (const { conditionType } of pod.spec.readinessGates ?? []) {
    const condition = getPodCondition(pod.status, conditionType);
    if (condition === undefined)
      missing.push(`corresponding condition of pod readiness gate "${conditionType}" does not exist.`);
    else if (condition.status !== 'True') {
      missing.push(`the status of pod readiness gate "${conditionType}" is not "True", but ${condition.status}`);
    }
  }
  return missing.length === 0
    ? isTrue
    : { status: 'False', reason: 'ReadinessGatesNotReady', message: missing.join(', ') };
}

export interface ConditionInput {
  readonly pod: Pod;
  readonly phase: PodPhase;
  readonly init: readonly ContainerStatus[];
  readonly main: readonly ContainerStatus[];
  /** RFC 3339. */
  readonly now: string;
}

/** The agent's four conditions; a transition time changes only with its status. */
function podConditions(input: ConditionInput): PodCondition[] {
  const { pod, phase } = input;
  const containers = containersReady(pod, input.main, phase);
  const conditions: Record<(typeof agentConditions)[number], ConditionValue> = {
    Initialized: initialized(pod, input.init, phase),
    Ready: ready(pod, containers),
    ContainersReady: containers,
    PodScheduled: isTrue,
  };
  return agentConditions.map((type) => {
    const old = getPodCondition(pod.status, type);
    const { status } = conditions[type];
    const since = old?.status === status ? old.lastTransitionTime : undefined;
    return { type, ...conditions[type], lastTransitionTime: since ?? input.now };
  });
}

export interface PodStatusInput extends ContainerStatusInput {
  /** The node's addresses. */
  readonly hostIPs: readonly string[];
  /** Milliseconds. */
  readonly now: number;
  /** No container runs or will run again. */
  readonly over: boolean;
  /** The agent has failed the pod: phase Failed with this reason and message. */
  readonly failure?: { readonly reason: string; readonly message: string; readonly isRefusal?: boolean };
  /** The pod waits for something the node lacks. */
  readonly blocked?: { readonly reason: string; readonly message: string };
}

/** The status of a refused pod: no container ever existed, so there are no container statuses. */
function refusedStatus({ pod, failure, runtime, now }: PodStatusInput): PodStatus | undefined {
  const { phase, reason = '', message = '', startTime, containerStatuses = [] } = pod.status ?? {};
  const containerCount = containerStatuses.length + runtime.containers.length + runtime.sandboxes.length;
  const wasRefused = phase === 'Failed' && containerCount === 0;
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
  // A completed pod stays completed.
  const next = failure !== undefined ? 'Failed' : blocked !== undefined ? 'Pending' : podPhase(pod.spec, init, main);
  const phase = old === 'Succeeded' || old === 'Failed' ? old : next;
  const now = formatTime(input.now);
  const ips = pod.spec.hostNetwork === true ? input.hostIPs : podIPs(input.runtime);
  const podAddresses = ips.length > 0 ? ips : (pod.status?.podIPs ?? []).map(({ ip = '' }) => ip);
  const status: Draft<PodStatus> = {
    phase,
    conditions: podConditions({ pod, phase, init, main, now }),
    hostIP: input.hostIPs[0] ?? '',
    startTime: pod.status?.startTime ?? now,
    containerStatuses: final.main,
    qosClass: podQosClass(pod),
  };
  // Reason and message stay as long as the phase does.
  const { reason, message } = failure ?? blocked ?? (phase === old ? pod.status : undefined) ?? {};
  if (reason !== undefined) status.reason = reason;
  if (message !== undefined) status.message = message;
  if (init.length > 0) status.initContainerStatuses = final.init;
  if (ephemeral.length > 0) status.ephemeralContainerStatuses = ephemeral;
  if (podAddresses[0] !== undefined && podAddresses[0] !== '') {
    status.podIP = podAddresses[0];
    status.podIPs = podAddresses.map((ip) => ({ ip }));
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

/** A blocked container is not being created. */
function blockedStatus(status: ContainerStatus): ContainerStatus {
  return status.state?.waiting === undefined ? status : { ...status, state: { waiting: { reason: 'Blocked' } } };
}
