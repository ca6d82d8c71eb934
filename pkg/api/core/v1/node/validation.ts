/** Rules of nodes. Some failures have the paths of 1.24 rather than the field's actual path. */

import { validateConfigSource, validateConfigStatus } from '#api/core/v1/node/config-source.js';
import { parseList } from '#api/core/v1/pod/validation/annotations.js';
import { validateResourceQuantity } from '#api/core/v1/pod/validation/resources.js';
import { taintEffects } from '#api/core/v1/pod/validation/scheduling.js';
import type { AvoidPods, Node, Taint } from '#api/core/v1/types.gen.js';
import { coreValues } from '#api/core/v1/values/go-values.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { parseCIDR } from '#apimachinery/net/ip.js';
import { checkEnum, checkQualifiedName, repeatedAt } from '#apimachinery/validation/checks.js';
import {
  addAll,
  duplicate,
  forbiddenField,
  internalFailure,
  invalidValue,
  required,
  Strings,
} from '#apimachinery/validation/failure.js';
import { labelValueErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const metadataPath = FieldPath.of('metadata');
const annotationsPath = metadataPath.child('annotations');
const specPath = FieldPath.of('spec');
const statusPath = FieldPath.of('status');

export function validateNode(node: Node, dialect: Dialect): FieldFailure[] {
  return [
    ...validateNodeAnnotations(node.metadata.annotations ?? {}, dialect),
    ...validateTaints(node.spec.taints ?? [], metadataPath.child('taints')),
    ...validateCapacity(node, dialect),
    ...validatePodCIDRs(node),
  ];
}

function validateTaints(taints: readonly Taint[], path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const seen = new Set<string>();
  taints.forEach((taint, i) => {
    const at = path.index(i);
    const { key = '', value = '', effect } = taint;
    addAll(failures, checkQualifiedName(at.child('key'), key));
    const wrong = labelValueErrors(value);
    if (wrong.length > 0) failures.push(invalidValue(at.child('value'), value, wrong.join(';')));
    addAll(failures, checkEnum(at.child('effect'), effect, taintEffects));
    const id = `${effect} ${key}`;
    if (seen.has(id))
      failures.push(duplicate(at, coreValues.of('Taint', taint), 'taints must be unique by key and effect pair'));
    seen.add(id);
  });
  return failures;
}

/** Annotations that were replaced by fields. */
function validateNodeAnnotations(annotations: Readonly<Record<string, string>>, dialect: Dialect): FieldFailure[] {
  const prefix = `scheduler.alpha.${dialect.labelDomain}`;
  const taintsKey = `${prefix}/taints`;
  const avoidKey = `${prefix}/preferAvoidPods`;
  const failures: FieldFailure[] = [];
  const taints = annotations[taintsKey] ?? '';
  if (taints !== '') {
    const parsed = parseList<Taint>(taints);
    if (parsed === undefined) failures.push(invalidValue(annotationsPath, taintsKey, 'must be a list in JSON'));
    else addAll(failures, validateTaints(parsed, annotationsPath.child(taintsKey)));
  }
  const avoid = annotations[avoidKey] ?? '';
  return avoid === '' ? failures : [...failures, ...validateAvoidPods(avoid, avoidKey)];
}

function validateAvoidPods(text: string, key: string): FieldFailure[] {
  const [parsed] = parseList<AvoidPods>(`[${text}]`) ?? [];
  if (parsed === undefined) {
    return [invalidValue(annotationsPath.child('AvoidPods'), key, 'must be an object in JSON')];
  }
  return (parsed.preferAvoidPods ?? []).flatMap((entry, i) => {
    const at = annotationsPath.child(key).index(i).child('PodSignature');
    const controller = entry.podSignature?.podController;
    if (controller === undefined) return [required(at)];
    if (controller.controller === true) return [];
    return [invalidValue(at.child('PodController', 'Controller'), false, 'must point to a controller')];
  });
}

function validatePodCIDRs(node: Node): FieldFailure[] {
  const path = specPath.child('podCIDRs');
  const blocks = node.spec.podCIDRs ?? [];
  const parsed = blocks.map((block) => parseCIDR(block));
  const shown = new Strings(blocks);
  const failures = parsed.flatMap((block, i) =>
    block === undefined ? [invalidValue(path.index(i), shown, 'must be valid CIDR')] : [],
  );
  if (blocks.length <= 1) return failures;
  const unread = blocks.find((_, i) => parsed[i] === undefined);
  if (unread !== undefined) {
    const cause = `failed to parse cidr value:${quoted(unread)} with error:invalid CIDR address: ${unread}`;
    const text = `invalid PodCIDRs. failed to check with dual stack with error:${cause}`;
    failures.push(internalFailure(path, text));
  }
  if (blocks.length > 2 || unread !== undefined || new Set(parsed.map((block) => block?.family)).size !== 2) {
    failures.push(invalidValue(path, shown, 'may specify no more than one CIDR for each IP family'));
  }
  const repeated = repeatedAt(blocks);
  blocks.forEach((block, i) => {
    if (repeated.has(i)) failures.push(duplicate(path.index(i), block));
  });
  return failures;
}

function validateCapacity(node: Node, dialect: Dialect): FieldFailure[] {
  return (['capacity', 'allocatable'] as const).flatMap((field) =>
    Object.entries(node.status?.[field] ?? {}).flatMap(([name, quantity]) =>
      validateResourceQuantity(name, quantity, dialect, statusPath.child(field, name)),
    ),
  );
}

/** Fields that must not change once set, in updates of the node and its status. */
export function validateNodeUpdate(node: Node, old: Node): FieldFailure[] {
  const failures = validateAddresses(node);
  const blocks = node.spec.podCIDRs ?? [];
  const before = old.spec.podCIDRs ?? [];
  if (before.length > 0 && (blocks.length !== before.length || before.some((block, i) => block !== blocks[i]))) {
    const text = 'node updates may not change podCIDR except from "" to valid';
    failures.push(forbiddenField(specPath.child('podCIDRs'), text));
  }
  if ((old.spec.providerID ?? '') !== '' && node.spec.providerID !== old.spec.providerID) {
    const text = 'node updates may not change providerID except from "" to valid';
    failures.push(forbiddenField(specPath.child('providerID'), text));
  }
  addAll(failures, validateConfigSource(node.spec.configSource, 'spec', specPath.child('configSource')));
  addAll(failures, validateConfigStatus(node.status?.config, statusPath.child('config')));
  if ((node.spec.externalID ?? '') !== (old.spec.externalID ?? '')) {
    failures.push(forbiddenField(specPath.child('externalID'), 'may not be updated'));
  }
  return failures;
}

/** Rules of a status update: all rules of nodes except those of pod CIDRs. */
export function validateNodeStatusUpdate(node: Node, old: Node, dialect: Dialect): FieldFailure[] {
  return [
    ...validateNodeAnnotations(node.metadata.annotations ?? {}, dialect),
    ...validateCapacity(node, dialect),
    ...validateNodeUpdate(node, old),
    ...validateTaints(node.spec.taints ?? [], metadataPath.child('taints')),
  ];
}

/** Addresses must be unique. */
function validateAddresses(node: Node): FieldFailure[] {
  const seen = new Set<string>();
  return (node.status?.addresses ?? []).flatMap((address, i) => {
    const id = `${address.type} ${address.address}`;
    if (seen.has(id)) return [duplicate(statusPath.child('addresses').index(i), coreValues.of('NodeAddress', address))];
    seen.add(id);
    return [];
  });
}
