/**
 * What is inside of values that are one piece to server-side apply. Nothing there has a manager of its own, and still 1.24 has
 * no typed form of an object in which elements of a set, or of a list with keys, are there twice.
 */
import { AmbiguousElementError, checkEdges, ElementEdges, valueEdge } from '#apimachinery/apply/edges.js';
import { isObject } from '#apimachinery/patch/json-values.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** Throws an AmbiguousElementError. Null and absent say nothing. */
type PartsCheck = (value: unknown) => void;

/** Of the values of a field that is one piece; undefined where nothing inside has to be looked at. */
export function wholeFieldCheck(field: FieldInfo): PartsCheck | undefined {
  return fieldCheck(field, new Set());
}

/** `outer`: types that the field is inside of, which are not looked into again. */
function fieldCheck(field: FieldInfo, outer: ReadonlySet<TypeInfo>): PartsCheck | undefined {
  const { container, type, element } = field;
  const inside = element !== undefined ? fieldCheck(element, outer) : type && typeCheck(type, outer);
  if (container === 'single') return inside;
  const edges = container === 'list' ? edgesOf(field) : undefined;
  if (inside === undefined && edges === undefined) return undefined;
  return (value) => {
    if (typeof value !== 'object' || value === null) return;
    if (edges !== undefined && Array.isArray(value)) checkEdges(value.map(edges));
    if (inside !== undefined) for (const part of Object.values(value)) inside(part);
  };
}

function edgesOf({ listKind, listMapKeys, type }: FieldInfo): ((element: unknown) => string) | undefined {
  if (listKind === 'set') return valueEdge;
  if (listKind !== 'map' || type?.shape !== 'struct') return undefined;
  const edges = new ElementEdges(type, listMapKeys);
  return (element) => edges.edge(isObject(element) ? element : {});
}

function typeCheck(type: TypeInfo, outer: ReadonlySet<TypeInfo>): PartsCheck | undefined {
  // Fields of managers are maps; everything else that is raw may be anything.
  if (type.shape === 'rawJSON') return type.shortName === 'FieldsV1' ? checkMap : undefined;
  if (type.shape !== 'struct' || type.prune !== undefined || outer.has(type)) return undefined;
  const within = new Set([...outer, type]);
  const checks = [...type.byName].flatMap(([name, field]) => {
    const check = fieldCheck(field, within);
    return check === undefined ? [] : [{ name, check }];
  });
  if (checks.length === 0) return undefined;
  return (value) => {
    if (!isObject(value)) return;
    for (const { name, check } of checks) if (value[name] !== undefined) check(value[name]);
  };
}

function checkMap(value: unknown): void {
  if ((value ?? null) !== null && !isObject(value)) throw new AmbiguousElementError('no map');
}
