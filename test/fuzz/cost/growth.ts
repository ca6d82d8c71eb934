/** Objects that are small except for one field: every list, map and text of every kind, grown to any size. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';
import { everyCase } from '#test/integration/apiserver/resources/every-case.js';
import type { AnyCase, Draft } from '#test/integration/apiserver/resources/resource-case.js';

type JsonObject = Record<string, unknown>;

/** The content of grown fields. Each leads validation down another path. */
export type Filling = 'distinct' | 'same' | 'bad' | 'address' | 'block' | 'qualified' | 'empty';

export interface GrowthPoint {
  readonly case: AnyCase;
  /** `spec.template.spec.containers[].ports[]`. */
  readonly path: string;
  /** The type and field that grows; many kinds share the same ones. */
  readonly field: string;
  readonly filling: Filling;
  /** The repeated piece of a text. */
  readonly text?: string;
  /** The object with `n` elements, members or pieces of text in that field. */
  object(n: number): Draft;
}

const listFillings: readonly Filling[] = ['distinct', 'same', 'bad', 'address', 'block', 'qualified', 'empty'];
const structFillings: readonly Filling[] = ['distinct', 'same', 'bad', 'empty'];
const mapFillings: readonly Filling[] = ['distinct', 'bad', 'qualified'];

/** Pieces of texts that parsers and patterns might scan repeatedly. */
const pieces = [
  'a',
  '0',
  '9',
  '.',
  'a.',
  '-',
  'a-',
  '/',
  ':',
  '::',
  '1:',
  '1.',
  ' ',
  '[',
  '(',
  '{',
  '%',
  '*/',
  ',',
  '=',
  'é',
  '\n',
  '1e',
  '+',
];

function textOf(filling: Filling, i: number): string {
  switch (filling) {
    case 'distinct':
      return `a${i}`;
    case 'same':
      return 'a';
    case 'bad':
      return `Bad Value ${i}!`;
    case 'address':
      return `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`;
    case 'block':
      return `10.${(i >> 8) & 255}.${i & 255}.0/24`;
    case 'qualified':
      return `example.com/a${i}`;
    case 'empty':
      return '';
  }
}

function scalarOf(field: FieldInfo, filling: Filling, i: number): unknown {
  switch (field.scalar) {
    case 'string':
      return field.enumValues?.[0] ?? textOf(filling, i);
    case 'bytes':
      return 'YQ==';
    case 'bool':
      return true;
    default:
      return filling === 'distinct' ? (i % 30_000) + 1 : 1;
  }
}

/** A value of a field: a list element, a map value, or the whole. */
function sample(field: FieldInfo, filling: Filling, i: number, depth = 0): unknown {
  const { type } = field;
  if (type === undefined) return scalarOf(field, filling, i);
  switch (type.shape) {
    case 'struct':
      return filling === 'empty' ? {} : structOf(type, filling, i, depth);
    case 'time':
      return '2024-01-01T00:00:00Z';
    case 'microTime':
      return '2024-01-01T00:00:00.000000Z';
    case 'duration':
      return '1s';
    case 'quantity':
      return '1';
    case 'intOrString':
      return 1;
    case 'rawJSON':
      return { a: i };
    case 'bareList':
      return [];
    case 'schemaOrArray':
    case 'schemaOrBool':
    case 'schemaOrStringArray':
      return {};
  }
}

function structOf(type: TypeInfo, filling: Filling, i: number, depth: number): JsonObject {
  const object: JsonObject = {};
  for (const field of type.byName.values()) {
    if (field.container !== 'single' || (field.type !== undefined && (field.optional || depth > 2))) continue;
    if (field.scalar === 'string' || !field.optional) object[field.name] = sample(field, filling, i, depth + 1);
  }
  return object;
}

interface Place {
  readonly path: string;
  readonly owner: TypeInfo;
  readonly field: FieldInfo;
  /** The object that contains the field, created if absent. */
  holder(object: JsonObject): JsonObject;
}

const maxDepth = 9;

/** Every list, map and text below a type; recursive types are entered once. */
function* placesBelow(
  type: TypeInfo,
  place: Pick<Place, 'path' | 'holder'>,
  above: readonly TypeInfo[],
): Generator<Place> {
  if (above.includes(type) || above.length > maxDepth) return;
  for (const field of type.byName.values()) {
    const path = place.path === '' ? field.name : `${place.path}.${field.name}`;
    if (path === 'metadata.managedFields') continue;
    const inner = field.type?.shape === 'struct' ? field.type : undefined;
    if (field.container !== 'single' || (inner === undefined && field.scalar !== 'bool'))
      yield { path, owner: type, field, holder: place.holder };
    if (inner === undefined) continue;
    const holder = (object: JsonObject) => enter(place.holder(object), field);
    const suffix = field.container === 'list' ? '[]' : field.container === 'map' ? '{}' : '';
    yield* placesBelow(inner, { path: path + suffix, holder }, [...above, type]);
  }
}

/** The message in a member or in its first element. */
function enter(object: JsonObject, field: FieldInfo): JsonObject {
  const present = object[field.name];
  if (field.container === 'list') {
    const list = Array.isArray(present) && present.length > 0 ? present : [sample(field, 'same', 0)];
    object[field.name] = list;
    return list[0] as JsonObject;
  }
  if (field.container === 'map') {
    const map = (present ?? { a: sample(field, 'same', 0) }) as JsonObject;
    object[field.name] = map;
    return Object.values(map)[0] as JsonObject;
  }
  object[field.name] ??= sample(field, 'same', 0);
  return object[field.name] as JsonObject;
}

function grown(field: FieldInfo, filling: Filling, n: number): unknown {
  const indexes = Array.from({ length: n }, (_, i) => i);
  if (field.container === 'list') return indexes.map((i) => sample(field, filling, i));
  const keyFilling = filling === 'qualified' || filling === 'bad' ? filling : 'distinct';
  return Object.fromEntries(indexes.map((i) => [textOf(keyFilling, i), sample(field, filling, i)]));
}

function* pointsOf(of: AnyCase, scheme: Scheme, dialect: Dialect): Generator<GrowthPoint> {
  const { group, version, kind } = of.resource;
  const type = scheme.kind(dialect.apiVersion(group, version), kind)?.type;
  if (type === undefined) throw new Error(`no kind ${kind}`);
  for (const { path, owner, field, holder } of placesBelow(type, { path: '', holder: (object) => object }, [])) {
    const withValue = (value: unknown) => {
      const draft = of.object(dialect);
      holder(draft as JsonObject)[field.name] = value;
      return draft;
    };
    const name = `${owner.name}.${field.name}`;
    if (field.container === 'single') {
      for (const text of pieces) {
        yield { case: of, path, field: name, filling: 'same', text, object: (n) => withValue(text.repeat(n)) };
      }
      continue;
    }
    const fillings =
      field.container === 'map' ? mapFillings : field.type?.shape === 'struct' ? structFillings : listFillings;
    for (const filling of fillings) {
      yield { case: of, path, field: name, filling, object: (n) => withValue(grown(field, filling, n)) };
    }
  }
}

/** All places of all stored resources; a place that kinds share is listed once, for the first kind. */
export function growthPoints(scheme: Scheme, dialect: Dialect): GrowthPoint[] {
  const seen = new Set<string>();
  return everyCase
    .flatMap((of) => [...pointsOf(of, scheme, dialect)])
    .filter(({ field, filling, text }) => {
      const key = JSON.stringify([field, filling, text]);
      if (seen.has(key)) return false;
      seen.add(key);
      return true;
    });
}
