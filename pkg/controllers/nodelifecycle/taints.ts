/** Derives a node's taints from its conditions. Rules of release 1.24 (node_lifecycle_controller.go). Pure. */
import { getNodeCondition } from '#api/core/v1/node/conditions.js';
import type { Node, Taint } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { readinessOf } from '#controllers/nodelifecycle/health.js';

/** How to handle a node's NoExecute taint. */
export type Eviction =
  /** The zone's rate allows the eviction. */
  | 'allowed'
  /** Add no taint now; existing taints stay. */
  | 'wait'
  /** No node of the cluster is ready, which suggests a network failure of the controller. */
  | 'suspended';

interface TaintKey {
  readonly key: string;
  readonly effect: string;
}

/** Condition type and status → taint. */
function conditionTaints(dialect: Dialect): readonly { type: string; status: string; key: string }[] {
  const { taints } = dialect;
  return [
    { type: 'Ready', status: 'False', key: taints.notReady },
    { type: 'Ready', status: 'Unknown', key: taints.unreachable },
    { type: 'MemoryPressure', status: 'True', key: taints.memoryPressure },
    { type: 'DiskPressure', status: 'True', key: taints.diskPressure },
    { type: 'NetworkUnavailable', status: 'True', key: taints.networkUnavailable },
    { type: 'PIDPressure', status: 'True', key: taints.pidPressure },
  ];
}

function noScheduleTaints(dialect: Dialect, node: Node): TaintKey[] {
  const status = (type: string) => node.status?.conditions?.find((condition) => condition.type === type)?.status;
  const keys = conditionTaints(dialect)
    .filter((row) => status(row.type) === row.status)
    .map((row) => row.key);
  if (node.spec.unschedulable === true) keys.push(dialect.taints.unschedulable);
  return keys.map((key) => ({ key, effect: 'NoSchedule' }));
}

/** The NoExecute taint of a node that is not ready; undefined before the node's first report. */
function evictionTaint(dialect: Dialect, node: Node): TaintKey | undefined {
  if (getNodeCondition(node.status, 'Ready') === undefined) return undefined;
  switch (readinessOf(node)) {
    case 'True':
      return undefined;
    case 'False':
      return { key: dialect.taints.notReady, effect: 'NoExecute' };
    case 'Unknown':
      return { key: dialect.taints.unreachable, effect: 'NoExecute' };
  }
}

/** Whether the node lacks the NoExecute taint, so that the zone's rate must allow the eviction first. */
export function needsPermit(dialect: Dialect, node: Node): boolean {
  if (evictionTaint(dialect, node) === undefined) return false;
  const { notReady, unreachable } = dialect.taints;
  return !(node.spec.taints ?? []).some(
    (taint) => taint.effect === 'NoExecute' && (taint.key === notReady || taint.key === unreachable),
  );
}

/** The node's new taints; undefined when unchanged. Taints of other components stay. */
export function planTaints(dialect: Dialect, node: Node, eviction: Eviction, now: number): Taint[] | undefined {
  const old = node.spec.taints ?? [];
  const desired = noScheduleTaints(dialect, node);
  const evicting = evictionTaint(dialect, node);
  const started = !needsPermit(dialect, node);
  if (evicting !== undefined && eviction !== 'suspended' && (started || eviction === 'allowed')) desired.push(evicting);
  const managed = managedTaints(dialect);
  const remaining = old.filter((taint) => !includes(managed, taint) || includes(desired, taint));
  const added = desired
    .filter((taint) => !includes(old, taint))
    .map((taint): Taint => ({ ...taint, timeAdded: formatTime(now) }));
  return added.length === 0 && remaining.length === old.length ? undefined : [...remaining, ...added];
}

function managedTaints(dialect: Dialect): TaintKey[] {
  const { notReady, unreachable, unschedulable } = dialect.taints;
  const conditions = new Set(conditionTaints(dialect).map((row) => row.key));
  return [
    ...[...conditions, unschedulable].map((key) => ({ key, effect: 'NoSchedule' })),
    { key: notReady, effect: 'NoExecute' },
    { key: unreachable, effect: 'NoExecute' },
  ];
}

function includes(taints: readonly TaintKey[], taint: TaintKey): boolean {
  return taints.some((each) => each.key === taint.key && each.effect === taint.effect);
}
