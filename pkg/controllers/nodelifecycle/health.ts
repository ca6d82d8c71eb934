/** Tracks a node's heartbeats, and its conditions when they stop. Pure. */
import type { Lease } from '#api/coordination/v1/types.gen.js';
import { getNodeCondition } from '#api/core/v1/node/conditions.js';
import type { Node, NodeCondition } from '#api/core/v1/types.gen.js';
import { formatTime, parseTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';

export type Readiness = 'True' | 'False' | 'Unknown';

export interface Health {
  /** When the last heartbeat was observed here, in monotonic ms, independent of the nodes' clocks. */
  readonly seenMs: number;
  readonly heartbeat: string | undefined;
  readonly renewal: string | undefined;
}

/** One instant in milliseconds, since the epoch and monotonic. */
export interface Instant {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export function observeHealth(old: Health | undefined, node: Node, lease: Lease | undefined, now: Instant): Health {
  const heartbeat = getNodeCondition(node.status, 'Ready')?.lastHeartbeatTime;
  const renewal = lease?.spec?.renewTime;
  if (old === undefined) return { seenMs: firstSeenMs(node, renewal, now), heartbeat, renewal };
  const alive = heartbeat !== old.heartbeat || (renewal !== undefined && renewal !== old.renewal);
  return alive ? { seenMs: now.monotonicMs, heartbeat, renewal: renewal ?? old.renewal } : old;
}

/** Observes the lease alone; `nowMs` is monotonic. */
export function observeRenewal(old: Health, lease: Lease, nowMs: number): Health {
  const renewal = lease.spec?.renewTime;
  return renewal === undefined || renewal === old.renewal ? old : { ...old, seenMs: nowMs, renewal };
}

/** The grace period of a node that never reported starts at its creation, and that of other nodes now. */
function firstSeenMs(node: Node, renewal: string | undefined, now: Instant): number {
  const neverReported = getNodeCondition(node.status, 'Ready') === undefined && renewal === undefined;
  const createdMs = parseTime(node.metadata.creationTimestamp ?? '');
  const ageMs = neverReported && !Number.isNaN(createdMs) ? Math.max(0, now.wallMs - createdMs) : 0;
  return now.monotonicMs - ageMs;
}

export interface GracePeriods {
  readonly runningMs: number;
  /** For nodes without a Ready condition. */
  readonly startupMs: number;
}

/** The end of the node's grace period, in monotonic ms. */
export function graceEndMs(health: Health, node: Node, grace: GracePeriods): number {
  const reported = getNodeCondition(node.status, 'Ready') !== undefined;
  return health.seenMs + (reported ? grace.runningMs : grace.startupMs);
}

export function readinessOf(node: Node): Readiness {
  const status = getNodeCondition(node.status, 'Ready')?.status;
  return status === 'True' || status === 'False' ? status : 'Unknown';
}

/** Conditions that become unknown when a node stops reporting. */
const reportedTypes = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** The conditions of a node that stopped reporting; undefined when unchanged. */
export function unknownConditions(dialect: Dialect, node: Node, now: number): NodeCondition[] | undefined {
  const agent = dialect.components.nodeAgent;
  const agentName = agent.charAt(0).toUpperCase() + agent.slice(1);
  const lastTransitionTime = formatTime(now);
  const conditions = [...(node.status?.conditions ?? [])];
  let changed = false;
  for (const type of reportedTypes) {
    const index = conditions.findIndex((condition) => condition.type === type);
    const old = conditions[index];
    if (old === undefined) {
      conditions.push({
        type,
        status: 'Unknown',
        ...(node.metadata.creationTimestamp === undefined
          ? {}
          : { lastHeartbeatTime: node.metadata.creationTimestamp }),
        lastTransitionTime,
        reason: 'NodeStatusNeverUpdated',
        message: `${agentName} never posted node status.`,
      });
    } else if (old.status !== 'Unknown') {
      conditions[index] = {
        ...old,
        status: 'Unknown',
        lastTransitionTime,
        reason: 'NodeStatusUnknown',
        message: `${agentName} stopped posting node status.`,
      };
    } else continue;
    changed = true;
  }
  return changed ? conditions : undefined;
}
