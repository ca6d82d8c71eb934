/** How large an object is at least once it is stored as JSON, found out in a fraction of the time that storing it takes. */

import {
  asObject,
  type ElementsStructure,
  isSilent,
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
 * A number of bytes that the object's JSON does not fall short of, or anything above `enough` as soon as that is known.
 * With a type also the bytes of the set of its fields that a single manager of all of them has; what is never managed
 * (`status`, what the server fills in) has to be little.
 */
export function leastBytes(object: object, enough: number, managedAs?: TypeInfo): number {
  const count = new Count(enough);
  count.value(object, managedAs === undefined ? undefined : structOf(managedAs));
  return count.bytes;
}

/** `"f:":{},` around a name. */
const memberBytes = 8;
/** `"k:{\"\":}":{},` around a name and a value, or `"v:":{},` around a value. */
const elementBytes = 8;
/** What `[]` and `{}` count as. */
const emptyBytes = 1;
/** `{".":{}}`, of which the braces are counted already. */
const selfBytes = 6;

/** Every character is a byte at least, and every number and literal a character. */
class Count {
  bytes = 0;
  readonly #enough: number;

  constructor(enough: number) {
    this.#enough = enough;
  }

  /** `structure`: that of the managed fields; undefined where none are counted. */
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
      // Two quotes, a colon, and a comma or the brace at the end.
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
    // To ask a map whether it is empty takes as long as it is large: its bytes say it, too.
    // An empty message may have the same in its place.
    const managed = isPart
      ? !member.unseen && !isAsEmpty(member, value)
      : !isSilent(member, value) && value !== member.whenEmpty;
    const before = this.bytes;
    this.value(value, managed ? member.structure : undefined);
    const isEmpty = isPart && this.bytes - before <= emptyBytes;
    // A message may have nothing in it that anybody manages.
    if (managed && !isEmpty && member.structure.kind !== 'struct') this.bytes += name.length + memberBytes;
  }

  #list(list: readonly unknown[], structure: Structure | undefined): void {
    this.bytes++;
    const elements = structure?.kind === 'list' || structure?.kind === 'set' ? structure : undefined;
    // Elements that nothing tells apart are managed as one.
    const seen = new Set<unknown>();
    // Of these the last one counts.
    for (let i = list.length - 1; i >= 0; i--) {
      const value = list[i];
      if (this.bytes > this.#enough) return;
      this.bytes++;
      const key = elements === undefined ? undefined : keyOf(elements, value);
      if (elements === undefined || seen.has(key)) this.value(value, undefined);
      else {
        seen.add(key);
        this.bytes += elementBytes + (typeof key === 'string' ? key.length : 1);
        if (elements.kind === 'list' && isSaid(key)) this.bytes += selfBytes;
        this.value(value, partStructure(elements));
      }
    }
  }
}

/** One piece that is what an empty message has in its place. */
function isAsEmpty({ structure, whenEmpty }: Member, value: object): boolean {
  return structure.kind === 'leaf' && isJsonObject(whenEmpty) && jsonEqual(value, whenEmpty);
}

/** A key that says nothing is no member of its element. */
function isSaid(key: unknown): boolean {
  return key !== undefined && key !== '' && key !== 0 && key !== false;
}

/** What tells an element apart from most others. */
function keyOf(structure: ElementsStructure, element: unknown): unknown {
  return structure.kind === 'set' ? element : asObject(element)[structure.keys[0] ?? ''];
}
