/**
 * Strategic merge patch: a merge patch that merges lists by keys from the schema. Directives are `$patch:
 * replace|delete`, `$retainKeys`, `$deleteFromPrimitiveList/<list>` and `$setElementOrder/<list>`. Semantics of release
 * 1.24 (apimachinery/pkg/util/strategicpatch/patch.go).
 */
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { setMember } from '#apimachinery/collections/set-member.js';
import { goText, goTypeOf, jsonName } from '#apimachinery/errors/go-value.js';
import { badRequest, type StatusError, unclassified, unprocessable } from '#apimachinery/errors/status.js';
import { Identities } from '#apimachinery/patch/identities.js';
import { checkPatchDepth, checkValueDepth, jsonEqual, member } from '#apimachinery/patch/json-values.js';
import { identity, inOrder } from '#apimachinery/patch/strategic-order.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** The merge rules of a member. */
export interface PatchSchema {
  /** The message type; undefined for values without schema (raw JSON, scalars). */
  readonly type: TypeInfo | undefined;
  /** For maps: the declaration of all entries. */
  readonly elements: FieldInfo | undefined;
  /** Messages only: replaced instead of merged. */
  readonly replace: boolean;
  /** Lists only: elements are merged instead of replaced. */
  readonly mergeList: boolean;
  /** The merge key of list elements. */
  readonly mergeKey: string | undefined;
}

const unknownSchema: PatchSchema = Object.freeze({
  type: undefined,
  elements: undefined,
  replace: false,
  mergeList: false,
  mergeKey: undefined,
});

function schemaOfType(type: TypeInfo | undefined): PatchSchema {
  return type?.shape === 'struct' ? { ...unknownSchema, type } : unknownSchema;
}

/** The merge rules of a member. */
function memberSchema(schema: PatchSchema, key: string): PatchSchema {
  if (schema.elements !== undefined) return schemaOfType(schema.elements.type);
  const field = schema.type?.byName.get(key);
  if (field === undefined) return unknownSchema;
  const { type } = schemaOfType(field.type);
  if (field.container === 'map') return { ...unknownSchema, elements: field };
  return {
    type,
    elements: undefined,
    replace: field.patchReplace === true,
    mergeList: field.container === 'list' && field.patchMerge,
    mergeKey: field.patchMergeKey,
  };
}

const patchDirective = '$patch';
const retainKeysDirective = '$retainKeys';
const deletePrefix = '$deleteFromPrimitiveList/';
const orderPrefix = '$setElementOrder/';

/**
 * The patched object; modifies no arguments and shares unchanged parts. `type` is the object's type; without it
 * everything is merged like by a merge patch. A null patch changes nothing. Throws 400 if the patch is not an object
 * and for some malformed directives, 500 for others and for elements without merge key.
 */
export function strategicMergePatch(target: unknown, patch: unknown, type: TypeInfo | undefined): unknown {
  if (patch === null) return target;
  if (!isJsonObject(patch)) {
    throw badRequest(`json: cannot unmarshal ${jsonName(patch)} into Go value of type map[string]interface {}`);
  }
  checkValueDepth(patch);
  return mergeObject(isJsonObject(target) ? target : {}, patch, schemaOfType(type), 0);
}

function mergeObject(target: JsonObject, patch: JsonObject, schema: PatchSchema, depth: number): JsonObject {
  checkPatchDepth(depth);
  const directive = member(patch, patchDirective);
  if (directive === 'delete') return {};
  if (directive === 'replace') {
    const { [patchDirective]: _, ...rest } = patch;
    return rest;
  }
  if (directive !== undefined) throw unknownDirective(directive, patch);
  const result = retainKeys(target, patch);
  const keys = Object.keys(patch);
  const hasOrders = keys.some((key) => key.startsWith(orderPrefix));
  for (const key of keys) {
    const value = patch[key];
    if (key === retainKeysDirective || (hasOrders && Object.hasOwn(patch, orderPrefix + key))) continue;
    if (key.startsWith(orderPrefix))
      mergeOrdered(result, patch, key.slice(orderPrefix.length), { value, schema, depth });
    else if (key.startsWith(deletePrefix)) deleteFromList(result, key.slice(deletePrefix.length), value);
    else if (value === null) delete result[key];
    else setMember(result, key, mergeValue(member(result, key), value, memberSchema(schema, key), depth + 1));
  }
  return result;
}

/** A copy of the target without members that `$retainKeys` does not list. */
function retainKeys(target: JsonObject, patch: JsonObject): JsonObject {
  const keys = member(patch, retainKeysDirective);
  if (keys === undefined) return { ...target };
  const bad = () => badRequest('invalid patch format of retainKeys');
  if (!Array.isArray(keys)) throw bad();
  const kept = new Set<unknown>(keys);
  for (const key of Object.keys(patch)) {
    if (!key.startsWith('$') && patch[key] !== null && !kept.has(key)) throw bad();
  }
  return Object.fromEntries(Object.entries(target).filter(([key]) => kept.has(key)));
}

function deleteFromList(result: JsonObject, key: string, value: unknown): void {
  const list = member(result, key);
  if (!Array.isArray(value) || !Array.isArray(list)) return;
  const identities = new Identities();
  const gone = new Set(value.map((element) => identities.keyOf(element)));
  result[key] = list.filter((element) => !gone.has(identities.keyOf(element)));
}

function mergeValue(target: unknown, patch: unknown, schema: PatchSchema, depth: number): unknown {
  checkPatchDepth(depth);
  if (isJsonObject(patch) && isJsonObject(target))
    return schema.replace ? patch : mergeObject(target, patch, schema, depth);
  if (Array.isArray(patch) && Array.isArray(target)) {
    return schema.mergeList ? mergeList(target, patch, schema, depth) : patch;
  }
  // A value without counterpart is added without its nulls; directives in it are ordinary members.
  return withoutNulls(patch);
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const result: JsonObject = {};
  for (const key of Object.keys(value)) if (value[key] !== null) setMember(result, key, withoutNulls(value[key]));
  return result;
}

function unknownDirective(directive: unknown, patch: JsonObject): StatusError {
  const shown = typeof directive === 'string' ? directive : `%!s(${goTypeOf(directive)}=${goText(directive)})`;
  return unclassified(`unknown patch type: ${shown} in map: ${goText(patch)}`);
}

/** Merges a list in the patch's order: `$setElementOrder/<list>`, with or without `<list>`. */
function mergeOrdered(
  result: JsonObject,
  patch: JsonObject,
  key: string,
  context: { value: unknown; schema: PatchSchema; depth: number },
): void {
  const order = context.value;
  const schema = memberSchema(context.schema, key);
  const { mergeKey } = schema;
  const target = member(result, key);
  const changes = member(patch, key);
  for (const list of [order, target, changes]) {
    if (list !== undefined && !Array.isArray(list)) {
      const type = list === null ? '%!s(<nil>)' : goTypeOf(list);
      throw unclassified(`expected a []interface {}, but received a ${type}`);
    }
  }
  if (target === undefined && changes === undefined) return;
  const original = (target ?? []) as readonly unknown[];
  const named = order as readonly unknown[];
  if (changes !== undefined) checkOrder(changes as readonly unknown[], named, mergeKey);
  const merged = (
    changes === undefined ? original : mergeValue(target, changes, schema, context.depth + 1)
  ) as readonly unknown[];
  if (mergeKey !== undefined && merged.length > 0) for (const element of named) keyOf(element, mergeKey);
  result[key] = inOrder(merged, named, original, mergeKey);
}

/** The patch's elements must follow the order of the directive. */
function checkOrder(changes: readonly unknown[], order: readonly unknown[], mergeKey: string | undefined): void {
  if (order.length === 0) return;
  let at = 0;
  for (const change of changes) {
    if (isJsonObject(change) && member(change, patchDirective) !== undefined) continue;
    const elementIdentity = identity(change, mergeKey);
    while (at < order.length && !jsonEqual(identity(order[at], mergeKey), elementIdentity)) at++;
    if (at === order.length) {
      throw unclassified(
        `The order in patch list:\n${goText(changes)}\n doesn't match $setElementOrder list:\n${goText(order)}\n`,
      );
    }
  }
}

function mergeList(
  target: readonly unknown[],
  patch: readonly unknown[],
  schema: PatchSchema,
  depth: number,
): unknown[] {
  const { mergeKey } = schema;
  checkElements(target, patch);
  if (![...target, ...patch].some(isJsonObject)) {
    const merged = [...target];
    const identities = new Identities();
    const targetKeys = new Set(target.map((element) => identities.keyOf(element)));
    for (const element of patch) {
      const key = identities.keyOf(element);
      if (!targetKeys.has(key)) merged.push(element);
      targetKeys.add(key);
    }
    return inOrder(merged, patch, target, undefined);
  }
  if (mergeKey === undefined) throw unclassified(`cannot merge lists without merge key for ${schema.type?.goName}`);
  const { kept, changes, replace } = applyElementDirectives(target, patch, mergeKey);
  const elementSchema = schema.type === undefined ? unknownSchema : schemaOfType(schema.type);
  // A replacement is used unchanged: elements with equal keys remain, such as addresses of a node.
  if (replace) return [...changes];
  const merged = [...kept];
  const identities = new Identities();
  const places = new Map(identities.firstIndexes(kept.map((element) => identity(element, mergeKey))));
  for (const change of changes) {
    const key = identities.keyOf(keyOf(change, mergeKey));
    const at = places.get(key);
    const value = at === undefined ? change : mergeValue(merged[at], change, elementSchema, depth + 1);
    if (at === undefined) places.set(key, merged.push(value) - 1);
    else merged[at] = value;
  }
  return inOrder(merged, changes, kept, mergeKey);
}

/** Elements of both lists must have one type, other than lists. */
function checkElements(target: readonly unknown[], patch: readonly unknown[]): void {
  const all = [...target, ...patch];
  if (all.some(Array.isArray) && all.every(Array.isArray)) throw unprocessable('lists of lists are not supported');
  const type = goTypeOf(all[0]);
  if (all.some((element) => element === null || goTypeOf(element) !== type)) {
    throw unclassified(`list element types are not identical: ${goText([target, patch])}`);
  }
}

function keyOf(element: unknown, mergeKey: string): unknown {
  const key = isJsonObject(element) ? member(element, mergeKey) : undefined;
  if (key === undefined) {
    throw unclassified(`map: ${goText(element)} does not contain declared merge key: ${mergeKey}`);
  }
  return key;
}

/** Applies `$patch` directives in list elements: returns the remaining target elements and the elements to merge. */
function applyElementDirectives(
  target: readonly unknown[],
  patch: readonly unknown[],
  mergeKey: string,
): { kept: readonly unknown[]; changes: readonly unknown[]; replace: boolean } {
  const changes: unknown[] = [];
  const identities = new Identities();
  const gone = new Set<unknown>();
  let replace = false;
  for (const element of patch) {
    const directive = isJsonObject(element) ? member(element, patchDirective) : undefined;
    if (directive === undefined) changes.push(element);
    else if (directive === 'replace') replace = true;
    else if (directive === 'delete') gone.add(identities.keyOf(keyOf(element, mergeKey)));
    else if (directive === 'merge') throw unclassified('merging lists cannot yet be specified in the patch');
    else throw unknownDirective(directive, element as JsonObject);
  }
  const kept =
    gone.size === 0 ? target : target.filter((other) => !gone.has(identities.keyOf(identity(other, mergeKey))));
  return { kept, changes, replace };
}
