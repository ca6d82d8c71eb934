/** Compares and corrects an existing node object, as release 1.24 does. Pure. */
import { isExtendedResource, isHugePages } from '#api/core/v1/resources/names.js';
import type { Node, NodeStatus } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { Resources } from '#nodeagent/node/status.js';

/** Merge patches of the object and of its status; undefined if nothing changes. */
export interface NodeReconciliation {
  readonly object: object | undefined;
  readonly status: object | undefined;
}

export interface ReconciledMachine {
  readonly dialect: Dialect;
  /** The machine is new to this node name, or was set up again. */
  readonly isNewMachine: boolean;
}

/** `fresh`: the object that would be registered. Keeps labels and taints of the first registration, and of users. */
export function reconcileNode(fresh: Node, existing: Node, machine: ReconciledMachine): NodeReconciliation {
  const { dialect } = machine;
  const labels = Object.fromEntries(
    defaultLabels(dialect).flatMap((key) => {
      const label = fresh.metadata.labels?.[key];
      return label === undefined || existing.metadata.labels?.[key] === label ? [] : [[key, label]];
    }),
  );
  const managed = dialect.annotations.controllerAttachDetach;
  const annotation = fresh.metadata.annotations?.[managed];
  const annotations = existing.metadata.annotations?.[managed] === annotation ? {} : { [managed]: annotation ?? null };
  const changed = Object.keys(labels).length + Object.keys(annotations).length > 0;
  const capacity = { ...missingHugePages(fresh, existing, 'capacity'), ...stale(fresh, existing, machine) };
  const allocatable = { ...missingHugePages(fresh, existing, 'allocatable'), ...stale(fresh, existing, machine) };
  return {
    object: changed ? { metadata: { labels, annotations } } : undefined,
    status:
      Object.keys(capacity).length + Object.keys(allocatable).length > 0
        ? { status: { capacity, allocatable } }
        : undefined,
  };
}

/** Labels that follow the machine: location and type. */
function defaultLabels({ labels, labelDomain }: Dialect): string[] {
  return [
    labels.hostname,
    labels.zone,
    labels.region,
    `failure-domain.beta.${labelDomain}/zone`,
    `failure-domain.beta.${labelDomain}/region`,
    labels.instanceType,
    `beta.${labelDomain}/instance-type`,
    labels.os,
    labels.arch,
    labels.betaOS,
    labels.betaArch,
  ];
}

function missingHugePages(fresh: Node, existing: Node, list: 'capacity' | 'allocatable'): Record<string, string> {
  const freshList = fresh.status?.[list] ?? {};
  return Object.fromEntries(
    Object.entries(freshList).filter(([name]) => isHugePages(name) && existing.status?.[list]?.[name] === undefined),
  );
}

/**
 * On a new machine, extended resources are 0 until they are advertised again; huge page sizes that the kernel no longer
 * has are removed.
 */
function stale(fresh: Node, existing: Node, machine: ReconciledMachine): Record<string, string | null> {
  const { dialect, isNewMachine } = machine;
  const changes: Record<string, string | null> = {};
  for (const [name, amount] of Object.entries(existing.status?.capacity ?? {})) {
    if (isNewMachine && isExtendedResource(name, dialect) && String(amount) !== '0') changes[name] = '0';
    else if (isHugePages(name) && fresh.status?.capacity?.[name] === undefined) changes[name] = null;
  }
  return changes;
}

export function isNewer(a: Node, b: Node): boolean {
  const [left = '0', right = '0'] = [a.metadata.resourceVersion, b.metadata.resourceVersion];
  return left.length === right.length ? left > right : left.length > right.length;
}

/** Compares the agent's own conditions and fields; heartbeat times are ignored. */
export function sameStatus(old: NodeStatus | undefined, fresh: NodeStatus): boolean {
  if (old === undefined) return false;
  for (const condition of fresh.conditions ?? []) {
    const before = old.conditions?.find((c) => c.type === condition.type);
    if (!semanticEqual({ ...before, lastHeartbeatTime: '' }, { ...condition, lastHeartbeatTime: '' })) return false;
  }
  const keys = ['capacity', 'allocatable', 'addresses', 'daemonEndpoints', 'nodeInfo', 'images'] as const;
  return keys.every((key) => semanticEqual(old[key], fresh[key]));
}

/** Adds the devices of plugins. */
export function withDevices(own: Resources, devices: Resources | undefined): Resources {
  return {
    capacity: { ...own.capacity, ...devices?.capacity },
    allocatable: { ...own.allocatable, ...devices?.allocatable },
  };
}

/**
 * Adds the resources that other clients advertise in the node's status, as release 1.24 does. Writing `status.capacity` is
 * the documented way to advertise an extended resource; it is allocatable as long as it is in the capacity.
 */
export function withOtherResources(own: Resources, old: NodeStatus | undefined, dialect: Dialect): Resources {
  const capacity = { ...old?.capacity, ...own.capacity };
  const otherAllocatable = Object.entries(old?.allocatable ?? {}).filter(
    ([name]) => Object.hasOwn(capacity, name) || !isExtendedResource(name, dialect),
  );
  return { capacity, allocatable: { ...Object.fromEntries(otherAllocatable), ...capacity, ...own.allocatable } };
}

/** A merge patch of a resource list: it names only what changed, so concurrent writes to other resources stay. */
export function resourcesPatch(
  old: Readonly<Record<string, string>> | undefined,
  fresh: Readonly<Record<string, string>> | undefined,
): Record<string, string | null> {
  const changed = Object.entries(fresh ?? {}).filter(([name, amount]) => old?.[name] !== amount);
  const removed = Object.keys(old ?? {}).filter((name) => fresh?.[name] === undefined);
  return { ...Object.fromEntries(changed), ...Object.fromEntries(removed.map((name) => [name, null])) };
}
