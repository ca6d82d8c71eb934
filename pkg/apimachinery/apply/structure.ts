/** How server-side apply sees a value: as one piece, or as parts with names or keys of their own. */
import {
  AmbiguousElementError,
  checkEdges,
  ElementEdges,
  fieldEdge,
  valueEdge,
  zeroOf,
} from '#apimachinery/apply/edges.js';
import { at, emptySet, type FieldSet, isEmptySet } from '#apimachinery/apply/field-set.js';
import { complete, isJsonObject, saysNothing } from '#apimachinery/codec/json/walk.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

export type JsonObject = Readonly<Record<string, unknown>>;

export type Structure = DefiniteStructure | DeducedStructure;

/** Of values that are all alike. */
export type DefiniteStructure = LeafStructure | StructStructure | MapStructure | ElementsStructure;

/** One piece. */
export interface LeafStructure {
  readonly kind: 'leaf';
  /** Throws an AmbiguousElementError for values that have no typed form; undefined where all have one. */
  readonly check: ((value: unknown) => void) | undefined;
}

/** Any names. */
interface MapStructure {
  readonly kind: 'map';
  readonly element: Structure;
}

/**
 * Where no schema says what values are: objects are maps of such values, and everything else is one piece. The deduced
 * type of structured-merge-diff.
 */
class DeducedStructure {
  readonly kind = 'deduced';
  readonly asMap: MapStructure = { kind: 'map', element: this };
}

/** Of lists that are no leaf. */
export type ElementsStructure =
  /** Scalars, each at most once. */
  | { readonly kind: 'set' }
  /** Messages told apart by keys. */
  | ListStructure;

/** Fields of a message. */
class StructStructure {
  readonly kind = 'struct';
  readonly type: TypeInfo;
  readonly #unseen: FieldSet;
  #members: Members | undefined;

  constructor(type: TypeInfo, unseen: FieldSet) {
    this.type = type;
    this.#unseen = unseen;
  }

  /** Made when first asked for: types refer to each other in circles. */
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

/** What a walk has to know of a message's member. */
export interface Member {
  readonly name: string;
  /** Undefined for members that are not declared. */
  readonly field: FieldInfo | undefined;
  /** `f:<name>`. */
  readonly edge: string;
  readonly structure: Structure;
  /** What an empty message has in its place: nothing, `[]` or `{}`. */
  readonly whenEmpty: unknown;
  /** False when every value says something, see `saysNothing`. */
  readonly maySayNothing: boolean;
  /** True when it is passed over, whatever its value. */
  readonly unseen: boolean;
  /** It is there in every message, as null where nothing is said. */
  readonly alwaysThere: boolean;
}

const none: readonly string[] = Object.freeze([]);

/** The declared members of a type, looked up once for all objects. */
export class Members {
  readonly #declared = new Map<string, Member>();
  #undeclared: Structure | undefined;
  /** The declared ones but for those that are passed over, in the order of their names, which is that of written sets. */
  readonly seen: readonly Member[];

  constructor({ byName, prune }: TypeInfo, unseen: FieldSet) {
    const names = new Set(byName.keys());
    // These may be undeclared, as `kind` is.
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
        structure: field === undefined ? leaf : partlySeen(structureOf(field), hidden),
        whenEmpty: emptyValue(field),
        maySayNothing: field !== undefined && saysNothing(field, field.container === 'single' ? 0 : []),
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

  /** The names of an object's members that no field declares, in their order. */
  undeclared(object: JsonObject): readonly string[] {
    let names: string[] | undefined;
    for (const name in object) {
      if (this.#declared.has(name)) continue;
      if (names === undefined) names = [name];
      else names.push(name);
    }
    return names?.sort() ?? none;
  }

  /** A member that no field declares: its type keeps what its schema does not name. */
  #other(name: string): Member {
    this.#undeclared ??= new DeducedStructure();
    return {
      name,
      field: undefined,
      edge: fieldEdge(name),
      structure: this.#undeclared,
      whenEmpty: undefined,
      maySayNothing: false,
      unseen: false,
      alwaysThere: false,
    };
  }
}

function partlySeen(structure: Structure, unseen: FieldSet | undefined): Structure {
  return unseen === undefined || structure.kind !== 'struct' ? structure : new StructStructure(structure.type, unseen);
}

/** Whether a member is as good as absent: zero and absent are the same to a field that cannot tell them apart. */
export function isSilent({ field, maySayNothing, unseen }: Member, value: unknown): boolean {
  if (value === undefined || unseen) return true;
  if (!maySayNothing || field === undefined) return false;
  // Most values are decided without a look at the field.
  return (typeof value === 'object' || !value) && saysNothing(field, value);
}

const structs = oncePer((unseen: FieldSet) => oncePer((type: TypeInfo) => new StructStructure(type, unseen)));
const structures = oncePer(makeStructure);

/**
 * The structure of a message whose members in `unseen` are passed over, and what is below them; where there are members
 * below them in `unseen`, only those. Kept as long as that very set is.
 */
export function structOf(type: TypeInfo, unseen = emptySet): StructStructure {
  return structs(unseen)(type);
}

/** The structure of a list's element or a map's value. */
function elementStructure(field: FieldInfo): Structure {
  const { type, element } = field;
  if (element !== undefined) return structureOf(element);
  if (type === undefined) return leaf;
  if (type.atomic) return field.container === 'single' ? checkedLeaf(field) : leaf;
  if (type.shape === 'struct') return structOf(type);
  return isUntyped(type) ? new DeducedStructure() : leaf;
}

/** Types of which OpenAPI says nothing, so that what a value is shows in the value alone. */
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

/** The raw type that 1.24 takes for one piece (kube-openapi, pkg/schemaconv/smd.go). */
const atomicRawType = 'RawExtension';

/** What the structure is for that value. */
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

/** The edge to an element of a list that is no leaf. */
export function elementOf(structure: ElementsStructure, element: unknown): string {
  return structure.kind === 'list' ? structure.edges.edge(asObject(element)) : valueEdge(element);
}

/** Whether two elements have the same edge; false where it takes a look at the edges, as keys are no scalars. */
export function sameElement(structure: ElementsStructure, a: unknown, b: unknown): boolean {
  return structure.kind === 'set' ? a === b : structure.edges.same(asObject(a), asObject(b));
}

/** The structure of the elements of a list that is no leaf. */
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

/** True for what has no parts: absent, `{}`, `[]`. */
export function hasNoParts(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  for (const _ in value) return false;
  return true;
}

/**
 * What a member is in an empty message: one that is always there on the wire counts as empty rather than absent, so that
 * nobody owns it for having filled it.
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

/**
 * What 1.24 writes as null where it says nothing: a list or a map that is never left out, and a time that is no pointer,
 * also where it might be left out.
 */
function isNullable(field: FieldInfo | undefined): boolean {
  if (field === undefined || field.pointer) return false;
  if (field.container !== 'single') return !field.omitempty;
  return field.type?.shape === 'time' || field.type?.shape === 'microTime';
}

/** Throws an AmbiguousElementError. Null and absent say nothing. */
type PartsCheck = (value: unknown) => void;

/**
 * Of the values of a field that is one piece. Nothing there has a manager of its own, and still release 1.24 has no typed form of
 * an object in which elements of a set, or of a list with keys, are there twice. Undefined where nothing inside has to be looked at. */
function wholeFieldCheck(field: FieldInfo): PartsCheck | undefined {
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
  return (element) => edges.edge(isJsonObject(element) ? element : {});
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
    if (!isJsonObject(value)) return;
    for (const { name, check } of checks) if (value[name] !== undefined) check(value[name]);
  };
}

function checkMap(value: unknown): void {
  if ((value ?? null) !== null && !isJsonObject(value)) throw new AmbiguousElementError('no map');
}
