/** All fields of a kind, each with its place in a sample. */
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';
import {
  plausibleElement,
  plausibleField,
  plausibleKey,
  type Unions,
} from '#test/integration/apiserver/peer/generate/plausible.js';

export interface FieldPlace {
  /** Member names, 0 for a list's element, a key for a map's. */
  readonly path: readonly (string | number)[];
  /** Undefined for a member that no field describes. */
  readonly field: FieldInfo | undefined;
  /** True if no earlier place has a field of the same message type. */
  readonly first: boolean;
}

/** Collects places; one collector serves all kinds, to know the types already seen. */
export class FieldWalk {
  readonly #seen = new Set<string>();
  readonly #unions: Unions;

  constructor(unions: Unions) {
    this.#unions = unions;
  }

  /** In an order that depends only on the type and the sample. */
  places(type: TypeInfo, sample: object): FieldPlace[] {
    return [...this.#ofMessage(type, sample, { path: [], within: [] })];
  }

  *#ofMessage(
    type: TypeInfo,
    sample: unknown,
    { path, within }: { readonly path: FieldPlace['path']; readonly within: readonly string[] },
  ): Generator<FieldPlace> {
    // Recursive types are followed two levels deep.
    if (within.filter((name) => name === type.name).length > (within.length > 6 ? 0 : 1)) return;
    const first = !this.#seen.has(type.name);
    this.#seen.add(type.name);
    const deeper = [...within, type.name];
    yield { path: [...path, 'odd'], field: undefined, first };
    for (const [name, field] of type.byName) {
      if (path.length === 0 && (name === 'apiVersion' || name === 'kind')) continue;
      const place = [...path, name];
      const value = member(sample, name);
      yield { path: place, field, first };
      if (field.type?.shape !== 'struct') continue;
      const step = field.container === 'list' ? 0 : field.container === 'map' ? keyOf(field, value) : undefined;
      const inner = step === undefined ? value : member(value, step);
      yield* this.#ofMessage(field.type, inner, {
        path: step === undefined ? place : [...place, step],
        within: deeper,
      });
    }
  }

  /** The sample with another value at the place; missing parents are created. Undefined removes it. */
  placed(type: TypeInfo, sample: object, path: FieldPlace['path'], value: unknown): object {
    return this.#place(type, structuredClone(sample) as Record<string, unknown>, path, value) as object;
  }

  #place(type: TypeInfo, message: Record<string, unknown>, path: FieldPlace['path'], value: unknown): unknown {
    const [name = '', ...rest] = path as [string, ...(string | number)[]];
    const field = type.byName.get(name);
    this.#makeRoom(type, message, name);
    if (rest.length === 0 || field?.type === undefined) return withMember(message, name, value);
    const present = message[name] ?? plausibleField(field, this.#unions);
    if (field.container === 'single') {
      return withMember(message, name, this.#place(field.type, present as Record<string, unknown>, rest, value));
    }
    const [step = 0, ...inner] = rest;
    const held = present as Record<string | number, unknown>;
    const element = (member(held, step) ?? plausibleElement(field, this.#unions)) as Record<string, unknown>;
    held[step] = inner.length === 0 ? value : this.#place(field.type, element, inner, value);
    return withMember(message, name, held);
  }

  /** Removes members that exclude this one. */
  #makeRoom(type: TypeInfo, message: Record<string, unknown>, name: string): void {
    const members = this.#unions.get(type.name);
    if (members === undefined || !members.includes(name)) return;
    for (const other of members) if (other !== name) delete message[other];
  }
}

function keyOf(field: FieldInfo, value: unknown): string {
  const [key] = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  return key ?? plausibleKey(field);
}

/** The value at a place of a sample; undefined if absent. */
export function valueAt(sample: unknown, path: FieldPlace['path']): unknown {
  return path.reduce(member, sample);
}

function member(value: unknown, name: string | number): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function withMember(message: Record<string, unknown>, name: string, value: unknown): Record<string, unknown> {
  if (value === undefined) delete message[name];
  else message[name] = value;
  return message;
}
