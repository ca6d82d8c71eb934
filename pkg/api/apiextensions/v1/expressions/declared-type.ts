/**
 * CEL types of values declared in schemas, with their maximum sizes. Created on demand, because most rules use a small
 * part of a schema. Source: 1.24,
 * staging/src/k8s.io/apiextensions-apiserver/third_party/forked/celopenapi/model/schemas.go.
 */

import { escapeName } from '#api/apiextensions/v1/expressions/escaping.js';
import type { Structural } from '#api/apiextensions/v1/structural/structural.js';
import { type CelType, listOf, mapOf, type ObjectType, types } from '#apimachinery/cel/types.js';

export interface DeclaredType {
  readonly type: CelType;
  /** Number of elements, members or characters. */
  readonly maxSize: number;
  readonly element?: DeclaredType;
  readonly key?: DeclaredType;
  /** For objects; undefined if there is no such field. */
  field?(name: string): DeclaredType | undefined;
}

/** Maximum request size, which limits all values in it. */
const maxRequest = 3 * 1024 * 1024;
/** Objects count as the sum of their fields. */
const objectSize = 0;

const plain = (type: CelType, maxSize = 0): DeclaredType => ({ type, maxSize });
const text = plain(types.string, maxRequest - 2);

/** Fields of every API object that rules can see. */
const objectFields: ReadonlyMap<string, DeclaredType> = new Map([
  ['apiVersion', text],
  ['kind', text],
]);

/**
 * Undefined if rules cannot see such values. `isRoot`: an API object, whose kind, version, name and generateName are
 * always visible. `name`: the type's name in messages.
 */
export function declaredType(schema: Structural, isRoot: boolean, name: string): DeclaredType | undefined {
  if (schema.intOrString) return plain(types.dyn, maxRequest - 2);
  switch (schema.type) {
    case 'array':
      return listType(schema, name);
    case 'object':
      return typeof schema.additional === 'object'
        ? mapType(schema, schema.additional, name)
        : objectType(schema, isRoot, name);
    case 'string':
      return textType(schema);
    case 'boolean':
      return plain(types.bool);
    case 'number':
      return plain(types.double);
    case 'integer':
      return plain(types.int);
    default:
      return undefined;
  }
}

function listType(schema: Structural, name: string): DeclaredType | undefined {
  const { items } = schema;
  const element = items === undefined ? undefined : declaredType(items, items.isResource, `${name}.@idx`);
  if (items === undefined || element === undefined) return undefined;
  const maxSize = limit(schema.schema.maxItems) ?? Math.trunc((maxRequest - 2) / (minSizeOf(items) + 1));
  return { type: listOf(element.type), maxSize, element };
}

function mapType(schema: Structural, values: Structural, name: string): DeclaredType | undefined {
  const element = declaredType(values, values.isResource, `${name}.@elem`);
  if (element === undefined) return undefined;
  const maxSize = limit(schema.schema.maxProperties) ?? Math.trunc((maxRequest - 2) / (minSizeOf(values) + 6));
  return { type: mapOf(types.string, element.type), maxSize, element, key: plain(types.string) };
}

function objectType(schema: Structural, isRoot: boolean, name: string): DeclaredType {
  const fields = new Map<string, DeclaredType | undefined>();
  let escaped: ReadonlyMap<string, string> | undefined;
  const field = (fieldName: string): DeclaredType | undefined => {
    if (fields.has(fieldName)) return fields.get(fieldName);
    escaped ??= new Map(
      [...schema.properties.keys()].flatMap((key) => {
        const as = escapeName(key);
        return as === undefined ? [] : [[as, key] as const];
      }),
    );
    const declared =
      (isRoot ? fieldOfObject(fieldName, schema, name) : undefined) ??
      declaredField(schema, escaped.get(fieldName), `${name}.${fieldName}`);
    fields.set(fieldName, declared);
    return declared;
  };
  const type: ObjectType = { kind: 'object', name, size: 1, field: (one) => field(one)?.type };
  return { type, maxSize: objectSize, field };
}

function declaredField(schema: Structural, key: string | undefined, name: string): DeclaredType | undefined {
  const property = key === undefined ? undefined : schema.properties.get(key);
  return property === undefined ? undefined : declaredType(property, property.isResource, name);
}

/** An incomplete declaration of these fields in the schema is ignored. */
function fieldOfObject(fieldName: string, schema: Structural, name: string): DeclaredType | undefined {
  if (saysAllOfObject(schema)) return undefined;
  if (fieldName !== 'metadata') return objectFields.get(fieldName);
  const fields: ReadonlyMap<string, DeclaredType> = new Map([
    ['name', text],
    ['generateName', text],
  ]);
  const field = (one: string) => fields.get(one);
  const type: ObjectType = { kind: 'object', name: `${name}.metadata`, size: 1, field: (one) => field(one)?.type };
  return { type, maxSize: objectSize, field };
}

export function saysAllOfObject({ properties }: Structural): boolean {
  const metadata = properties.get('metadata');
  const texts = [
    properties.get('kind'),
    properties.get('apiVersion'),
    metadata?.properties.get('name'),
    metadata?.properties.get('generateName'),
  ];
  return metadata?.type === 'object' && texts.every((property) => property?.type === 'string');
}

function textType({ schema }: Structural): DeclaredType {
  const { format = '', maxLength } = schema;
  switch (format) {
    case 'byte':
      return plain(types.bytes, limit(maxLength) ?? maxRequest - 2);
    case 'duration':
      return plain(types.duration, 32);
    case 'date':
      return plain(types.timestamp, 12);
    case 'date-time':
      return plain(types.timestamp, 32);
    default: {
      const characters = limit(maxLength);
      return characters === undefined ? text : plain(types.string, characters * 4);
    }
  }
}

function limit(value: number | bigint | undefined): number | undefined {
  return value === undefined ? undefined : Math.max(Number(value), 0);
}

/** The minimum JSON size of a value in bytes. */
function minSizeOf(schema: Structural): number {
  switch (schema.type) {
    case 'boolean':
      return 4;
    case 'number':
    case 'integer':
      return 1;
    case 'string':
      return minTextSizes[schema.schema.format ?? ''] ?? 2;
    case 'array':
      return 2;
    case 'object': {
      let size = 2;
      for (const name of schema.schema.required ?? []) {
        const property = schema.properties.get(name);
        if (property === undefined || property.default !== undefined) continue;
        size += Buffer.byteLength(name) + minSizeOf(property) + 4;
      }
      return size;
    }
    default:
      return 1;
  }
}

const minTextSizes: Readonly<Record<string, number>> = { duration: 3, date: 12, 'date-time': 21 };

/** The maximum number of values of a schema in one object without other limits. */
export function maxCardinality(schema: Structural): number {
  return Math.trunc(maxRequest / (minSizeOf(schema) + 1));
}

/** The maximum size of the value at a path; undefined if it has none. The path begins with the variable. */
export function sizeAt(root: DeclaredType, path: readonly string[]): number | undefined {
  let current: DeclaredType | undefined = root;
  for (const name of path.slice(1)) {
    if (name === '@items' || name === '@values') current = current.element;
    else current = name === '@keys' ? current.key : current.field?.(name);
    if (current === undefined) return undefined;
  }
  return current.maxSize;
}
