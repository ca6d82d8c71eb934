/** The taints that a node's conditions ask for. Pure; rules of release 1.24 (node_lifecycle_controller.go). */
import { getNodeCondition } from '#api/core/v1/node/conditions.js';
import type { Node, Taint } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { readinessOf } from '#controllers/nodelifecycle/health.js';

/** What may be done about a node's NoExecute taint. */
export type Eviction =
  /** The zone's rate allows to begin. */
  | 'allowed'
  /** Not now; what is there stays. */
  | 'wait'
  /** No node of the cluster is ready: more likely the network of the controller is the trouble. */
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

/** The NoExecute taint that a node which is not ready should have; none before the node has reported at all. */
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

/** True when beginning to evict the node's pods needs leave: it has no NoExecute taint of this controller yet. */
export function needsLeave(dialect: Dialect, node: Node): boolean {
  if (evictionTaint(dialect, node) === undefined) return false;
  const { notReady, unreachable } = dialect.taints;
  return !(node.spec.taints ?? []).some(
    (taint) => taint.effect === 'NoExecute' && (taint.key === notReady || taint.key === unreachable),
  );
}

/** The taints the node should have; undefined when it has them. Taints of others stay as they are. */
export function planTaints(dialect: Dialect, node: Node, eviction: Eviction, now: number): Taint[] | undefined {
  const old = node.spec.taints ?? [];
  const wanted = noScheduleTaints(dialect, node);
  const evicting = evictionTaint(dialect, node);
  const begun = !needsLeave(dialect, node);
  if (evicting !== undefined && eviction !== 'suspended' && (begun || eviction === 'allowed')) wanted.push(evicting);
  const managed = managedTaints(dialect);
  const kept = old.filter((taint) => !includes(managed, taint) || includes(wanted, taint));
  const added = wanted
    .filter((taint) => !includes(old, taint))
    .map((taint): Taint => ({ ...taint, timeAdded: formatTime(now) }));
  return added.length === 0 && kept.length === old.length ? undefined : [...kept, ...added];
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
