import { getNodeCondition, nodeAddress } from '#api/core/v1/node/conditions.js';
import { dropConfigSource } from '#api/core/v1/node/config-source.js';
import { validateNode, validateNodeStatusUpdate, validateNodeUpdate } from '#api/core/v1/node/validation.js';
import { roundResources } from '#api/core/v1/resources/rounding.js';
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import type { TableRowCells } from '#api/meta/object.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { orNone } from '#api/table/text.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';

/** A node's table row: name, status, roles, age, version, addresses, system. */
function nodeCells(node: Node, dialect: Dialect, now: number): TableRowCells {
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

/** Sorted roles from the node's labels. */
function nodeRoles(node: Node, dialect: Dialect): string[] {
  const roles = new Set<string>();
  const prefix = dialect.labels.nodeRolePrefix;
  for (const [key, value] of Object.entries(node.metadata.labels ?? {})) {
    if (key.startsWith(prefix) && key.length > prefix.length) roles.add(key.slice(prefix.length));
    else if (key === `${dialect.labelDomain}/role` && value !== '') roles.add(value);
  }
  return [...roles].sort();
}

export const nodeStrategy: Strategy<Node> = kindStrategy<Node>(nodes, {
  keepStatusOnCreate: true,
  defaults: (node) => defaultNode(node),
  prepareForCreate: (node) => dropConfigSource(node, undefined),
  prepareForUpdate: (node, old) => dropConfigSource(node, old),
  prepareForStatusUpdate(node, old) {
    if (old.status?.config === undefined && node.status !== undefined) delete node.status.config;
  },
  validate: (node, context) => validateNode(node, context.dialect),
  validateUpdate: (node, old) => validateNodeUpdate(node, old),
  validateStatusUpdate: (node, old, context) => validateNodeStatusUpdate(node, old, context.dialect),
  warnings: ({ spec }) => (spec.configSource === undefined ? [] : ['spec.configSource: the feature is removed']),
  selectableFields: (node) => ({ 'spec.unschedulable': String(node.spec.unschedulable ?? false) }),
  cells: (node, context) => nodeCells(node, context.dialect, context.now),
});

function defaultNode(node: Draft<Node>): void {
  const { spec, status } = node;
  // The singular field is the first element of the list.
  if ((spec.podCIDR ?? '') === '') {
    if (spec.podCIDRs?.[0] !== undefined) spec.podCIDR = spec.podCIDRs[0];
  } else if (spec.podCIDRs?.[0] !== spec.podCIDR) spec.podCIDRs = [spec.podCIDR ?? ''];
  if (status === undefined) return;
  if (status.allocatable === undefined && status.capacity !== undefined) status.allocatable = { ...status.capacity };
  roundResources(status.capacity);
  roundResources(status.allocatable);
}
