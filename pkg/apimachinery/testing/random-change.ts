/** Random later versions of objects, for tests over arbitrary changes. */

import { AmbiguousElementError } from '#apimachinery/apply/path-elements.js';
import {
  elementOf,
  type LeafStructure,
  partStructure,
  type Structure,
  structOf,
} from '#apimachinery/apply/structure.js';
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/** An object between two objects of the same type; shares parts with both. */
export function randomChange<T>(object: T, other: T, random: () => number): T {
  if (random() < 0.3) return object;
  if (isJsonObject(object) && isJsonObject(other)) {
    const result: JsonObject = { ...object };
    for (const [name, value] of Object.entries(other)) {
      if (!Object.hasOwn(object, name)) {
        if (random() < 0.2) result[name] = value;
      } else result[name] = randomChange(object[name], value, random);
    }
    for (const name of Object.keys(result)) if (!Object.hasOwn(other, name) && random() < 0.2) delete result[name];
    return result as T;
  }
  if (Array.isArray(object) && Array.isArray(other)) {
    const result = [...object.map((value, i) => randomChange(value, other[i] ?? value, random)), ...other];
    if (random() < 0.3) result.reverse();
    return result.slice(0, 1 + Math.floor(random() * result.length)) as T;
  }
  return random() < 0.5 ? object : other;
}

/** The object without duplicate and keyless list elements and atomic values with them; shares unaffected parts. */
export function withoutDuplicates<T>(type: TypeInfo, object: T): T {
  return unique(structOf(type), object) as T;
}

function unique(structure: Structure, value: unknown): unknown {
  switch (structure.kind) {
    case 'leaf':
      return isTyped(structure, value) ? value : undefined;
    case 'deduced':
      return value;
    case 'struct':
      return mapMembers(value, (name, part) => unique(structure.members.of(name).structure, part));
    case 'map':
      return mapMembers(value, (_, part) => unique(structure.element, part));
    case 'set':
    case 'list': {
      if (!Array.isArray(value)) return value;
      const parts = new Map(value.map((part) => [elementOf(structure, part), unique(partStructure(structure), part)]));
      parts.delete('k:{}');
      const list = [...parts.values()];
      return list.length === value.length && list.every((part, i) => part === value[i]) ? value : list;
    }
  }
}

function isTyped({ check }: LeafStructure, value: unknown): boolean {
  try {
    check?.(value);
    return true;
  } catch (error) {
    if (error instanceof AmbiguousElementError) return false;
    throw error;
  }
}

function mapMembers(value: unknown, map: (name: string, part: unknown) => unknown): unknown {
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([name, part]) => [name, map(name, part)] as const);
  if (members.every(([name, part]) => part === value[name])) return value;
  return Object.fromEntries(members.filter(([, part]) => part !== undefined));
}
