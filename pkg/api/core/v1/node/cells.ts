/** A node's row in tables. */
import { getNodeCondition, nodeAddress } from '#api/core/v1/node/conditions.js';
import type { Node } from '#api/core/v1/types.gen.js';
import type { TableRowCells } from '#api/meta/object.js';
import { age } from '#api/table/age.js';
import { orNone } from '#api/table/text.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** Name, status, roles, age, version, addresses, system. */
export function nodeCells(node: Node, dialect: Dialect, now: number): TableRowCells {
  const info = node.status?.nodeInfo;
  return [
    node.metadata.name ?? '',
    statusText(node),
    orNone(nodeRoles(node, dialect).join(',')),
    age(node.metadata.creationTimestamp, now),
    info?.kubeletVersion ?? '',
    orNone(nodeAddress(node, 'InternalIP')),
    orNone(nodeAddress(node, 'ExternalIP')),
    info?.osImage || '<unknown>',
    info?.kernelVersion || '<unknown>',
    info?.containerRuntimeVersion || '<unknown>',
  ];
}

function statusText(node: Node): string {
  const ready = getNodeCondition(node.status, 'Ready');
  const text = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return node.spec.unschedulable === true ? `${text},SchedulingDisabled` : text;
}

/** Roles that the node's labels give it, sorted. */
function nodeRoles(node: Node, dialect: Dialect): string[] {
  const roles = new Set<string>();
  const prefix = dialect.labels.nodeRolePrefix;
  for (const [key, value] of Object.entries(node.metadata.labels ?? {})) {
    if (key.startsWith(prefix) && key.length > prefix.length) roles.add(key.slice(prefix.length));
    else if (key === `${dialect.labelDomain}/role` && value !== '') roles.add(value);
  }
  return [...roles].sort();
}
