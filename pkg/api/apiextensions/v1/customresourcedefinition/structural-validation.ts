/**
 * Structural schemas: every value has a type declared outside of `allOf`, `anyOf`, `oneOf` and `not`, which may only
 * restrict it further. Only such schemas support pruning, defaults and merging.
 */

import { PatternErrors } from '#api/apiextensions/v1/customresourcedefinition/pattern-errors.js';
import {
  type NarrowingRules,
  validateCompleteness,
  validateNarrowings,
} from '#api/apiextensions/v1/customresourcedefinition/value-validation.js';
import { extensionsOf } from '#api/apiextensions/v1/structural/schema-extensions.js';
import type { JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { isList } from '#apimachinery/is-list.js';
import { addAll, forbiddenField, invalidValue, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

type Level = 'root' | 'items' | 'field';

export function validateStructure(schema: JSONSchemaProps, dialect: Dialect, path: FieldPath): FieldFailure[] {
  const unreadable = unreadableMember(schema);
  if (unreadable !== undefined) {
    return [invalidValue(path, '', `OpenAPIV3Schema '${unreadable}' is not supported`)];
  }
  const failures = validateLevel(schema, 'root', { dialect, patterns: new PatternErrors() }, path);
  addAll(failures, validateCompleteness(schema, path));
  return inOrder(failures);
}

/** Sorted by message, as in 1.24. */
function inOrder(failures: readonly FieldFailure[]): FieldFailure[] {
  const rows = failures.map((failure) => ({ failure, text: `${failure.field}: ${failure.message}` }));
  return rows.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0)).map(({ failure }) => failure);
}

/** Whether the schema is structural. */
export function isStructural(schema: JSONSchemaProps, dialect: Dialect): boolean {
  return validateStructure(schema, dialect, FieldPath.of()).length === 0;
}

/** A member that a structural schema cannot have, in the words of 1.24; other members are refused earlier. */
function unreadableMember(schema: JSONSchemaProps): string | undefined {
  if ((schema.$schema ?? '') !== '') return 'schema';
  for (const part of partsOf(schema)) {
    const member = unreadableMember(part);
    if (member !== undefined) return member;
  }
  return undefined;
}

function partsOf(schema: JSONSchemaProps): readonly JSONSchemaProps[] {
  const { items, additionalProperties, properties = {}, allOf = [], anyOf = [], oneOf = [], not } = schema;
  const single = [items, additionalProperties, not].filter(
    (part): part is JSONSchemaProps => typeof part === 'object' && !isList(part),
  );
  return [...Object.values(properties), ...single, ...allOf, ...anyOf, ...oneOf];
}

const missingType: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  items: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

function validateLevel(schema: JSONSchemaProps, level: Level, rules: NarrowingRules, path: FieldPath): FieldFailure[] {
  const { dialect } = rules;
  const { items, additionalProperties, properties = {} } = schema;
  const failures = validateItsType(schema, level, dialect, path);
  addAll(failures, validateItsExtensions(schema, dialect, path));
  if (additionalProperties !== undefined && level === 'root') {
    failures.push(forbiddenField(path.child('additionalProperties'), 'must not be used at the root'));
  }
  if (level === 'root' || extensionsOf(schema, dialect).embeddedResource) {
    addAll(failures, validateObjectFields(properties, level, path.child('properties')));
  }
  addAll(failures, validateNarrowings(schema, rules, path));
  const at = path.child('properties');
  for (const name of Object.keys(properties)) {
    addAll(failures, validateLevel(properties[name] as JSONSchemaProps, 'field', rules, at.key(name)));
  }
  if (typeof items === 'object' && !isList(items)) {
    addAll(failures, validateLevel(items, 'items', rules, path.child('items')));
  }
  if (typeof additionalProperties === 'object') {
    addAll(failures, validateLevel(additionalProperties, 'field', rules, path.child('additionalProperties')));
  }
  return failures;
}

function validateItsType(schema: JSONSchemaProps, level: Level, dialect: Dialect, path: FieldPath): FieldFailure[] {
  const { embeddedResource, intOrString, preserveUnknownFields } = extensionsOf(schema, dialect);
  const type = schema.type ?? '';
  const at = path.child('type');
  const failures: FieldFailure[] = [];
  if (type === 'array' && schema.items === undefined) {
    failures.push(required(path.child('items'), 'must be specified'));
  }
  if (embeddedResource && type !== 'object') {
    const text = `must be object if ${dialect.extensionPrefix}embedded-resource is true`;
    failures.push(type === '' ? required(at, text) : invalidValue(at, type, text));
  } else if (type === '' && !intOrString && preserveUnknownFields !== true) {
    failures.push(required(at, missingType[level]));
  }
  if (level === 'root' && type !== '' && type !== 'object') {
    failures.push(invalidValue(at, type, 'must be object at the root'));
  }
  return failures;
}

function validateItsExtensions(schema: JSONSchemaProps, dialect: Dialect, path: FieldPath): FieldFailure[] {
  const prefix = dialect.extensionPrefix;
  const { embeddedResource, intOrString, preserveUnknownFields } = extensionsOf(schema, dialect);
  const failures: FieldFailure[] = [];
  if (intOrString) {
    const text = `must be false if ${prefix}int-or-string is true`;
    if (preserveUnknownFields === true) {
      failures.push(invalidValue(path.child(`${prefix}preserve-unknown-fields`), true, text));
    }
    if (embeddedResource) failures.push(invalidValue(path.child(`${prefix}embedded-resource`), true, text));
  }
  if (!embeddedResource) return failures;
  if (schema.additionalProperties !== undefined) {
    const text = `must not be used if ${prefix}embedded-resource is set`;
    failures.push(forbiddenField(path.child('additionalProperties'), text));
  }
  if (preserveUnknownFields !== true && Object.keys(schema.properties ?? {}).length === 0) {
    const text = `must not be empty if ${prefix}embedded-resource is true without ${prefix}preserve-unknown-fields`;
    failures.push(required(path.child('properties'), text));
  }
  return failures;
}

/** Every API object has these fields; the schema may restrict them little. */
function validateObjectFields(
  properties: Readonly<Record<string, JSONSchemaProps>>,
  level: Level,
  path: FieldPath,
): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const [name, expectedType] of Object.entries({ apiVersion: 'string', kind: 'string', metadata: 'object' })) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property === undefined) continue;
    const at = path.key(name);
    const type = property.type ?? '';
    if (type !== expectedType) failures.push(invalidValue(at.child('type'), type, `must be ${expectedType}`));
    if (name !== 'metadata' || level !== 'root' || restrictsNamesOnly(property)) continue;
    const text = 'must not specify anything other than name and generateName, but metadata is implicitly specified';
    failures.push(forbiddenField(at, text));
  }
  return failures;
}

/** Defaults are refused elsewhere. */
function restrictsNamesOnly({ type: _type, default: _default, properties = {}, ...others }: JSONSchemaProps): boolean {
  const namesOnly = Object.keys(properties).every((name) => name === 'name' || name === 'generateName');
  return (
    namesOnly && Object.values(others).every((value) => value === false || value === '' || semanticEqual(value, []))
  );
}
