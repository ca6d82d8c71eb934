/**
 * Types of the Common Expression Language (CEL) and their assignability. Source: github.com/google/cel-go v0.10,
 * checker/{types,mapping}.go.
 */

interface Sized {
  /** The number of types in it, including itself. */
  readonly size: number;
}

export interface SimpleType extends Sized {
  readonly kind: 'primitive' | 'wellKnown' | 'null' | 'dyn' | 'error';
  readonly name: string;
}

export interface ListType extends Sized {
  readonly kind: 'list';
  readonly element: CelType;
}

export interface MapType extends Sized {
  readonly kind: 'map';
  readonly key: CelType;
  readonly value: CelType;
}

export interface ObjectType extends Sized {
  readonly kind: 'object';
  readonly name: string;
  /** Undefined if there is no such field. */
  field(name: string): CelType | undefined;
}

export interface TypeType extends Sized {
  readonly kind: 'type';
  readonly of: CelType | undefined;
}

/** A type variable: of a function's declaration, or of an empty literal. */
export interface TypeParam extends Sized {
  readonly kind: 'param';
  readonly name: string;
}

export type CelType = SimpleType | ListType | MapType | ObjectType | TypeType | TypeParam;

const simple = (kind: SimpleType['kind'], name: string): SimpleType => ({ kind, name, size: 1 });

export const types = {
  bool: simple('primitive', 'bool'),
  int: simple('primitive', 'int'),
  uint: simple('primitive', 'uint'),
  double: simple('primitive', 'double'),
  string: simple('primitive', 'string'),
  bytes: simple('primitive', 'bytes'),
  duration: simple('wellKnown', 'duration'),
  timestamp: simple('wellKnown', 'timestamp'),
  null: simple('null', 'null'),
  dyn: simple('dyn', 'dyn'),
  error: simple('error', '!error!'),
};

export const url: ObjectType = { kind: 'object', name: 'kubernetes.URL', size: 1, field: () => undefined };

export function listOf(element: CelType): ListType {
  return { kind: 'list', element, size: element.size + 1 };
}

export function mapOf(key: CelType, value: CelType): MapType {
  return { kind: 'map', key, value, size: key.size + value.size + 1 };
}

export function typeOf(of: CelType | undefined): TypeType {
  return { kind: 'type', of, size: (of?.size ?? 0) + 1 };
}

export function param(name: string): TypeParam {
  return { kind: 'param', name, size: 1 };
}

/** The type in error messages. */
export function format(type: CelType): string {
  switch (type.kind) {
    case 'list':
      return `list(${format(type.element)})`;
    case 'map':
      return `map(${format(type.key)}, ${format(type.value)})`;
    case 'type':
      return type.of === undefined ? 'type' : `type(${format(type.of)})`;
    case 'param':
      return protoText(type);
    case 'primitive':
    case 'wellKnown':
    case 'null':
    case 'dyn':
    case 'error':
    case 'object':
      return type.name;
  }
}

const protoNames: Readonly<Record<string, string>> = { int: 'INT64', uint: 'UINT64' };

/** The type in the one error message that shows 1.24's internal form. */
export function protoText(type: CelType): string {
  switch (type.kind) {
    case 'list':
      return `list_type:{elem_type:{${protoText(type.element)}}}`;
    case 'map':
      return `map_type:{key_type:{${protoText(type.key)}}  value_type:{${protoText(type.value)}}}`;
    case 'object':
      return `message_type:"${type.name}"`;
    case 'type':
      return `type:{${type.of === undefined ? '' : protoText(type.of)}}`;
    case 'param':
      return `type_param:"${type.name}"`;
    case 'primitive':
      return `primitive:${protoNames[type.name] ?? type.name.toUpperCase()}`;
    case 'wellKnown':
      return `well_known:${type.name.toUpperCase()}`;
    case 'null':
      return 'null:NULL_VALUE';
    case 'dyn':
      return 'dyn:{}';
    case 'error':
      return 'error:{}';
  }
}

export function same(a: CelType, b: CelType): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind || a.size !== b.size) return false;
  switch (a.kind) {
    case 'list':
      return b.kind === 'list' && same(a.element, b.element);
    case 'map':
      return b.kind === 'map' && same(a.key, b.key) && same(a.value, b.value);
    case 'type':
      return b.kind === 'type' && (a.of === undefined || b.of === undefined ? a.of === b.of : same(a.of, b.of));
    case 'primitive':
    case 'wellKnown':
    case 'null':
    case 'dyn':
    case 'error':
    case 'object':
    case 'param':
      return 'name' in b && a.name === b.name;
  }
}

/** Bindings of type parameters. Failed attempts are rolled back. */
export class Bindings {
  readonly #bound = new Map<string, CelType>();
  /** Changed bindings with their previous values, in order. */
  #changes: [name: string, before: CelType | undefined][] = [];

  find(type: CelType): CelType | undefined {
    return type.kind === 'param' ? this.#bound.get(type.name) : undefined;
  }

  #bind({ name }: TypeParam, to: CelType): void {
    this.#changes.push([name, this.#bound.get(name)]);
    this.#bound.set(name, to);
  }

  /** Whether each type of `from` is assignable to the type of `to` at its index. */
  assignAll(to: readonly CelType[], from: readonly CelType[]): boolean {
    this.#changes = [];
    if (to.length === from.length && to.every((type, i) => this.#assign(type, from[i] ?? types.error))) return true;
    for (const [name, before] of this.#changes.reverse()) {
      if (before === undefined) this.#bound.delete(name);
      else this.#bound.set(name, before);
    }
    return false;
  }

  assign(to: CelType, from: CelType): boolean {
    return this.assignAll([to], [from]);
  }

  #assign(to: CelType, from: CelType): boolean {
    if (same(to, from)) return true;
    if (from.kind === 'param') {
      const bound = this.find(from);
      if (bound !== undefined) {
        if (!this.#assign(to, bound)) return false;
        this.#bind(from, mostGeneral(to, bound));
        return true;
      }
      if (!this.#refersTo(from, to)) {
        this.#bind(from, to);
        return true;
      }
    }
    if (to.kind === 'param') {
      const bound = this.find(to);
      if (bound !== undefined) {
        if (!this.#assign(bound, from)) return false;
        this.#bind(to, mostGeneral(bound, from));
        return true;
      }
      if (!this.#refersTo(to, from)) {
        this.#bind(to, from);
        return true;
      }
    }
    return this.#assignKnown(to, from);
  }

  #assignKnown(to: CelType, from: CelType): boolean {
    if (isDynOrError(to) || isDynOrError(from)) return true;
    switch (to.kind) {
      case 'null':
        return from.kind === 'object' || from.kind === 'null' || from.kind === 'wellKnown';
      case 'list':
        return from.kind === 'list' && this.#assign(to.element, from.element);
      case 'map':
        return from.kind === 'map' && this.#assign(to.key, from.key) && this.#assign(to.value, from.value);
      case 'type':
        return from.kind === 'type';
      case 'primitive':
      case 'wellKnown':
      case 'object':
        return from.kind === to.kind && from.name === to.name;
      case 'dyn':
      case 'error':
      case 'param':
        return false;
    }
  }

  /** Whether the parameter occurs in the type, as far as it is known. */
  #refersTo(name: TypeParam, within: CelType): boolean {
    switch (within.kind) {
      case 'param': {
        if (within.name === name.name) return true;
        const bound = this.find(within);
        return bound !== undefined && this.#refersTo(name, bound);
      }
      case 'list':
        return this.#refersTo(name, within.element);
      case 'map':
        return this.#refersTo(name, within.key) || this.#refersTo(name, within.value);
      case 'primitive':
      case 'wellKnown':
      case 'null':
      case 'dyn':
      case 'error':
      case 'object':
      case 'type':
        return false;
    }
  }

  /**
   * Replaces parameters by their bindings. `unknown`: replaces unbound ones; absent: they stay. `resolved`: cached
   * results; reusable between calls only while no bindings change.
   */
  resolve(type: CelType, unknown?: CelType, resolved = new Map<string, CelType>()): CelType {
    switch (type.kind) {
      case 'param': {
        const before = resolved.get(type.name);
        if (before !== undefined) return before;
        const bound = this.find(type);
        const resolvedType = bound === undefined ? (unknown ?? type) : this.resolve(bound, unknown, resolved);
        resolved.set(type.name, resolvedType);
        return resolvedType;
      }
      case 'list':
        return bounded(listOf(this.resolve(type.element, unknown, resolved)));
      case 'map':
        return bounded(mapOf(this.resolve(type.key, unknown, resolved), this.resolve(type.value, unknown, resolved)));
      case 'type':
        return type.of === undefined ? type : bounded(typeOf(this.resolve(type.of, unknown, resolved)));
      case 'primitive':
      case 'wellKnown':
      case 'null':
      case 'dyn':
      case 'error':
      case 'object':
        return type;
    }
  }
}

/** Larger types become `dyn`: each step of an expression may double the size. */
export const maxTypeSize = 2000;

function bounded(type: CelType): CelType {
  return type.size > maxTypeSize ? types.dyn : type;
}

export function isDynOrError({ kind }: CelType): boolean {
  return kind === 'dyn' || kind === 'error';
}

export function mostGeneral(a: CelType, b: CelType): CelType {
  return isEqualOrLessSpecific(a, b) ? a : b;
}

function isEqualOrLessSpecific(a: CelType, b: CelType): boolean {
  if (a.kind === 'dyn' || a.kind === 'param') return true;
  if (b.kind === 'dyn' || b.kind === 'param') return false;
  if (a.kind === 'list') return b.kind === 'list' && isEqualOrLessSpecific(a.element, b.element);
  if (a.kind === 'map') {
    return b.kind === 'map' && isEqualOrLessSpecific(a.key, b.key) && isEqualOrLessSpecific(a.value, b.value);
  }
  return a.kind === 'type' ? b.kind === 'type' : same(a, b);
}
