/**
 * The fields of a new object as a set of paths: what `compare` finds between an empty object and this one, found in one
 * walk that builds the set as it goes. Most objects are created once and have many fields, so this is the usual case.
 */
import { type FieldSet, memberOnly } from '#apimachinery/apply/field-set.js';
import {
  asList,
  asObject,
  edgeOf,
  elementOf,
  elementStructure,
  hasNoParts,
  partStructure,
  present,
  type Structure,
  structureOf,
} from '#apimachinery/apply/structure.js';
import { saysNothing } from '#apimachinery/codec/json-walk.js';
import { jsonEqual } from '#apimachinery/patch/json-values.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

type Node = Record<string, FieldSet>;

/** Paths whose values are there in `object` and would not be in an empty one. */
export function addedFields(type: TypeInfo, object: unknown): FieldSet {
  const root: Node = {};
  addStruct(root, type, object, {});
  return root;
}

/** The node of a value; `before` is what an empty message has in its place: nothing, `[]` or `{}`. */
function nodeOf(value: unknown, structure: Structure, before: unknown): FieldSet | undefined {
  if (structure.kind === 'leaf' || hasNoParts(value)) {
    return before === undefined || !jsonEqual(before, value) ? memberOnly : undefined;
  }
  // First, where the order of written sets has it: most nodes need no sorting then.
  const node: Node = before === undefined ? { '.': memberOnly } : {};
  let any = false;
  switch (structure.kind) {
    case 'struct':
      any = addStruct(node, structure.type, value, before);
      break;
    case 'map': {
      const element = elementStructure(structure.field);
      const object = asObject(value);
      for (const name of Object.keys(object)) any = add(node, `f:${name}`, object[name], element) || any;
      break;
    }
    case 'set':
    case 'list': {
      const element = partStructure(structure);
      // Of elements that are told apart by nothing the last one counts.
      const parts = new Map(asList(value).map((part) => [elementOf(structure, part), part]));
      for (const [edge, part] of parts) any = add(node, edge, part, element) || any;
      break;
    }
  }
  if (any) return node;
  return before === undefined ? memberOnly : undefined;
}

function add(node: Node, edge: string, value: unknown, structure: Structure): boolean {
  if (value === undefined) return false;
  const child = nodeOf(value, structure, undefined);
  if (child === undefined) return false;
  node[edge] = child;
  return true;
}

/** True when anything was added. */
function addStruct(node: Node, type: TypeInfo, value: unknown, before: unknown): boolean {
  const object = asObject(value);
  let any = false;
  for (const name in object) {
    const field = type.byName.get(name);
    const content = object[name];
    // Zero and absent are the same to a field that cannot tell them apart.
    if (content === undefined || (field !== undefined && saysNothing(field, content))) continue;
    const child = nodeOf(content, structureOf(field), present(field, undefined, before));
    if (child === undefined) continue;
    node[field === undefined ? `f:${name}` : edgeOf(field)] = child;
    any = true;
  }
  return any;
}
