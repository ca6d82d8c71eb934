/** Mutations of a single field, for every field of a valid object. */
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

export interface Mutation {
  /** Steps to the field. */
  readonly path: readonly (string | number)[];
  /** `absent`, `null`, `empty`, `negative`, … */
  readonly name: string;
  /** Undefined: the field is removed. */
  readonly value: unknown;
}

type Path = Mutation['path'];
type Values = Readonly<Record<string, unknown>>;

const bad = 'Bad Value!';
const long = 'a'.repeat(300);

/** Every mutation of a message's members, without those in `skip` at the top level. */
export function mutationsOf(type: TypeInfo, object: object, skip: readonly string[] = []): Mutation[] {
  return [...ofMessage(type, object, [], skip)];
}

function* ofMessage(type: TypeInfo, object: object, path: Path, skip: readonly string[] = []): Generator<Mutation> {
  yield { path: [...path, 'odd'], name: 'unknown', value: 1 };
  for (const [name, value] of Object.entries(object)) {
    const field = type.byName.get(name);
    if (field === undefined || skip.includes(name)) continue;
    yield* ofField(field, value, [...path, name]);
  }
}

function* ofField(field: FieldInfo, value: unknown, path: Path): Generator<Mutation> {
  yield* named(path, { absent: undefined, null: null });
  if (field.container === 'list') {
    const list = value as unknown[];
    yield* named(path, { empty: [], duplicate: [...list, list[0]], 'wrong type': 'x' });
    for (const [i, element] of list.entries()) yield* ofValue(field, element, [...path, i]);
  } else if (field.container === 'map') {
    const map = value as Record<string, unknown>;
    const [first] = Object.values(map);
    yield* named(path, { empty: {}, 'bad key': { ...map, 'Bad Key!': first }, 'long key': { [long]: first } });
    yield* named(path, { 'wrong type': 'x' });
    for (const [key, element] of Object.entries(map)) yield* ofValue(field, element, [...path, key]);
  } else yield* ofValue(field, value, path);
}

function* ofValue(field: FieldInfo, value: unknown, path: Path): Generator<Mutation> {
  if (field.type === undefined) yield* named(path, scalars(field, value));
  else if (field.type.shape !== 'struct') yield* named(path, shaped[field.type.shape] ?? {});
  else {
    yield* named(path, { empty: {}, 'wrong type': 'x' });
    yield* ofMessage(field.type, value as object, path);
  }
}

function scalars({ scalar }: FieldInfo, value: unknown): Values {
  switch (scalar) {
    case 'string':
      return { empty: '', bad, long, 'wrong type': 5 };
    case 'bytes':
      return { empty: '', bad };
    case 'bool':
      return { flipped: value !== true, 'wrong type': 'x' };
    case 'int32':
      return { zero: 0, negative: -1, huge: 2 ** 31 - 1, 'wrong type': 'x' };
    default:
      return { zero: 0, negative: -1, huge: Number.MAX_SAFE_INTEGER, 'wrong type': 'x' };
  }
}

const shaped: Readonly<Partial<Record<TypeInfo['shape'], Values>>> = {
  time: { bad, empty: '' },
  microTime: { bad, empty: '' },
  quantity: { zero: '0', negative: '-1', bad },
  intOrString: { zero: 0, negative: -1, huge: 70_000, percent: '200%', empty: '', bad },
  rawJSON: { number: 5 },
};

function* named(path: Path, values: Values): Generator<Mutation> {
  for (const [name, value] of Object.entries(values)) yield { path, name, value };
}

/** A copy of the object with the mutation. */
export function mutated<T extends object>(object: T, { path, value }: Mutation): T {
  const copy = structuredClone(object);
  const steps = [...path];
  const last = steps.pop() ?? '';
  let inner: object = copy;
  for (const step of steps) inner = Reflect.get(inner, step) as object;
  if (value !== undefined) Reflect.set(inner, last, value);
  else if (Array.isArray(inner)) inner.splice(Number(last), 1);
  else Reflect.deleteProperty(inner, last);
  return copy;
}

/** The value at the steps, undefined when there is none. */
export function valueAt(object: unknown, path: Path): unknown {
  let value = object;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Reflect.get(value, step);
  }
  return value;
}

/** `spec.ports[0].name`. */
export function textOf(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? step : /[./]/.test(step) ? `${text}[${step}]` : `${text}.${step}`;
  }, '');
}
