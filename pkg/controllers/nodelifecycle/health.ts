/** When a node counts as silent, and what its conditions say then. Pure. */
import type { Lease } from '#api/coordination/v1/types.gen.js';
import { getNodeCondition } from '#api/core/v1/node/conditions.js';
import type { Node, NodeCondition } from '#api/core/v1/types.gen.js';
import { formatTime, parseTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';

export type Readiness = 'True' | 'False' | 'Unknown';

/** What is remembered of a node's signs of life. */
export interface Health {
  /** When the last sign was seen here, in monotonic ms: wall clocks are set, and those of nodes not to be trusted. */
  readonly seenMs: number;
  readonly heartbeat: string | undefined;
  readonly renewal: string | undefined;
}

/** One instant, in milliseconds: since the epoch, and of the clock that is never set. */
export interface Instant {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

/** The health after another look at what the node says. */
export function observeHealth(old: Health | undefined, node: Node, lease: Lease | undefined, now: Instant): Health {
  const heartbeat = getNodeCondition(node.status, 'Ready')?.lastHeartbeatTime;
  const renewal = lease?.spec?.renewTime;
  if (old === undefined) return { seenMs: firstSeenMs(node, renewal, now), heartbeat, renewal };
  const alive = heartbeat !== old.heartbeat || (renewal !== undefined && renewal !== old.renewal);
  return alive ? { seenMs: now.monotonicMs, heartbeat, renewal: renewal ?? old.renewal } : old;
}

/** The same for a look at the lease alone, at a monotonic time. */
export function observeRenewal(old: Health, lease: Lease, nowMs: number): Health {
  const renewal = lease.spec?.renewTime;
  return renewal === undefined || renewal === old.renewal ? old : { ...old, seenMs: nowMs, renewal };
}

/** A node that never said anything has been silent since it was created; any other starts its grace period now. */
function firstSeenMs(node: Node, renewal: string | undefined, now: Instant): number {
  const neverReported = getNodeCondition(node.status, 'Ready') === undefined && renewal === undefined;
  const createdMs = parseTime(node.metadata.creationTimestamp ?? '');
  const silentMs = neverReported && !Number.isNaN(createdMs) ? Math.max(0, now.wallMs - createdMs) : 0;
  return now.monotonicMs - silentMs;
}

export interface GracePeriods {
  readonly runningMs: number;
  /** For nodes that have not reported a Ready condition yet. */
  readonly startupMs: number;
}

/** Until when the node may be silent, in monotonic ms. */
export function silentAt(health: Health, node: Node, grace: GracePeriods): number {
  const reported = getNodeCondition(node.status, 'Ready') !== undefined;
  return health.seenMs + (reported ? grace.runningMs : grace.startupMs);
}

export function readinessOf(node: Node): Readiness {
  const status = getNodeCondition(node.status, 'Ready')?.status;
  return status === 'True' || status === 'False' ? status : 'Unknown';
}

/** Conditions that nobody can vouch for when the node is silent. */
const reportedTypes = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** The conditions of a silent node; undefined when they say so already. */
export function silentConditions(dialect: Dialect, node: Node, now: number): NodeCondition[] | undefined {
  const agent = dialect.components.nodeAgent;
  const who = agent.charAt(0).toUpperCase() + agent.slice(1);
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
        message: `${who} never posted node status.`,
      });
    } else if (old.status !== 'Unknown') {
      conditions[index] = {
        ...old,
        status: 'Unknown',
        lastTransitionTime,
        reason: 'NodeStatusUnknown',
        message: `${who} stopped posting node status.`,
      };
    } else continue;
    changed = true;
  }
  return changed ? conditions : undefined;
}
