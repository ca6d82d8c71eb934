/** A lower bound of an object's stored JSON size, at a fraction of the cost of serializing it. */

import {
  asObject,
  type ElementsStructure,
  isInsignificantMember,
  type JsonObject,
  type Member,
  partStructure,
  type Structure,
  structOf,
  structureFor,
} from '#apimachinery/apply/structure.js';
import { isJsonObject } from '#apimachinery/codec/json/walk.js';
import { jsonEqual } from '#apimachinery/patch/json-values.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/**
 * A lower bound of the bytes of the object's JSON, or any number above `enough` once it is exceeded. With a type,
 * includes the managedFields entry of a single manager of all fields; unmanaged fields (`status`, …) must be small.
 */
export function minimumSize(object: object, enough: number, managedAs?: TypeInfo): number {
  const count = new Count(enough);
  count.value(object, managedAs === undefined ? undefined : structOf(managedAs));
  return count.bytes;
}

/** `"f:":{},` around a name. */
const memberBytes = 8;
/** `"k:{\"\":}":{},` around a name and a value, or `"v:":{},` around a value. */
const elementBytes = 8;
/** The counted size of `[]` and `{}`. */
const emptyBytes = 1;
/** `{".":{}}` without the braces, which are counted already. */
const selfBytes = 6;

/** Every character is at least one byte, and every number or literal at least one character. */
class Count {
  bytes = 0;
  readonly #enough: number;

  constructor(enough: number) {
    this.#enough = enough;
  }

  /** `structure`: how the value is managed; undefined if its fields are not counted. */
  value(value: unknown, structure: Structure | undefined): void {
    if (typeof value === 'string') this.bytes += value.length + 2;
    else if (typeof value !== 'object' || value === null) this.bytes++;
    else if (Array.isArray(value)) this.#list(value, structure);
    else this.#object(value as JsonObject, structure);
  }

  #object(object: JsonObject, declared: Structure | undefined): void {
    const structure = declared && structureFor(declared, object);
    this.bytes++;
    const members = structure?.kind === 'struct' ? structure.members : undefined;
    const element = structure?.kind === 'map' ? structure.element : undefined;
    for (const name in object) {
      const value = object[name];
      if (value === undefined) continue;
      if (this.bytes > this.#enough) return;
      // Two quotes, a colon, and a comma or closing brace.
      this.bytes += name.length + 4;
      if (members !== undefined) {
        this.#member(members.of(name), name, value);
      } else {
        if (element !== undefined) this.bytes += name.length + memberBytes;
        this.value(value, element);
      }
    }
  }

  #member(member: Member, name: string, value: unknown): void {
    const isPart = typeof value === 'object' && value !== null;
    // Asking a map whether it is empty costs as much as its size, so its byte count tells it instead. An empty message
    // may have the same value there.
    const managed = isPart
      ? !member.unseen && !isAsEmpty(member, value)
      : !isInsignificantMember(member, value) && value !== member.whenEmpty;
    const before = this.bytes;
    this.value(value, managed ? member.structure : undefined);
    const isEmpty = isPart && this.bytes - before <= emptyBytes;
    // A message may contain no managed field.
    if (managed && !isEmpty && member.structure.kind !== 'struct') this.bytes += name.length + memberBytes;
  }

  #list(list: readonly unknown[], structure: Structure | undefined): void {
    this.bytes++;
    const elements = structure?.kind === 'list' || structure?.kind === 'set' ? structure : undefined;
    // Elements with equal keys are managed as one.
    const seen = new Set<unknown>();
    // The last of equal elements counts.
    for (let i = list.length - 1; i >= 0; i--) {
      const value = list[i];
      if (this.bytes > this.#enough) return;
      this.bytes++;
      const key = elements === undefined ? undefined : keyOf(elements, value);
      if (elements === undefined || seen.has(key)) this.value(value, undefined);
      else {
        seen.add(key);
        this.bytes += elementBytes + (typeof key === 'string' ? key.length : 1);
        if (elements.kind === 'list' && isPresent(key)) this.bytes += selfBytes;
        this.value(value, partStructure(elements));
      }
    }
  }
}

/** An atomic value that equals the value in an empty message. */
function isAsEmpty({ structure, whenEmpty }: Member, value: object): boolean {
  return structure.kind === 'leaf' && isJsonObject(whenEmpty) && jsonEqual(value, whenEmpty);
}

/** An omitted key is not a member of its element. */
function isPresent(key: unknown): boolean {
  return key !== undefined && key !== '' && key !== 0 && key !== false;
}

/** A cheap approximation of the element's key. */
function keyOf(structure: ElementsStructure, element: unknown): unknown {
  return structure.kind === 'set' ? element : asObject(element)[structure.keys[0] ?? ''];
}
