/** Whether an object of which nobody has made sure has parts where its type has them. */
import { pathText } from '#apimachinery/apply/field-set.js';
import { type JsonObject, partStructure, type Structure, structureOf } from '#apimachinery/apply/structure.js';
import { isObject } from '#apimachinery/patch/json-values.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/**
 * What is wrong first, in the words of structured-merge-diff: `.spec: expected map, got "x"`; undefined: nothing. Null is
 * as good as absent. Values without parts may be anything: they are compared as they are.
 */
export function shapeFault(type: TypeInfo, object: JsonObject): string | undefined {
  return faultOfMembers(type, object, []);
}

type Path = readonly string[];

function faultOfMembers(type: TypeInfo, object: JsonObject, path: Path): string | undefined {
  for (const [name, value] of Object.entries(object)) {
    const fault = faultOf(structureOf(type.byName.get(name)), value, [...path, `f:${name}`]);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function faultOf(structure: Structure, value: unknown, path: Path): string | undefined {
  if (structure.kind === 'leaf' || value === null || value === undefined) return undefined;
  if (structure.kind === 'set' || structure.kind === 'list') {
    if (!Array.isArray(value)) return unexpected('list', value, path);
    const element = partStructure(structure);
    for (const [i, part] of value.entries()) {
      const isPart = structure.kind === 'set' || isObject(part);
      const at = [...path, `i:${i}`];
      const fault = isPart ? faultOf(element, part, at) : unexpected('map', part, at);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }
  if (!isObject(value)) return unexpected('map', value, path);
  if (structure.kind === 'struct') return faultOfMembers(structure.type, value, path);
  for (const [name, part] of Object.entries(value)) {
    const fault = faultOf(structure.element, part, [...path, `f:${name}`]);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const maxShownChars = 100;

function unexpected(what: 'map' | 'list', value: unknown, path: Path): string {
  return `${pathText(path)}: expected ${what}, got ${JSON.stringify(value).slice(0, maxShownChars)}`;
}
