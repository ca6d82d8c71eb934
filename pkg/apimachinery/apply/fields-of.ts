/** The paths that an applied configuration speaks of. */
import { type FieldSet, FieldSetBuilder, pathText } from '#apimachinery/apply/field-set.js';
import {
  asList,
  asObject,
  type ElementsStructure,
  elementOf,
  hasNoParts,
  partStructure,
  type Structure,
  structureOf,
} from '#apimachinery/apply/structure.js';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { checkEntries } from '#apimachinery/codec/json/size-limit.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

class Collector {
  readonly builder = new FieldSetBuilder();
  readonly #path: string[] = [];

  #below(element: string, value: unknown, structure: Structure, isPart: boolean): void {
    this.#path.push(element);
    this.#value(value, structure);
    if (isPart || (typeof value === 'object' && !Array.isArray(value) && hasNoParts(value)))
      this.builder.insert(this.#path);
    this.#path.pop();
  }

  #value(value: unknown, structure: Structure): void {
    switch (structure.kind) {
      case 'leaf':
        this.builder.insert(this.#path);
        return;
      case 'struct':
        this.struct(structure.type, value);
        return;
      case 'map': {
        const element = structure.element;
        const entries = Object.entries(asObject(value));
        checkEntries(entries.length);
        for (const [name, part] of entries) this.#below(`f:${name}`, part, element, true);
        return;
      }
      case 'set':
      case 'list':
        this.#list(structure, asList(value));
        return;
    }
  }

  struct(type: TypeInfo, value: unknown): void {
    for (const [name, part] of Object.entries(asObject(value))) {
      this.#below(`f:${name}`, part, structureOf(type.byName.get(name)), false);
    }
  }

  #list(structure: ElementsStructure, list: readonly unknown[]): void {
    const element = partStructure(structure);
    checkEntries(list.length);
    for (const part of list) this.#below(elementOf(structure, part), part, element, true);
  }
}

/** The set of all paths of an object of the type, members of lists and maps included. */
export function fieldsOf(type: TypeInfo, object: unknown): FieldSet {
  const collector = new Collector();
  collector.struct(type, object);
  return collector.builder.set;
}

/** Throws a DecodeError for lists that name an element twice or not at all. */
export function checkUnique(type: TypeInfo, object: unknown, path = ''): void {
  for (const [name, value] of Object.entries(asObject(object))) {
    checkValue(structureOf(type.byName.get(name)), value, `${path}.${name}`);
  }
}

function checkValue(structure: Structure, value: unknown, path: string): void {
  switch (structure.kind) {
    case 'leaf':
      return;
    case 'struct':
      checkUnique(structure.type, value, path);
      return;
    case 'map':
      for (const [name, part] of Object.entries(asObject(value))) {
        checkValue(structure.element, part, `${path}.${name}`);
      }
      return;
    case 'set':
    case 'list': {
      const seen = new Set<string>();
      for (const part of asList(value)) {
        const key = elementOf(structure, part);
        if (structure.kind === 'list') checkKeys(structure, part, path);
        if (seen.has(key)) throw new DecodeError(`${path}: duplicate entries for key ${pathText([key])}`);
        seen.add(key);
        checkValue(partStructure(structure), part, `${path}${pathText([key])}`);
      }
      return;
    }
  }
}

function checkKeys(structure: Structure & { kind: 'list' }, element: unknown, path: string): void {
  const object = asObject(element);
  const missing = structure.keys.filter(
    (key) => object[key] === undefined && structure.type.byName.get(key)?.default === undefined,
  );
  if (missing.length > 0) {
    throw new DecodeError(
      `${path}: associative list with keys has an element that omits key field ${JSON.stringify(missing[0])}`,
    );
  }
}
