/** What an agent puts right in a node object that was there before it, as release 1.24 does. Pure. */
import { isExtendedResource, isHugePages } from '#api/core/v1/resources/names.js';
import type { Node } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** A merge patch of metadata and one of the status; undefined where nothing is to be changed. */
export interface NodeReconciliation {
  readonly object: object | undefined;
  readonly status: object | undefined;
}

export interface ReconciledMachine {
  readonly dialect: Dialect;
  /** The machine has not been this node before, or was set up anew. */
  readonly isNewMachine: boolean;
}

/** `fresh`: the object as it would be registered. Labels and taints of its first registration, and of people, stay. */
export function reconcileNode(fresh: Node, existing: Node, machine: ReconciledMachine): NodeReconciliation {
  const { dialect } = machine;
  const labels = Object.fromEntries(
    defaultLabels(dialect).flatMap((key) => {
      const wanted = fresh.metadata.labels?.[key];
      return wanted === undefined || existing.metadata.labels?.[key] === wanted ? [] : [[key, wanted]];
    }),
  );
  const managed = dialect.annotations.controllerAttachDetach;
  const annotation = fresh.metadata.annotations?.[managed];
  const annotations = existing.metadata.annotations?.[managed] === annotation ? {} : { [managed]: annotation ?? null };
  const changed = Object.keys(labels).length + Object.keys(annotations).length > 0;
  const capacity = { ...missing(fresh, existing, 'capacity'), ...stale(fresh, existing, machine) };
  const allocatable = { ...missing(fresh, existing, 'allocatable'), ...stale(fresh, existing, machine) };
  return {
    object: changed ? { metadata: { labels, annotations } } : undefined,
    status:
      Object.keys(capacity).length + Object.keys(allocatable).length > 0
        ? { status: { capacity, allocatable } }
        : undefined,
  };
}

/** Where they lie and what they are: these follow the machine. */
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

function missing(fresh: Node, existing: Node, list: 'capacity' | 'allocatable'): Record<string, string> {
  const wanted = fresh.status?.[list] ?? {};
  return Object.fromEntries(
    Object.entries(wanted).filter(([name]) => isHugePages(name) && existing.status?.[list]?.[name] === undefined),
  );
}

/**
 * What was advertised for a machine is not there on another one until it is advertised again; sizes of huge pages that the
 * kernel has no more are gone.
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
