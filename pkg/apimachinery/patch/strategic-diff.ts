/**
 * Three-way differences as strategic merge patches (apimachinery/pkg/util/strategicpatch, CreateThreeWayMergePatch). Pure.
 */
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { jsonEqual, member } from '#apimachinery/patch/json-values.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** How values of a type are merged. */
export interface MergeRules {
  /** Rules of a member; undefined for values without schema. */
  readonly member: (key: string) => MergeRules | undefined;
  /** Messages: replaced instead of merged. */
  readonly replace?: boolean;
  /** Messages: members that the patch does not name are removed. */
  readonly retainKeys?: boolean;
  /** Lists: elements are merged instead of replaced. */
  readonly mergeList?: boolean;
  /** Lists of messages: the member that tells elements apart. */
  readonly mergeKey?: string | undefined;
}

/** The rules of a type's declaration. */
export function mergeRulesOf(type: TypeInfo | undefined): MergeRules {
  return {
    member: (key) => {
      const field = type?.shape === 'struct' ? type.byName.get(key) : undefined;
      return field === undefined ? undefined : fieldRules(field);
    },
  };
}

function fieldRules(field: FieldInfo): MergeRules {
  if (field.container === 'map') return { member: () => mergeRulesOf(field.type) };
  return {
    ...mergeRulesOf(field.type),
    replace: field.patchReplace === true,
    retainKeys: field.patchRetainKeys,
    mergeList: field.container === 'list' && field.patchMerge,
    mergeKey: field.patchMergeKey,
  };
}

/** Rules of values without schema: members are merged, lists are replaced. */
export const plainRules: MergeRules = { member: () => plainRules };

/**
 * The patch that brings `current` to `modified` and removes what `original` had and `modified` lacks; what only `current`
 * has stays. With `current` as `original` it is the difference of two. Empty if there is none.
 */
export function strategicDiff(
  original: JsonObject,
  modified: JsonObject,
  current: JsonObject,
  rules: MergeRules,
): JsonObject {
  const patch: JsonObject = {};
  for (const key of Object.keys(modified)) {
    const value = modified[key];
    if (value === undefined) continue;
    if (!Object.hasOwn(current, key) || current[key] === undefined) {
      patch[key] = value;
      continue;
    }
    addChange(patch, key, { before: member(original, key), value, now: current[key] }, rules.member(key));
  }
  for (const key of Object.keys(original)) {
    const isGone = original[key] !== undefined && member(modified, key) === undefined;
    if (isGone) patch[key] = null;
  }
  return patch;
}

interface Change {
  readonly before: unknown;
  readonly value: unknown;
  readonly now: unknown;
}

function addChange(patch: JsonObject, key: string, change: Change, rules: MergeRules | undefined): void {
  const { before, value, now } = change;
  if (isJsonObject(value) && isJsonObject(now)) {
    if (rules?.replace === true) {
      if (!jsonEqual(value, now)) patch[key] = { ...value, $patch: 'replace' };
      return;
    }
    const inner = strategicDiff(isJsonObject(before) ? before : {}, value, now, rules ?? plainRules);
    if (Object.keys(inner).length === 0) return;
    patch[key] = rules?.retainKeys === true ? { ...inner, $retainKeys: Object.keys(value).sort() } : inner;
    return;
  }
  if (Array.isArray(value) && Array.isArray(now) && rules?.mergeList === true) {
    const former: readonly unknown[] = Array.isArray(before) ? before : [];
    if ([...value, ...now].every(isJsonObject) && rules.mergeKey !== undefined) {
      addElements(patch, key, { former, value, now } as Elements, rules.mergeKey, rules);
    } else addScalars(patch, key, { former, value, now });
    return;
  }
  if (!jsonEqual(value, now)) patch[key] = value;
}

interface Elements {
  readonly former: readonly JsonObject[];
  readonly value: readonly JsonObject[];
  readonly now: readonly JsonObject[];
}

function addElements(
  patch: JsonObject,
  key: string,
  { former, value, now }: Elements,
  mergeKey: string,
  rules: MergeRules,
): void {
  const byKey = (list: readonly JsonObject[]) => new Map(list.map((element) => [element[mergeKey], element]));
  const [before, present, target] = [byKey(former), byKey(now), byKey(value)];
  const changes: JsonObject[] = [];
  for (const [identity, element] of target) {
    const other = present.get(identity);
    if (other === undefined) changes.push(element);
    else {
      const inner = strategicDiff(before.get(identity) ?? {}, element, other, rules);
      if (Object.keys(inner).length > 0) changes.push({ ...inner, [mergeKey]: identity });
    }
  }
  for (const identity of before.keys()) {
    if (!target.has(identity)) changes.push({ $patch: 'delete', [mergeKey]: identity });
  }
  const order = [...target.keys()];
  const presentOrder = [...present.keys()].filter((identity) => target.has(identity));
  if (changes.length > 0) patch[key] = changes;
  if (changes.length > 0 || !jsonEqual(order, presentOrder)) {
    patch[`$setElementOrder/${key}`] = order.map((identity) => ({ [mergeKey]: identity }));
  }
}

function addScalars(
  patch: JsonObject,
  key: string,
  { former, value, now }: { readonly [part in keyof Elements]: readonly unknown[] },
): void {
  const added = value.filter((element) => !now.some((each) => jsonEqual(each, element)));
  const gone = former.filter((element) => !value.some((each) => jsonEqual(each, element)));
  if (added.length > 0) patch[key] = added;
  if (gone.length > 0) patch[`$deleteFromPrimitiveList/${key}`] = gone;
  if (added.length > 0 || gone.length > 0) patch[`$setElementOrder/${key}`] = value;
}
