/** How server-side apply sees a value: as one piece, or as parts with names or keys of their own. */
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

export type JsonObject = Readonly<Record<string, unknown>>;

export type Structure =
  | { readonly kind: 'leaf' }
  /** Fields of a message. */
  | { readonly kind: 'struct'; readonly type: TypeInfo }
  /** Any names; values are elements of the field. */
  | { readonly kind: 'map'; readonly field: FieldInfo }
  /** Scalars, each at most once. */
  | { readonly kind: 'set' }
  /** Messages told apart by keys. */
  | {
      readonly kind: 'list';
      readonly type: TypeInfo;
      readonly keys: readonly string[];
      readonly element: Structure;
      readonly edge: readonly ListKey[];
    };

/** One of the keys that tell the elements of a list apart, as their edges write it. */
interface ListKey {
  readonly name: string;
  /** The name as JSON, with the colon. */
  readonly text: string;
  readonly default: unknown;
}

const leaf: Structure = Object.freeze({ kind: 'leaf' });

/** The structure of a list's element or a map's value. */
export function elementStructure(field: FieldInfo): Structure {
  const { type } = field;
  return type?.shape === 'struct' && !type.atomic ? { kind: 'struct', type } : leaf;
}

/** Derived from fields, which are made once. */
const structures = new WeakMap<FieldInfo, Structure>();

export function structureOf(field: FieldInfo | undefined): Structure {
  if (field === undefined || field.atomic) return leaf;
  let structure = structures.get(field);
  if (structure === undefined) {
    structure = makeStructure(field);
    structures.set(field, structure);
  }
  return structure;
}

function makeStructure(field: FieldInfo): Structure {
  switch (field.container) {
    case 'single':
      return elementStructure(field);
    case 'map':
      return { kind: 'map', field };
    case 'list':
      if (field.listKind === 'set') return { kind: 'set' };
      if (field.listKind === 'map' && field.type?.shape === 'struct') {
        const { type, listMapKeys: keys } = field;
        return { kind: 'list', type, keys, element: elementStructure(field), edge: listKeys(type, keys) };
      }
      return leaf;
  }
}

/** In the order of their names. */
function listKeys(type: TypeInfo, names: readonly string[]): ListKey[] {
  return [...names]
    .sort()
    .map((name) => ({ name, text: `${JSON.stringify(name)}:`, default: type.byName.get(name)?.default }));
}

/** The edge to a list's element: its keys with their defaults, in the order of their names. */
function keyElement(keys: readonly ListKey[], element: unknown): string {
  const object = asObject(element);
  let text = '';
  for (const key of keys) {
    const value = object[key.name] ?? key.default;
    if (value !== undefined) text += `${text === '' ? '' : ','}${key.text}${JSON.stringify(value)}`;
  }
  return `k:{${text}}`;
}

function valueElement(value: unknown): string {
  return `v:${JSON.stringify(value)}`;
}

/** The edge to an element of a list that is no leaf. */
export function elementOf(structure: Structure, element: unknown): string {
  return structure.kind === 'list' ? keyElement(structure.edge, element) : valueElement(element);
}

/** The structure of the elements of a list that is no leaf. */
export function partStructure(structure: Structure): Structure {
  return structure.kind === 'list' ? structure.element : leaf;
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

/** True for what has no parts: absent, `{}`, `[]`. */
export function hasNoParts(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  for (const _ in value) return false;
  return true;
}

/** Edges of declared fields: joined once, as they are compared and looked up again and again. */
const edges = new WeakMap<FieldInfo, string>();

export function edgeOf(field: FieldInfo): string {
  let edge = edges.get(field);
  if (edge === undefined) {
    edge = `f:${field.name}`;
    edges.set(field, edge);
  }
  return edge;
}

/**
 * The value of a member; in a message that exists, one that is always there on the wire counts as empty rather than
 * absent, so that nobody owns it for having filled it.
 */
export function present(field: FieldInfo | undefined, value: unknown, message: unknown): unknown {
  if (value !== undefined || message === undefined || field === undefined || field.pointer) return value;
  if (field.container === 'list') return field.omitempty ? undefined : [];
  if (field.container === 'map') return field.omitempty ? undefined : {};
  return field.type?.shape === 'struct' && !field.atomic ? {} : undefined;
}
