/** Sets declared defaults of absent fields. */
import { copyJson } from '#apimachinery/collections/copy.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** True if the feature gate is on. */
type Gate = (name: string) => boolean;
type Members = Record<string, unknown>;

/** A field with a default. */
interface Filled {
  readonly name: string;
  readonly value: unknown;
  /** The field cannot distinguish absent from empty: an empty value is defaulted. */
  readonly orEmpty: boolean;
  /** The field is defaulted only while this gate is on. */
  readonly gate: string | undefined;
}

/** A field with defaults inside, possibly of the type that contains it: resolved only for present values. */
class Part {
  readonly name: string;
  readonly isSingle: boolean;
  readonly #type: TypeInfo;
  #defaults: Defaults | undefined;

  constructor(name: string, container: FieldInfo['container'], type: TypeInfo) {
    this.name = name;
    this.isSingle = container === 'single';
    this.#type = type;
  }

  get defaults(): Defaults {
    this.#defaults ??= defaultsOf(this.#type);
    return this.#defaults;
  }
}

/** The defaults of a type and the fields that lead to further defaults; all other fields are omitted. */
class Defaults {
  readonly filled: Filled[] = [];
  readonly parts: Part[] = [];

  fill(object: Members, gate: Gate): void {
    for (const { name, value, orEmpty, gate: own } of this.filled) {
      const now = object[name];
      if (now !== undefined && !(orEmpty && isEmpty(now))) continue;
      if (own === undefined || gate(own)) object[name] = typeof value === 'object' ? copyJson(value) : value;
    }
    for (const part of this.parts) {
      const value = object[part.name];
      if (typeof value !== 'object' || value === null) continue;
      if (part.isSingle) part.defaults.fill(value as Members, gate);
      else for (const element of Array.isArray(value) ? value : Object.values(value)) part.defaults.fill(element, gate);
    }
  }
}

function isEmpty(value: unknown): boolean {
  return value === '' || value === 0 || (Array.isArray(value) && value.length === 0);
}

/** Computed once per type. */
const defaultsOf: (type: TypeInfo) => Defaults = oncePer((type: TypeInfo) => {
  const defaults = new Defaults();
  for (const field of type.byName.values()) {
    const { name, container, default: value, pointer, featureGate: gate } = field;
    if (value !== undefined) defaults.filled.push({ name, value, orEmpty: !pointer, gate });
    if (field.type !== undefined && hasDefaults(field.type, new Set())) {
      defaults.parts.push(new Part(name, container, field.type));
    }
  }
  return defaults;
});

/** Whether the type or a part of it has defaults; `looked`: types already visited. */
function hasDefaults(type: TypeInfo, looked: Set<TypeInfo>): boolean {
  if (looked.has(type)) return false;
  looked.add(type);
  return [...type.byName.values()].some(
    (field) => field.default !== undefined || (field.type !== undefined && hasDefaults(field.type, looked)),
  );
}

/** Sets defaults in an object of the type and all its present parts, in place. */
export function fillDefaults(type: TypeInfo, object: object, gate: Gate): void {
  defaultsOf(type).fill(object as Members, gate);
}
