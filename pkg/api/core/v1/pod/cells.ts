/** A pod's table row. */
import type { ContainerState, ContainerStatus, Pod } from '#api/core/v1/types.gen.js';
import type { TableRowCells, TableRowCondition } from '#api/meta/object.js';
import { isConditionTrue } from '#api/meta/v1/condition/conditions.js';
import { age, humanDuration } from '#api/table/age.js';
import { none, orNone } from '#api/table/text.js';
import { parseTime } from '#apimachinery/clock.js';

/** Status reason of a pod on an unreachable node. */
const nodeLost = 'NodeLost';

interface Summary {
  reason: string;
  ready: number;
  restarts: number;
  /** Milliseconds since the epoch; NaN without restarts. */
  lastRestart: number;
}

/** `now` in ms. Name, ready, status, restarts, age, IP, node, nominated node, readiness gates. */
export function podCells(pod: Pod, now: number): TableRowCells {
  const summary = summarize(pod);
  const total = pod.spec.containers?.length ?? 0;
  const restarted = Number.isNaN(summary.lastRestart) ? '' : ` (${humanDuration(now - summary.lastRestart)} ago)`;
  return [
    pod.metadata.name ?? '',
    `${summary.ready}/${total}`,
    summary.reason,
    `${summary.restarts}${restarted}`,
    age(pod.metadata.creationTimestamp, now),
    orNone(pod.status?.podIPs?.[0]?.ip),
    orNone(pod.spec.nodeName),
    orNone(pod.status?.nominatedNodeName),
    readinessGates(pod),
  ];
}

/** The condition of completed pods. */
export function podRowConditions({ status }: Pod): readonly TableRowCondition[] {
  const ended = endedPhases.get(status?.phase ?? '');
  return ended === undefined ? [] : [ended];
}

const endedPhases: ReadonlyMap<string, TableRowCondition> = new Map([
  ['Succeeded', completed('Succeeded', 'The pod has completed successfully.')],
  ['Failed', completed('Failed', 'The pod failed.')],
]);

function completed(reason: string, message: string): TableRowCondition {
  return { type: 'Completed', status: 'True', reason, message };
}

function summarize(pod: Pod): Summary {
  const summary = summarizeInit(pod) ?? summarizeContainers(pod);
  if (pod.metadata.deletionTimestamp === undefined) return summary;
  return { ...summary, reason: pod.status?.reason === nodeLost ? 'Unknown' : 'Terminating' };
}

/** The summary of init containers while they run or fail; undefined when they are done. */
function summarizeInit(pod: Pod): Summary | undefined {
  const statuses = pod.status?.initContainerStatuses ?? [];
  const total = pod.spec.initContainers?.length ?? 0;
  let restarts = 0;
  let lastRestart = Number.NaN;
  for (const [i, status] of statuses.entries()) {
    restarts += status.restartCount ?? 0;
    lastRestart = latestRestart(lastRestart, status);
    const { terminated, waiting } = status.state ?? {};
    if (terminated?.exitCode === 0) continue;
    let reason = `Init:${i}/${total}`;
    if (terminated !== undefined) reason = `Init:${endText(terminated)}`;
    else if ((waiting?.reason ?? '') !== '' && waiting?.reason !== 'PodInitializing')
      reason = `Init:${waiting?.reason}`;
    return { reason, ready: 0, restarts, lastRestart };
  }
  return undefined;
}

function summarizeContainers(pod: Pod): Summary {
  const summary: Summary = {
    reason: pod.status?.reason || pod.status?.phase || '',
    ready: 0,
    restarts: 0,
    lastRestart: Number.NaN,
  };
  let running = false;
  // Iterates backwards, so that the first container with a reason wins.
  for (const status of [...(pod.status?.containerStatuses ?? [])].reverse()) {
    summary.restarts += status.restartCount ?? 0;
    summary.lastRestart = latestRestart(summary.lastRestart, status);
    const { waiting, terminated, running: runs } = status.state ?? {};
    if ((waiting?.reason ?? '') !== '') summary.reason = waiting?.reason ?? '';
    else if (terminated !== undefined) summary.reason = endText(terminated);
    else if (status.ready && runs !== undefined) {
      running = true;
      summary.ready++;
    }
  }
  if (summary.reason === 'Completed' && running) {
    summary.reason = isConditionTrue(pod.status?.conditions, 'Ready') ? 'Running' : 'NotReady';
  }
  return summary;
}

function endText(terminated: NonNullable<ContainerState['terminated']>): string {
  if ((terminated.reason ?? '') !== '') return terminated.reason ?? '';
  if ((terminated.signal ?? 0) !== 0) return `Signal:${terminated.signal}`;
  return `ExitCode:${terminated.exitCode ?? 0}`;
}

function latestRestart(lastRestart: number, status: ContainerStatus): number {
  const finishedAt = status.lastState?.terminated?.finishedAt;
  const at = finishedAt === undefined ? Number.NaN : parseTime(finishedAt);
  if (Number.isNaN(at)) return lastRestart;
  return Number.isNaN(lastRestart) ? at : Math.max(lastRestart, at);
}

function readinessGates(pod: Pod): string {
  const gates = pod.spec.readinessGates ?? [];
  if (gates.length === 0) return none;
  const met = gates.filter((gate) => isConditionTrue(pod.status?.conditions, gate.conditionType)).length;
  return `${met}/${gates.length}`;
}
