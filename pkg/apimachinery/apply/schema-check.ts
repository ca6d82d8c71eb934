/** Checks the shape of an object that was not decoded against its type. */

import { pathText } from '#apimachinery/apply/field-set.js';
import { keyDefault } from '#apimachinery/apply/path-elements.js';
import { asObject, elementOf, type ListStructure, memberStructure } from '#apimachinery/apply/structure.js';
import { isJsonObject, type JsonObject, maxDepth } from '#apimachinery/codec/json/walk.js';
import { goSyntax, goText, goTypeOf } from '#apimachinery/errors/go-value.js';
import type { Scalar } from '#apimachinery/schema/schema.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** The maximum number of reported faults. */
const maxFaults = 10;

/**
 * The faults in the words of structured-merge-diff: `.spec: expected map, got &{x}`, in the order of members, limited
 * to the first ones. Null counts as absent.
 */
export function shapeFaults(type: TypeInfo, object: Readonly<JsonObject>): readonly string[] {
  const check = new Check();
  check.members(type, object);
  return check.faults;
}

/** The faults as one text. */
export function faultText(faults: readonly string[]): string {
  const [first = '', ...others] = faults;
  return others.length === 0 ? first : `errors:\n${faults.map((fault) => `  ${fault}`).join('\n')}`;
}

class Check {
  readonly faults: string[] = [];
  readonly #path: string[] = [];

  members(type: TypeInfo, object: Readonly<JsonObject>): void {
    if (this.#path.length > maxDepth) {
      this.#fault('exceeded max depth');
      return;
    }
    for (const [name, value] of Object.entries(object)) {
      if (this.faults.length >= maxFaults) return;
      const field = type.byName.get(name);
      const isNamed = type.isKind && (name === 'apiVersion' || name === 'kind');
      this.#path.push(`f:${name}`);
      if (field !== undefined) this.#field(type, field, value);
      else if (isNamed) this.#scalar('string', value);
      else if (!type.preserveUnknown) this.#fault('field not declared in schema');
      this.#path.pop();
      // Skips the remaining members, as structured-merge-diff does.
      if (field === undefined && !isNamed && !type.preserveUnknown) return;
    }
  }

  #field(owner: TypeInfo | undefined, field: FieldInfo, value: unknown): void {
    if (value === null || value === undefined) return;
    if (field.container === 'single') this.#value(field, value);
    else if (field.container === 'map') {
      if (!isJsonObject(value)) this.#unexpected('map', value);
      else for (const [key, part] of Object.entries(value)) this.#part(field, `f:${key}`, part);
    } else if (!Array.isArray(value)) this.#unexpected('list', value);
    else {
      const structure = owner && memberStructure(owner, field.name);
      const seen = new Set<string>();
      const hasEdges = structure?.kind === 'list' || structure?.kind === 'set';
      for (const [i, part] of value.entries()) {
        if (structure?.kind === 'list' && !isJsonObject(part)) {
          const what = part === null ? 'a null element' : 'non-map elements';
          this.#fault(`element ${i}: associative list with keys may not have ${what}`);
          return;
        }
        const missing = structure?.kind === 'list' ? missingKey(structure, asObject(part)) : undefined;
        if (missing !== undefined) {
          const what = `an element that omits key field ${JSON.stringify(missing)} (and doesn't have default value)`;
          this.#fault(`element ${i}: associative list with keys has ${what}`);
          return;
        }
        const edge = hasEdges ? elementOf(structure, part) : `i:${i}`;
        if (seen.has(edge)) this.#fault(`duplicate entries for key ${pathText([edge])}`);
        seen.add(edge);
        this.#part(field, edge, part);
      }
    }
  }

  #part(field: FieldInfo, edge: string, part: unknown): void {
    if (this.faults.length >= maxFaults) return;
    this.#path.push(edge);
    if (field.element === undefined) this.#value(field, part);
    else this.#field(undefined, field.element, part);
    this.#path.pop();
  }

  /** Formatted text such as times may have any type here: schemas do not restrict it before decoding. */
  #value({ scalar, type }: FieldInfo, value: unknown): void {
    if (value === null || value === undefined) return;
    if (scalar !== undefined) this.#scalar(scalar, value);
    else if (type?.shape === 'struct') {
      if (isJsonObject(value)) this.members(type, asObject(value));
      else this.#unexpected('map', value);
    } else if (type?.shape === 'duration') this.#scalar('string', value);
    else if (type?.shortName === 'FieldsV1' && !isJsonObject(value)) this.#unexpected('map', value);
  }

  #scalar(scalar: Scalar, value: unknown): void {
    if (value === null || value === undefined) return;
    switch (scalar) {
      case 'string':
      case 'bytes':
        if (typeof value !== 'string')
          this.#fault(`expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`);
        return;
      case 'bool':
        if (typeof value !== 'boolean') this.#fault(`expected boolean, got &{${goText(value)}}`);
        return;
      default:
        if (isWrongNumber(value)) this.#fault(`expected numeric (int or float), got ${goTypeOf(value)}`);
    }
  }

  #unexpected(what: 'map' | 'list', value: unknown): void {
    this.#fault(`expected ${what}, got &{${goText(value)}}`);
  }

  #fault(text: string): void {
    this.faults.push(`${pathText(this.#path)}: ${text}`);
  }
}

function missingKey({ keys, type }: ListStructure, element: Readonly<JsonObject>): string | undefined {
  return keys.find((key) => element[key] === undefined && keyDefault(type.byName.get(key)) === undefined);
}

function isWrongNumber(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'boolean' || isJsonObject(value) || Array.isArray(value);
}
