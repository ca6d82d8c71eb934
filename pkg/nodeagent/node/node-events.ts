/** The node's events, with reasons and texts of release 1.24 (pkg/kubelet/nodestatus, kubelet_node_status.go). */
import type { NodeStatus } from '#api/core/v1/types.gen.js';
import type { EventType } from '#client/events/correlator.js';
import type { EventRecorder } from '#client/events/recorder.js';

export interface NodeEvent {
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
}

/** By condition: the reasons for true and false. */
const reasons: Readonly<Record<string, readonly [whenTrue: string, whenFalse: string]>> = {
  MemoryPressure: ['NodeHasInsufficientMemory', 'NodeHasSufficientMemory'],
  DiskPressure: ['NodeHasDiskPressure', 'NodeHasNoDiskPressure'],
  PIDPressure: ['NodeHasInsufficientPID', 'NodeHasSufficientPID'],
  Ready: ['NodeReady', 'NodeNotReady'],
};

export function statusEvent(nodeName: string, reason: string): NodeEvent {
  return { type: 'Normal', reason, message: `Node ${nodeName} status is now: ${reason}` };
}

/** The events of a status change. A new node (`old` undefined) has events for pressures, but not for Ready. Pure. */
export function statusEvents(nodeName: string, old: NodeStatus | undefined, fresh: NodeStatus): NodeEvent[] {
  const events: NodeEvent[] = [];
  const bootID = fresh.nodeInfo?.bootID ?? '';
  const oldBootID = old?.nodeInfo?.bootID ?? '';
  if (oldBootID !== '' && oldBootID !== bootID) {
    const message = `Node ${nodeName} has been rebooted, boot id: ${bootID}`;
    events.push({ type: 'Warning', reason: 'Rebooted', message });
  }
  for (const { type, status } of fresh.conditions ?? []) {
    const before = old?.conditions?.find((condition) => condition.type === type)?.status;
    const pair = reasons[type];
    if (pair === undefined || before === status || (type === 'Ready' && before === undefined)) continue;
    events.push(statusEvent(nodeName, status === 'True' ? pair[0] : pair[1]));
  }
  return events;
}

export class NodeEvents {
  readonly #recorder: EventRecorder;
  readonly #nodeName: string;

  constructor(recorder: EventRecorder, nodeName: string) {
    this.#recorder = recorder;
    this.#nodeName = nodeName;
  }

  record({ type, reason, message }: NodeEvent): void {
    const name = this.#nodeName;
    // The name replaces the UID, since events may precede the node's registration, as in 1.24.
    this.#recorder.record({ kind: 'Node', name, uid: name }, type, reason, message);
  }

  starting(agent: string): void {
    this.record({ type: 'Normal', reason: 'Starting', message: `Starting ${agent}.` });
  }
}
