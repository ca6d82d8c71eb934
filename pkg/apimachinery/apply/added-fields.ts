/**
 * The fields of a new object as a set of paths: what `compare` finds between an empty object and this one, found in one
 * walk that makes the set as it is written, in order. Most objects are created once and have many fields, so this is
 * the usual case.
 */
import { fieldEdge } from '#apimachinery/apply/edges.js';
import { checkEdges } from '#apimachinery/apply/elements.js';
import { emptySet, type FieldSet, inOrder, memberOnly } from '#apimachinery/apply/field-set.js';
import type { NodeParts } from '#apimachinery/apply/known-nodes.js';
import {
  asList,
  asObject,
  type ElementsStructure,
  elementOf,
  hasNoParts,
  isSilent,
  type JsonObject,
  type Members,
  partStructure,
  type Structure,
  selfBit,
  structOf,
  structureFor,
} from '#apimachinery/apply/structure.js';
import { checkEntries } from '#apimachinery/codec/json/size-limit.js';
import { isObject, jsonEqual } from '#apimachinery/patch/json-values.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

type Node = Record<string, FieldSet>;

/** A member that has more below it. */
const selfOnly: FieldSet = Object.freeze({ '.': memberOnly });

/**
 * Paths whose values are there in `object` and would not be in an empty one; `unseen` is passed over, see `structOf`.
 * The set is in order.
 */
export function addedFields(type: TypeInfo, object: unknown, unseen?: FieldSet): FieldSet {
  return structNode(structOf(type, unseen).members, asObject(object), false) ?? emptySet;
}

/** The node of a value that was not there before. In order. */
export function addedValue(value: unknown, structure: Structure): FieldSet {
  return nodeOf(value, structure, undefined) ?? memberOnly;
}

/** Nodes of values that are made already, by the values. */
export type MadeNodes = ReadonlyMap<unknown, FieldSet | undefined>;

/** `before` is what an empty message has in its place: nothing, `[]` or `{}`. */
export function nodeOf(value: unknown, declared: Structure, before: unknown, made?: MadeNodes): FieldSet | undefined {
  if (made?.has(value) === true) return made.get(value);
  const structure = structureFor(declared, value);
  const isNew = before === undefined;
  // A new message has its nulls, if nothing else.
  if (isNew && structure.kind === 'struct' && isObject(value)) return structNode(structure.members, value, isNew, made);
  if (structure.kind === 'leaf') structure.check?.(value);
  if (structure.kind === 'leaf' || hasNoParts(value))
    return isNew || !jsonEqual(before, value) ? memberOnly : undefined;
  if (structure.kind === 'struct') return structNode(structure.members, asObject(value), isNew, made);
  const parts =
    structure.kind === 'map' ? mapParts(structure.element, asObject(value)) : listParts(structure, asList(value));
  if (parts.length > 0) return structure.known.node(isNew ? selfOnly : emptySet, parts);
  return isNew ? memberOnly : undefined;
}

function mapParts(element: Structure, object: JsonObject): NodeParts {
  const parts: NodeParts = [];
  const names = inAlphabet(object);
  checkEntries(names.length);
  for (const name of names) {
    if (object[name] !== undefined) parts.push(fieldEdge(name), addedValue(object[name], element));
  }
  return parts;
}

export function inAlphabet(object: JsonObject): readonly string[] {
  const names = Object.keys(object);
  for (let i = 1; i < names.length; i++) if ((names[i] as string) < (names[i - 1] as string)) return names.sort();
  return names;
}

function listParts(structure: ElementsStructure, list: readonly unknown[]): NodeParts {
  const element = partStructure(structure);
  checkEntries(list.length);
  const parts: NodeParts = [];
  const edges: string[] = [];
  for (const part of list) {
    const edge = elementOf(structure, part);
    edges.push(edge);
    parts.push(edge, addedValue(part, element));
  }
  checkEdges(edges);
  return parts;
}

/** `isNew`: nothing was there, not even an empty message. `made`: of members, and of members of theirs. */
export function structNode(
  members: Members,
  object: JsonObject,
  isNew: boolean,
  made?: MadeNodes,
): FieldSet | undefined {
  const nothing = isNew ? selfBit : 0;
  let shape = isNew ? members.newShape : nothing;
  /** What has members below it. */
  let parts: NodeParts | undefined;
  let unplaced: Node | undefined;
  for (const name in object) {
    const content = object[name];
    const member = members.of(name);
    if (isSilent(member, content)) continue;
    const { structure, whenEmpty, edge, bit } = member;
    const child = nodeOf(content, structure, isNew ? undefined : whenEmpty, made);
    if (child === undefined) continue;
    if (bit === 0) {
      unplaced ??= {};
      unplaced[edge] = child;
    } else {
      // What is always there is in the shape of a new message.
      if (!isNew || !member.alwaysThere) shape += bit;
      if (child !== memberOnly) {
        if (parts === undefined) parts = [edge, child];
        else parts.push(edge, child);
      }
    }
  }
  const known = parts === undefined ? members.node(shape) : members.known.node(members.node(shape), parts);
  if (unplaced !== undefined) return inOrder({ ...known, ...unplaced });
  if (shape === nothing) return isNew ? memberOnly : undefined;
  return known;
}
