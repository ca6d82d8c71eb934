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
  | { readonly kind: 'list'; readonly type: TypeInfo; readonly keys: readonly string[]; readonly element: Structure };

const leaf: Structure = Object.freeze({ kind: 'leaf' });

/** The structure of a list's element or a map's value. */
export function elementStructure(field: FieldInfo): Structure {
  const { type } = field;
  return type?.shape === 'struct' && !type.atomic ? { kind: 'struct', type } : leaf;
}

export function structureOf(field: FieldInfo | undefined): Structure {
  if (field === undefined || field.atomic) return leaf;
  switch (field.container) {
    case 'single':
      return elementStructure(field);
    case 'map':
      return { kind: 'map', field };
    case 'list':
      if (field.listKind === 'set') return { kind: 'set' };
      if (field.listKind === 'map' && field.type?.shape === 'struct') {
        return { kind: 'list', type: field.type, keys: field.listMapKeys, element: elementStructure(field) };
      }
      return leaf;
  }
}

/** The edge to a list's element: its keys with their defaults, in the order of their names. */
export function keyElement(type: TypeInfo, keys: readonly string[], element: unknown): string {
  const object = element as JsonObject | null;
  const values = [...keys].sort().map((key) => {
    const value = typeof object === 'object' && object !== null ? object[key] : undefined;
    return [key, value ?? type.byName.get(key)?.default];
  });
  return `k:${JSON.stringify(Object.fromEntries(values.filter(([, value]) => value !== undefined)))}`;
}

export function valueElement(value: unknown): string {
  return `v:${JSON.stringify(value)}`;
}

/** The edge to an element of a list that is no leaf. */
export function elementOf(structure: Structure, element: unknown): string {
  return structure.kind === 'list' ? keyElement(structure.type, structure.keys, element) : valueElement(element);
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
