/** Rules of lists that merge by element: sets, and maps with key fields. */

import { extensionsOf } from '#api/apiextensions/v1/structural/schema-extensions.js';
import type { JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { isList } from '#apimachinery/is-list.js';
import { repeatedAt } from '#apimachinery/validation/checks.js';
import { addAll, forbiddenField, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

const listTypes = ['atomic', 'set', 'map'];

export function validateListType(schema: JSONSchemaProps, dialect: Dialect, path: FieldPath): FieldFailure[] {
  const { listType, listMapKeys } = extensionsOf(schema, dialect);
  const typeName = `${dialect.extensionPrefix}list-type`;
  const failures: FieldFailure[] = [];
  if (listType !== undefined) {
    const type = schema.type ?? '';
    const text = `must be array if ${typeName} is specified`;
    if (type === '') failures.push(required(path.child('type'), text));
    else if (type !== 'array') failures.push(invalidValue(path.child('type'), type, text));
    if (!listTypes.includes(listType)) failures.push(notSupported(path.child(typeName), listType, listTypes));
  }
  if (listMapKeys.length > 0 && listType !== 'map') {
    const text = `must be map if ${dialect.extensionPrefix}list-map-keys is non-empty`;
    const at = path.child(typeName);
    failures.push(listType === undefined ? required(at, text) : invalidValue(at, listType, text));
  }
  if (listType === 'map') addAll(failures, validateMap(schema, dialect, path));
  if (listType !== 'map' && listType !== 'set') return failures;
  const { items } = schema;
  if (items === undefined || isList(items)) return failures;
  if (items.nullable === true) {
    failures.push(
      forbiddenField(path.child('items', 'nullable'), `cannot be nullable when ${typeName} is ${listType}`),
    );
  }
  if (listType === 'set') addAll(failures, validateSet(schema, items, dialect, path.child('items')));
  return failures;
}

function validateMap(schema: JSONSchemaProps, dialect: Dialect, path: FieldPath): FieldFailure[] {
  const keys = extensionsOf(schema, dialect).listMapKeys;
  const keysPath = path.child(`${dialect.extensionPrefix}list-map-keys`);
  const typeName = `${dialect.extensionPrefix}list-type`;
  const { items } = schema;
  const at = path.child('items');
  const failures: FieldFailure[] = [];
  if (keys.length === 0) failures.push(required(keysPath, `must not be empty if ${typeName} is map`));
  if (items === undefined) return [...failures, required(at, `must have a schema if ${typeName} is map`)];
  if (isList(items)) {
    return [...failures, invalidValue(at, items, `must only have a single schema if ${typeName} is map`)];
  }
  if (items.type !== 'object') {
    const text = `must be object if parent array's ${typeName} is map`;
    return [...failures, invalidValue(at.child('type'), items.type ?? '', text)];
  }
  const repeated = repeatedAt(keys);
  const needed = new Set(items.required);
  keys.forEach((key, i) => {
    addAll(failures, validateKey(key, { items, needed }, dialect, at.child('properties').key(key)));
    if (!Object.hasOwn(items.properties ?? {}, key)) {
      failures.push(invalidValue(keysPath, keys, 'entries must all be names of item properties'));
    }
    if (repeated.has(i)) failures.push(invalidValue(keysPath, keys, 'must not contain duplicate entries'));
  });
  return failures;
}

/** A key is a scalar that every element has. */
function validateKey(
  key: string,
  { items, needed }: { readonly items: JSONSchemaProps; readonly needed: ReadonlySet<string> },
  dialect: Dialect,
  path: FieldPath,
): FieldFailure[] {
  const properties = items.properties ?? {};
  const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
  if (property === undefined) return [];
  const keysName = `${dialect.extensionPrefix}list-map-keys`;
  const failures: FieldFailure[] = [];
  if (property.type === 'array' || property.type === 'object') {
    const text = `must be a scalar type if parent array's ${dialect.extensionPrefix}list-type is map`;
    failures.push(invalidValue(path.child('type'), property.type, text));
  }
  if (property.default === undefined && !needed.has(key)) {
    const text = `this property is in ${keysName}, so it must have a default or be a required property`;
    failures.push(required(path.child('default'), text));
  }
  if (property.nullable === true) {
    const text = `this property is in ${keysName}, so it cannot be nullable`;
    failures.push(forbiddenField(path.child('nullable'), text));
  }
  return failures;
}

/** Elements are compared as a whole, so they must be atomic. */
function validateSet(
  schema: JSONSchemaProps,
  items: JSONSchemaProps,
  dialect: Dialect,
  path: FieldPath,
): FieldFailure[] {
  if (schema.type !== 'array') return [];
  const prefix = dialect.extensionPrefix;
  const { mapType, listType } = extensionsOf(items, dialect);
  const text = `must be atomic as item of a list with ${prefix}list-type=set`;
  if (items.type === 'object' && mapType !== 'atomic') {
    return [invalidValue(path.child(`${prefix}map-type`), mapType, text)];
  }
  if (items.type === 'array' && listType !== undefined && listType !== 'atomic') {
    return [invalidValue(path.child(`${prefix}list-type`), listType, text)];
  }
  return [];
}
