/** Rules of lists that merge by element: sets, and maps by keys of their elements. */
import { extensionsOf } from '#api/apiextensions/v1/customresourcedefinition/schema-extensions.js';
import type { JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { forbiddenField, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

const listTypes = ['atomic', 'map', 'set'];

export function validateListType(schema: JSONSchemaProps, dialect: Dialect, path: FieldPath): FieldFailure[] {
  const { listType, listMapKeys } = extensionsOf(schema, dialect);
  const typeName = `${dialect.extensionPrefix}list-type`;
  const keysName = `${dialect.extensionPrefix}list-map-keys`;
  const failures: FieldFailure[] = [];
  if (listType !== undefined) {
    const type = schema.type ?? '';
    const text = `must be array if ${typeName} is specified`;
    if (type === '') failures.push(required(path.child('type'), text));
    else if (type !== 'array') failures.push(invalidValue(path.child('type'), type, text));
    if (!listTypes.includes(listType)) failures.push(notSupported(path.child(typeName), listType, listTypes));
  }
  if (listMapKeys.length > 0 && listType !== 'map') {
    const text = `must be map if ${keysName} is non-empty`;
    const at = path.child(typeName);
    failures.push(listType === undefined ? required(at, text) : invalidValue(at, listType, text));
  }
  if (listType === 'map') failures.push(...validateMap(schema, dialect, path));
  if (listType === 'set') failures.push(...validateSet(schema, dialect, path));
  return failures;
}

function itemsOf(schema: JSONSchemaProps): JSONSchemaProps | undefined {
  return Array.isArray(schema.items) ? undefined : schema.items;
}

function validateMap(schema: JSONSchemaProps, dialect: Dialect, path: FieldPath): FieldFailure[] {
  const keys = extensionsOf(schema, dialect).listMapKeys;
  const keysPath = path.child(`${dialect.extensionPrefix}list-map-keys`);
  const typeName = `${dialect.extensionPrefix}list-type`;
  const failures: FieldFailure[] = [];
  if (keys.length === 0) failures.push(required(keysPath, `must not be empty if ${typeName} is map`));
  if (new Set(keys).size < keys.length)
    failures.push(invalidValue(keysPath, keys, 'must not contain duplicate entries'));
  const items = itemsOf(schema);
  const at = path.child('items');
  if (items === undefined) return [...failures, required(at, `must have a schema if ${typeName} is map`)];
  if (items.type !== 'object') {
    const text = `must be object if parent array's ${typeName} is map`;
    failures.push(invalidValue(at.child('type'), items.type ?? '', text));
  }
  if (items.nullable === true) {
    failures.push(forbiddenField(at.child('nullable'), `cannot be nullable when ${typeName} is map`));
  }
  return [...failures, ...keys.flatMap((key) => validateKey(key, items, dialect, { keysPath, itemsPath: at }))];
}

/** A key is a scalar that every element has. */
function validateKey(
  key: string,
  items: JSONSchemaProps,
  dialect: Dialect,
  { keysPath, itemsPath }: { keysPath: FieldPath; itemsPath: FieldPath },
): FieldFailure[] {
  const properties = items.properties ?? {};
  const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
  if (property === undefined) return [invalidValue(keysPath, key, 'entries must all be names of item properties')];
  const at = itemsPath.child('properties').key(key);
  const failures: FieldFailure[] = [];
  if (property.type === 'array' || property.type === 'object') {
    const text = `must be a scalar type if parent array's ${dialect.extensionPrefix}list-type is map`;
    failures.push(invalidValue(at.child('type'), property.type, text));
  }
  if (property.nullable === true) {
    failures.push(forbiddenField(at.child('nullable'), 'this property is a key of its list, so it cannot be nullable'));
  }
  if (property.default === undefined && !(items.required ?? []).includes(key)) {
    const name = `${dialect.extensionPrefix}list-map-keys`;
    const text = `this property is in ${name}, so it must have a default or be a required property`;
    failures.push(required(at.child('default'), text));
  }
  return failures;
}

/** Elements are compared as wholes, so they must be replaced as wholes. */
function validateSet(schema: JSONSchemaProps, dialect: Dialect, path: FieldPath): FieldFailure[] {
  const items = itemsOf(schema);
  if (items === undefined) return [];
  const at = path.child('items');
  const prefix = dialect.extensionPrefix;
  const { mapType, listType } = extensionsOf(items, dialect);
  const failures: FieldFailure[] = [];
  if (items.nullable === true) {
    failures.push(forbiddenField(at.child('nullable'), `cannot be nullable when ${prefix}list-type is set`));
  }
  const text = `must be atomic as item of a list with ${prefix}list-type=set`;
  if (items.type === 'object' && mapType !== 'atomic') {
    failures.push(
      mapType === undefined
        ? required(at.child(`${prefix}map-type`), text)
        : invalidValue(at.child(`${prefix}map-type`), mapType, text),
    );
  }
  if (items.type === 'array' && listType !== undefined && listType !== 'atomic') {
    failures.push(invalidValue(at.child(`${prefix}list-type`), listType, text));
  }
  return failures;
}
