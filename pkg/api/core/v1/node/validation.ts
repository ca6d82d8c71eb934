/** Rules of nodes. */
import { validateResourceName, validateResourceQuantity } from '#api/core/v1/pod/validation/resources.js';
import { validateTaintEffect } from '#api/core/v1/pod/validation/scheduling.js';
import type { Node, Taint } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkQualifiedName } from '#apimachinery/validation/checks.js';
import { duplicate, forbiddenField, invalidEach, invalidValue } from '#apimachinery/validation/failure.js';
import { parseCIDR } from '#apimachinery/validation/ip.js';
import { labelValueErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');
const statusPath = FieldPath.of('status');

export function validateNode(node: Node, dialect: Dialect): FieldFailure[] {
  return [
    ...validateTaints(node.spec.taints ?? [], specPath.child('taints')),
    ...validatePodCIDRs(node),
    ...validateCapacity(node, dialect),
  ];
}

function validateTaints(taints: Taint[], path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const seen = new Set<string>();
  taints.forEach((taint, i) => {
    const at = path.index(i);
    const { key = '', value = '', effect } = taint;
    failures.push(...checkQualifiedName(at.child('key'), key));
    failures.push(...invalidEach(at.child('value'), value, labelValueErrors(value)));
    failures.push(...validateTaintEffect(at.child('effect'), effect, false));
    const id = `${effect} ${key}`;
    if (seen.has(id)) failures.push(duplicate(at, taint));
    seen.add(id);
  });
  return failures;
}

function validatePodCIDRs(node: Node): FieldFailure[] {
  const path = specPath.child('podCIDRs');
  const blocks = node.spec.podCIDRs ?? [];
  const failures = blocks.flatMap((block, i) => {
    const text = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';
    return parseCIDR(block) === undefined ? [invalidValue(path.index(i), block, text)] : [];
  });
  if (blocks.length <= 1 || failures.length > 0) return failures;
  const families = new Set(blocks.map((block) => parseCIDR(block)?.family));
  if (blocks.length > 2 || families.size !== 2) {
    failures.push(invalidValue(path, blocks, 'may specify no more than one CIDR for each IP family'));
  }
  return failures;
}

function validateCapacity(node: Node, dialect: Dialect): FieldFailure[] {
  return (['capacity', 'allocatable'] as const).flatMap((field) =>
    Object.entries(node.status?.[field] ?? {}).flatMap(([name, quantity]) => {
      const at = statusPath.child(field).key(name);
      return [...validateResourceName(name, at), ...validateResourceQuantity(name, quantity, dialect, at)];
    }),
  );
}

/** What may not change once a node has it, in updates of the node and of its status. */
export function validateNodeUpdate(node: Node, old: Node): FieldFailure[] {
  const failures: FieldFailure[] = [];
  if ((old.spec.podCIDRs ?? []).length > 0 && !semanticEqual(node.spec.podCIDRs, old.spec.podCIDRs)) {
    const text = 'node updates may not change podCIDR except from "" to valid';
    failures.push(forbiddenField(specPath.child('podCIDRs'), text));
  }
  if ((old.spec.providerID ?? '') !== '' && node.spec.providerID !== old.spec.providerID) {
    const text = 'node updates may not change providerID except from "" to valid';
    failures.push(forbiddenField(specPath.child('providerID'), text));
  }
  return failures;
}

/** Addresses of a node's status: each only once. */
export function validateNodeStatus(node: Node, dialect: Dialect): FieldFailure[] {
  const failures = validateCapacity(node, dialect);
  const seen = new Set<string>();
  (node.status?.addresses ?? []).forEach((address, i) => {
    const id = `${address.type} ${address.address}`;
    if (seen.has(id)) failures.push(duplicate(statusPath.child('addresses').index(i), address));
    seen.add(id);
  });
  return failures;
}
