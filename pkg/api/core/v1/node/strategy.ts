/** What is particular to nodes. */

import { nodeCells } from '#api/core/v1/node/cells.js';
import { dropConfigSource } from '#api/core/v1/node/config-source.js';
import { validateNode, validateNodeStatusUpdate, validateNodeUpdate } from '#api/core/v1/node/validation.js';
import { roundResources } from '#api/core/v1/resources/rounding.js';
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import type { Draft } from '#apimachinery/draft.js';

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
  // The singular block is the first of the list.
  if ((spec.podCIDR ?? '') === '') {
    if (spec.podCIDRs?.[0] !== undefined) spec.podCIDR = spec.podCIDRs[0];
  } else if (spec.podCIDRs?.[0] !== spec.podCIDR) spec.podCIDRs = [spec.podCIDR ?? ''];
  if (status === undefined) return;
  if (status.allocatable === undefined && status.capacity !== undefined) status.allocatable = { ...status.capacity };
  roundResources(status.capacity);
  roundResources(status.allocatable);
}
