/**
 * What changed between two versions of an object, as sets of paths. What one piece is to server-side apply is compared
 * as a whole. Rules of structured-merge-diff as of release 1.24.
 */
import { type FieldSet, FieldSetBuilder } from '#apimachinery/apply/field-set.js';
import {
  asList,
  asObject,
  edgeOf,
  elementOf,
  elementStructure,
  hasNoParts,
  type JsonObject,
  partStructure,
  present,
  type Structure,
  structureOf,
} from '#apimachinery/apply/structure.js';
import { saysNothing } from '#apimachinery/codec/json-walk.js';
import { jsonEqual, member } from '#apimachinery/patch/json-values.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
  readonly isSame: boolean;
}

class Comparer {
  readonly added = new FieldSetBuilder();
  readonly modified = new FieldSetBuilder();
  readonly removed = new FieldSetBuilder();
  isSame = true;
  readonly #path: string[] = [];

  #insert(into: FieldSetBuilder): void {
    this.isSame = false;
    if (this.#path.length > 0) into.insert(this.#path);
  }

  #below(element: string, left: unknown, right: unknown, structure: Structure): void {
    if (left === right) return;
    this.#path.push(element);
    this.#value(left, right, structure);
    this.#path.pop();
  }

  #value(left: unknown, right: unknown, structure: Structure): void {
    if (structure.kind === 'leaf' || (hasNoParts(left) && hasNoParts(right))) {
      this.#leaf(left, right);
      return;
    }
    switch (structure.kind) {
      case 'struct':
        this.struct(structure.type, left, right);
        break;
      case 'map':
        this.#map(elementStructure(structure.field), asObject(left), asObject(right));
        break;
      case 'set':
      case 'list':
        this.#list(structure, asList(left), asList(right));
        break;
    }
    if (left === undefined) this.#insert(this.added);
    else if (right === undefined) this.#insert(this.removed);
  }

  #leaf(left: unknown, right: unknown): void {
    if (left === undefined) this.#insert(this.added);
    else if (right === undefined) this.#insert(this.removed);
    else if (!jsonEqual(left, right)) this.#insert(this.modified);
  }

  struct(type: TypeInfo, left: unknown, right: unknown): void {
    const before = asObject(left);
    const after = asObject(right);
    for (const name in before) {
      const field = type.byName.get(name);
      this.#member(name, field, { left: before[name], right: present(field, after[name], right) });
    }
    for (const name in after) {
      if (Object.hasOwn(before, name)) continue;
      const field = type.byName.get(name);
      const value = after[name];
      // Zero and absent are the same to a field that cannot tell them apart.
      if (field !== undefined && saysNothing(field, value)) continue;
      this.#member(name, field, { left: present(field, undefined, left), right: value });
    }
  }

  #member(name: string, field: FieldInfo | undefined, { left, right }: { left: unknown; right: unknown }): void {
    this.#below(field === undefined ? `f:${name}` : edgeOf(field), left, right, structureOf(field));
  }

  #map(structure: Structure, left: JsonObject, right: JsonObject): void {
    for (const name of Object.keys(left)) this.#below(`f:${name}`, left[name], member(right, name), structure);
    for (const name of Object.keys(right)) {
      if (!Object.hasOwn(left, name)) this.#below(`f:${name}`, undefined, right[name], structure);
    }
  }

  #list(structure: Structure, left: readonly unknown[], right: readonly unknown[]): void {
    const element = partStructure(structure);
    const after = new Map(right.map((value) => [elementOf(structure, value), value]));
    for (const value of left) {
      const key = elementOf(structure, value);
      this.#below(key, value, after.get(key), element);
      after.delete(key);
    }
    for (const [key, value] of after) this.#below(key, undefined, value, element);
  }
}

/** Compares two objects of the type. */
export function compare(type: TypeInfo, left: JsonObject, right: JsonObject): Comparison {
  const comparer = new Comparer();
  comparer.struct(type, left, right);
  return {
    added: comparer.added.set,
    modified: comparer.modified.set,
    removed: comparer.removed.set,
    isSame: comparer.isSame,
  };
}
