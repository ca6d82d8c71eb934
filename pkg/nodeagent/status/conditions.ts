/** The conditions that the node agent keeps on a pod. Reasons and messages of release 1.24 (status/generate.go). */

import { getPodCondition } from '#api/core/v1/pod/conditions.js';
import type { ContainerStatus, Pod, PodCondition } from '#api/core/v1/types.gen.js';
import type { PodPhase } from '#nodeagent/status/phase.js';

/** Types of the conditions below, in their order. */
const agentConditions = ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'] as const;

type Found = Omit<PodCondition, 'type'>;

const isTrue: Found = { status: 'True' };
const names = (statuses: readonly string[]) => `[${statuses.join(' ')}]`;

function unmet(unknown: readonly string[], other: readonly string[], what: string): string {
  const parts: string[] = [];
  if (unknown.length > 0) parts.push(`containers with unknown status: ${names(unknown)}`);
  if (other.length > 0) parts.push(`containers with ${what} status: ${names(other)}`);
  return parts.join(', ');
}

function initialized(pod: Pod, statuses: readonly ContainerStatus[], phase: PodPhase): Found {
  const init = pod.spec.initContainers ?? [];
  if (phase === 'Succeeded') return { status: 'True', reason: 'PodCompleted' };
  const incomplete = init.filter((c) => statuses.find((s) => s.name === c.name)?.ready !== true).map((c) => c.name);
  if (incomplete.length === 0) return isTrue;
  return { status: 'False', reason: 'ContainersNotInitialized', message: unmet([], incomplete, 'incomplete') };
}

function containersReady(pod: Pod, statuses: readonly ContainerStatus[], phase: PodPhase): Found {
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

function ready(pod: Pod, containers: Found): Found {
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

/** The agent's four conditions; transition times move only when the status does. */
export function podConditions(input: ConditionInput): PodCondition[] {
  const { pod, phase } = input;
  const containers = containersReady(pod, input.main, phase);
  const found: Record<(typeof agentConditions)[number], Found> = {
    Initialized: initialized(pod, input.init, phase),
    Ready: ready(pod, containers),
    ContainersReady: containers,
    PodScheduled: isTrue,
  };
  return agentConditions.map((type) => {
    const old = getPodCondition(pod.status, type);
    const { status } = found[type];
    const since = old?.status === status ? old.lastTransitionTime : undefined;
    return { type, ...found[type], lastTransitionTime: since ?? input.now };
  });
}
