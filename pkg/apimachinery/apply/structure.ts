/** The structure of values for server-side apply: atomic, or with parts that have names or keys. */

import { at, emptySet, type FieldSet, isEmptySet } from '#apimachinery/apply/field-set.js';
import {
  AmbiguousElementError,
  checkEdges,
  ElementEdges,
  fieldEdge,
  valueEdge,
  zeroOf,
} from '#apimachinery/apply/path-elements.js';
import { complete, isInsignificant, isJsonObject } from '#apimachinery/codec/json/walk.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

export type JsonObject = Readonly<Record<string, unknown>>;

export type Structure = DefiniteStructure | DeducedStructure;

/** A structure that is the same for all values. */
export type DefiniteStructure = LeafStructure | StructStructure | MapStructure | ElementsStructure;

/** An atomic value. */
export interface LeafStructure {
  readonly kind: 'leaf';
  /** Throws an AmbiguousElementError for values without a typed form; undefined if all values have one. */
  readonly check: ((value: unknown) => void) | undefined;
}

/** Entries with arbitrary names. */
interface MapStructure {
  readonly kind: 'map';
  readonly element: Structure;
}

/** The type of values without schema: objects are maps of such values, all others atomic (`deduced` in 1.24). */
class DeducedStructure {
  readonly kind = 'deduced';
  readonly asMap: MapStructure = { kind: 'map', element: this };
}

/** Lists that are not atomic. */
export type ElementsStructure =
  /** Distinct scalars. */
  | { readonly kind: 'set' }
  /** Messages identified by keys. */
  | ListStructure;

/** A message with fields. */
class StructStructure {
  readonly kind = 'struct';
  readonly type: TypeInfo;
  readonly #unseen: FieldSet;
  #members: Members | undefined;

  constructor(type: TypeInfo, unseen: FieldSet) {
    this.type = type;
    this.#unseen = unseen;
  }

  /** Created on first use, because types may be recursive. */
  get members(): Members {
    this.#members ??= new Members(this.type, this.#unseen);
    return this.#members;
  }
}

export interface ListStructure {
  readonly kind: 'list';
  readonly type: TypeInfo;
  readonly keys: readonly string[];
  readonly element: Structure;
  readonly edges: ElementEdges;
}

const leaf: LeafStructure = Object.freeze({ kind: 'leaf', check: undefined });

const checkedLeaf = oncePer((field: FieldInfo): LeafStructure => {
  const check = wholeFieldCheck(field);
  return check === undefined ? leaf : { kind: 'leaf', check };
});

/** Properties of a message member that walks need. */
export interface Member {
  readonly name: string;
  /** Undefined for undeclared members. */
  readonly field: FieldInfo | undefined;
  /** `f:<name>`. */
  readonly edge: string;
  readonly structure: Structure;
  /** The member's value in an empty message: undefined, null, a zero value or an empty message. */
  readonly whenEmpty: unknown;
  /** False if every value is significant, see `isInsignificant`. */
  readonly mayBeInsignificant: boolean;
  /** True if comparisons skip it. */
  readonly unseen: boolean;
  /** Every message has the member; it is null if unset. */
  readonly alwaysThere: boolean;
}

const none: readonly string[] = Object.freeze([]);

/** The declared members of a type, computed once for all objects. */
export class Members {
  readonly #declared = new Map<string, Member>();
  #undeclared: Structure | undefined;
  /** The declared members that are not skipped, sorted by name like written sets. */
  readonly seen: readonly Member[];

  constructor({ byName, prune }: TypeInfo, unseen: FieldSet) {
    const names = new Set(byName.keys());
    // Skipped members may be undeclared, such as `kind`.
    for (const edge in unseen) if (edge.startsWith('f:')) names.add(edge.slice(2));
    const seen: Member[] = [];
    for (const name of [...names].sort()) {
      const field = byName.get(name);
      const edge = `f:${name}`;
      const hidden = at(unseen, edge);
      const isHidden = hidden !== undefined && isEmptySet(hidden);
      const member: Member = {
        name,
        field,
        edge,
        structure: field === undefined ? leaf : withUnseen(structureOf(field), hidden),
        whenEmpty: emptyValue(field),
        mayBeInsignificant: field !== undefined && isInsignificant(field, field.container === 'single' ? 0 : []),
        unseen: isHidden,
        alwaysThere: !isHidden && prune === undefined && isNullable(field),
      };
      this.#declared.set(name, member);
      if (!isHidden) seen.push(member);
    }
    this.seen = seen;
  }

  of(name: string): Member {
    return this.#declared.get(name) ?? this.#other(name);
  }

  /** The names of an object's undeclared members, sorted. */
  undeclared(object: JsonObject): readonly string[] {
    let names: string[] | undefined;
    for (const name in object) {
      if (this.#declared.has(name)) continue;
      if (names === undefined) names = [name];
      else names.push(name);
    }
    return names?.sort() ?? none;
  }

  /** An undeclared member of a type that preserves unknown fields. */
  #other(name: string): Member {
    this.#undeclared ??= new DeducedStructure();
    return {
      name,
      field: undefined,
      edge: fieldEdge(name),
      structure: this.#undeclared,
      whenEmpty: undefined,
      mayBeInsignificant: false,
      unseen: false,
      alwaysThere: false,
    };
  }
}

function withUnseen(structure: Structure, unseen: FieldSet | undefined): Structure {
  return unseen === undefined || structure.kind !== 'struct' ? structure : new StructStructure(structure.type, unseen);
}

/** Whether a member counts as absent: some fields cannot distinguish their zero value from absent. */
export function isInsignificantMember({ field, mayBeInsignificant, unseen }: Member, value: unknown): boolean {
  if (value === undefined || unseen) return true;
  if (!mayBeInsignificant || field === undefined) return false;
  // Most values are decided without looking at the field.
  return (typeof value === 'object' || !value) && isInsignificant(field, value);
}

const structs = oncePer((unseen: FieldSet) => oncePer((type: TypeInfo) => new StructStructure(type, unseen)));
const structures = oncePer(makeStructure);

/**
 * The structure of a message that skips the members in `unseen`; if `unseen` has members below one, only those are
 * skipped. Cached as long as that set object lives.
 */
export function structOf(type: TypeInfo, unseen = emptySet): StructStructure {
  return structs(unseen)(type);
}

/** The structure of a list element or map value. */
function elementStructure(field: FieldInfo): Structure {
  const { type, element } = field;
  if (element !== undefined) return structureOf(element);
  if (type === undefined) return leaf;
  if (type.atomic) return field.container === 'single' ? checkedLeaf(field) : leaf;
  if (type.shape === 'struct') return structOf(type);
  return isUntyped(type) ? new DeducedStructure() : leaf;
}

/** Types that OpenAPI leaves open, so that only the value shows its structure. */
function isUntyped({ shape, shortName }: TypeInfo): boolean {
  switch (shape) {
    case 'rawJSON':
      return shortName !== atomicRawType;
    case 'schemaOrArray':
    case 'schemaOrBool':
    case 'schemaOrStringArray':
      return true;
    default:
      return false;
  }
}

/** The raw type that 1.24 treats as atomic (kube-openapi, pkg/schemaconv/smd.go). */
const atomicRawType = 'RawExtension';

/** The structure for that value. */
export function structureFor(structure: Structure, value: unknown): DefiniteStructure {
  if (structure.kind !== 'deduced') return structure;
  return isJsonObject(value) ? structure.asMap : leaf;
}

function structureOf(field: FieldInfo): Structure {
  return field.atomic ? checkedLeaf(field) : structures(field);
}

/** The structure of a member, declared or not. */
export function memberStructure(type: TypeInfo, name: string): Structure {
  return structOf(type).members.of(name).structure;
}

function makeStructure(field: FieldInfo): Structure {
  switch (field.container) {
    case 'single':
      return elementStructure(field);
    case 'map':
      return { kind: 'map', element: elementStructure(field) };
    case 'list':
      if (field.listKind === 'set') return { kind: 'set' };
      if (field.listKind === 'map' && field.type?.shape === 'struct') {
        const { type, listMapKeys: keys } = field;
        const edges = new ElementEdges(type, keys);
        return { kind: 'list', type, keys, element: elementStructure(field), edges };
      }
      return checkedLeaf(field);
  }
}

/** The edge to an element of a list that is not atomic. */
export function elementOf(structure: ElementsStructure, element: unknown): string {
  return structure.kind === 'list' ? structure.edges.edge(asObject(element)) : valueEdge(element);
}

/** Whether two elements have the same edge; false if keys are not scalars, so that callers must compare edges. */
export function sameElement(structure: ElementsStructure, a: unknown, b: unknown): boolean {
  return structure.kind === 'set' ? a === b : structure.edges.same(asObject(a), asObject(b));
}

/** The structure of the elements of a list that is not atomic. */
export function partStructure(structure: ElementsStructure): Structure {
  return structure.kind === 'list' ? structure.element : leaf;
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

const nothing: JsonObject = Object.freeze({});

export function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : nothing;
}

/** True for a value without parts: absent, scalar, `{}` or `[]`. */
export function hasNoParts(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  for (const _ in value) return false;
  return true;
}

/**
 * The value of a member in an empty message. A member that is always serialized counts as empty rather than absent, so
 * that filling it in makes no manager its owner.
 */
function emptyValue(field: FieldInfo | undefined): unknown {
  if (field === undefined || field.pointer) return undefined;
  if (isNullable(field)) return null;
  if (field.container !== 'single') return undefined;
  if (field.type?.shape === 'struct') return zeroMessage(field.type);
  return field.omitempty ? undefined : zeroOf(field.scalar);
}

const zeroMessage = oncePer((type: TypeInfo): JsonObject => {
  const zero = {};
  complete(type, zero);
  return zero;
});

/** Whether 1.24 writes the unset field as null: lists and maps without omitempty, and times without pointer. */
function isNullable(field: FieldInfo | undefined): boolean {
  if (field === undefined || field.pointer) return false;
  if (field.container !== 'single') return !field.omitempty;
  return field.type?.shape === 'time' || field.type?.shape === 'microTime';
}

/** Throws an AmbiguousElementError. Null and absent always pass. */
type PartsCheck = (value: unknown) => void;

/**
 * Checks the values of an atomic field. Its parts have no managers, yet release 1.24 has no typed form of an object
 * with duplicate elements of a set or keyed list in it. Undefined if nothing inside needs a check.
 */
function wholeFieldCheck(field: FieldInfo): PartsCheck | undefined {
  return fieldCheck(field, new Set());
}

/** `outer`: enclosing types, which are not checked again. */
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
  return (element) => edges.edge(isJsonObject(element) ? element : {});
}

function typeCheck(type: TypeInfo, outer: ReadonlySet<TypeInfo>): PartsCheck | undefined {
  // Managed fields are maps; other raw values may be anything.
  if (type.shape === 'rawJSON') return type.shortName === 'FieldsV1' ? checkMap : undefined;
  if (type.shape !== 'struct' || type.prune !== undefined || outer.has(type)) return undefined;
  const within = new Set([...outer, type]);
  const checks = [...type.byName].flatMap(([name, field]) => {
    const check = fieldCheck(field, within);
    return check === undefined ? [] : [{ name, check }];
  });
  if (checks.length === 0) return undefined;
  return (value) => {
    if (!isJsonObject(value)) return;
    for (const { name, check } of checks) if (value[name] !== undefined) check(value[name]);
  };
}

function checkMap(value: unknown): void {
  if ((value ?? null) !== null && !isJsonObject(value)) throw new AmbiguousElementError('no map');
}
