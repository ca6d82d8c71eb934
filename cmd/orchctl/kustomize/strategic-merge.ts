/** Strategic merge patches of kustomizations: unlike the server's, elements of patches come first in lists. Pure. */
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

const directiveKey = '$patch';
type Directive = 'merge' | 'replace' | 'delete';

/** The patched value; undefined where the patch deletes it. @param type Undefined for custom kinds, whose lists are replaced. */
export function strategicMerge(
  value: JsonObject,
  patch: JsonObject,
  type: TypeInfo | undefined,
): JsonObject | undefined {
  const directive = directiveOf(patch[directiveKey]);
  if (directive === 'delete') return undefined;
  const { [directiveKey]: _directive, ...content } = patch;
  const base = directive === 'replace' ? {} : value;
  const result: JsonObject = { ...base };
  for (const [key, member] of Object.entries(content)) {
    const merged = mergeMember(base[key], member, fieldOf(type, key));
    if (merged === undefined) delete result[key];
    else result[key] = merged;
  }
  return result;
}

function directiveOf(value: unknown): Directive {
  if (value === undefined) return 'merge';
  if (value === 'merge' || value === 'replace' || value === 'delete') return value;
  throw new CommandError(`unknown patch strategy '${String(value)}'`);
}

function fieldOf(type: TypeInfo | undefined, key: string): FieldInfo | undefined {
  return type?.shape === 'struct' ? type.byName.get(key) : undefined;
}

/** `field`: that of the member; for values of maps that of the map. */
function mergeMember(value: unknown, patch: unknown, field: FieldInfo | undefined): unknown {
  if (patch === null) return undefined;
  if (Array.isArray(patch)) {
    if (value !== undefined && value !== null && !Array.isArray(value)) throw wrongKind('SequenceNode', value);
    return mergeList(value ?? [], patch, field);
  }
  if (!isJsonObject(patch)) {
    if (isJsonObject(value) || Array.isArray(value)) throw wrongKind('ScalarNode', value);
    return patch;
  }
  if (value !== undefined && value !== null && !isJsonObject(value)) throw wrongKind('MappingNode', value);
  const type = field?.container === 'map' ? undefined : field?.type;
  return strategicMerge((value ?? {}) as JsonObject, patch, type);
}

function wrongKind(expected: string, value: unknown): CommandError {
  const kind = Array.isArray(value) ? 'SequenceNode' : isJsonObject(value) ? 'MappingNode' : 'ScalarNode';
  return new CommandError(`wrong Node Kind for  expected: ${expected} was ${kind}: value: {${JSON.stringify(value)}}`);
}

function mergeList(list: readonly unknown[], patch: readonly unknown[], field: FieldInfo | undefined): unknown {
  const keys = mergeKeys(field);
  if (keys === undefined) return patch;
  const directive = listDirective(patch);
  const content = patch.filter((each) => each !== directive?.element);
  if (directive?.kind === 'delete') return undefined;
  if (directive?.kind === 'replace') return content;
  if (keys.length === 0) return [...new Set([...content, ...list])];
  return mergeElements(list, content, keys, field?.type);
}

/** Undefined: the list is replaced. Empty: its elements are their own keys. */
function mergeKeys(field: FieldInfo | undefined): readonly string[] | undefined {
  if (field === undefined || field.container !== 'list' || !field.patchMerge) return undefined;
  if (field.type === undefined) return [];
  return field.listMapKeys.length > 0 ? field.listMapKeys : [field.patchMergeKey ?? 'name'];
}

/** An element that has only the directive is about the whole list. */
function listDirective(patch: readonly unknown[]): { element: unknown; kind: Directive } | undefined {
  const element = patch.find(
    (each) => isJsonObject(each) && each[directiveKey] !== undefined && Object.keys(each).length === 1,
  );
  return isJsonObject(element) ? { element, kind: directiveOf(element[directiveKey]) } : undefined;
}

function mergeElements(
  list: readonly unknown[],
  patch: readonly unknown[],
  keys: readonly string[],
  type: TypeInfo | undefined,
): unknown[] {
  const own = [...list];
  const merged: unknown[] = [];
  for (const each of patch) {
    if (!isJsonObject(each)) throw wrongKind('MappingNode', each);
    const at = own.findIndex((other) => isJsonObject(other) && isSameElement(other, each, keys));
    const [value = {}] = at < 0 ? [] : own.splice(at, 1);
    const result = strategicMerge(value as JsonObject, each, type);
    if (result !== undefined && Object.keys(result).length > 0) merged.push(result);
  }
  return [...merged, ...own];
}

/** A key that one of them lacks equals any, as long as another key is the same. */
function isSameElement(one: JsonObject, other: JsonObject, keys: readonly string[]): boolean {
  const differs = keys.some(
    (key) => one[key] !== undefined && other[key] !== undefined && String(one[key]) !== String(other[key]),
  );
  return !differs && keys.some((key) => one[key] !== undefined && String(one[key]) === String(other[key]));
}
