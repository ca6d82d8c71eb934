/**
 * Rules of schemas inside `allOf`, `anyOf`, `oneOf` and `not` (narrowings), which may only restrict declared values.
 */

import type { PatternErrors } from '#api/apiextensions/v1/customresourcedefinition/pattern-errors.js';
import { extensionsOf } from '#api/apiextensions/v1/structural/schema-extensions.js';
import type { JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { isList } from '#apimachinery/is-list.js';
import { addAll, forbiddenField, invalidValue, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

export interface NarrowingRules {
  readonly dialect: Dialect;
  /** Errors of all patterns of the schema. */
  readonly patterns: PatternErrors;
}

/** Validates the narrowings of a schema and its pattern, not the schema itself. */
export function validateNarrowings(schema: JSONSchemaProps, rules: NarrowingRules, path: FieldPath): FieldFailure[] {
  return validateValues(schema, rules, { path, isStructure: true });
}

/**
 * Members in the root's narrowings must be declared outside of them. Like 1.24, ignores narrowings of nested schemas.
 */
export function validateCompleteness(schema: JSONSchemaProps, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const [part, at] of narrowings(schema, path)) addAll(failures, validateComplete(part, schema, at, path));
  return failures;
}

function narrowings(schema: JSONSchemaProps, path: FieldPath): [JSONSchemaProps, FieldPath][] {
  const parts: [JSONSchemaProps, FieldPath][] = [];
  for (const member of ['allOf', 'anyOf', 'oneOf'] as const) {
    schema[member]?.forEach((part, i) => {
      parts.push([part, path.child(member).index(i)]);
    });
  }
  if (schema.not !== undefined) parts.push([schema.not, path.child('not')]);
  return parts;
}

/** The only types allowed in a narrowing: those of an integer-or-string. */
const integerOrString = [{ type: 'integer' }, { type: 'string' }];

interface Place {
  readonly path: FieldPath;
  /** `anyOf` may list the integer-or-string types here, or below the first `allOf`. */
  readonly isStructure?: boolean;
  readonly freeAnyOf?: boolean;
}

function validateValues(schema: JSONSchemaProps, rules: NarrowingRules, place: Place): FieldFailure[] {
  const { path, isStructure = false, freeAnyOf = isStructure } = place;
  const failures: FieldFailure[] = [];
  if (!(freeAnyOf && semanticEqual(schema.anyOf, integerOrString))) {
    schema.anyOf?.forEach((part, i) => {
      addAll(failures, validateNarrowing(part, rules, { path: path.child('anyOf').index(i) }));
    });
  }
  schema.allOf?.forEach((part, i) => {
    const at = { path: path.child('allOf').index(i), freeAnyOf: isStructure && i === 0 };
    addAll(failures, validateNarrowing(part, rules, at));
  });
  schema.oneOf?.forEach((part, i) => {
    addAll(failures, validateNarrowing(part, rules, { path: path.child('oneOf').index(i) }));
  });
  if (schema.not !== undefined) addAll(failures, validateNarrowing(schema.not, rules, { path: path.child('not') }));
  const error = schema.pattern === undefined ? undefined : rules.patterns.errorOf(schema.pattern);
  if (error === undefined) return failures;
  const text = `must be a valid regular expression, but isn't: ${error}`;
  return [...failures, invalidValue(path.child('pattern'), schema.pattern, text)];
}

function validateNarrowing(part: JSONSchemaProps, rules: NarrowingRules, place: Place): FieldFailure[] {
  const { path } = place;
  const failures = validateValues(part, rules, place);
  if (typeof part.items === 'object' && !isList(part.items)) {
    addAll(failures, validateNarrowing(part.items, rules, { path: path.child('items') }));
  }
  for (const [name, property] of Object.entries(part.properties ?? {})) {
    addAll(failures, validateNarrowing(property, rules, { path: path.child('properties').key(name) }));
  }
  for (const [member, state] of forbiddenMembers(part, rules.dialect)) {
    failures.push(forbiddenField(path.child(member), `must be ${state} to be structural`));
  }
  if (Object.hasOwn(part.properties ?? {}, 'metadata')) {
    failures.push(
      forbiddenField(path.child('properties').key('metadata'), 'must not be specified in a nested context'),
    );
  }
  return failures;
}

/** Structural members that narrowings must not have, with their required state. */
function forbiddenMembers(part: JSONSchemaProps, dialect: Dialect): [member: string, state: string][] {
  const extensions = extensionsOf(part, dialect);
  const prefix = dialect.extensionPrefix;
  const rows: [boolean, string, string][] = [
    [(part.type ?? '') !== '', 'type', 'empty'],
    [part.additionalProperties !== undefined, 'additionalProperties', 'undefined'],
    [part.default !== undefined, 'default', 'undefined'],
    [(part.title ?? '') !== '', 'title', 'empty'],
    [(part.description ?? '') !== '', 'description', 'empty'],
    [part.nullable === true, 'nullable', 'false'],
    [extensions.preserveUnknownFields === true, `${prefix}preserve-unknown-fields`, 'false'],
    [extensions.embeddedResource, `${prefix}embedded-resource`, 'false'],
    [extensions.intOrString, `${prefix}int-or-string`, 'false'],
    [extensions.listMapKeys.length > 0, `${prefix}list-map-keys`, 'empty'],
    [extensions.listType !== undefined, `${prefix}list-type`, 'undefined'],
    [extensions.mapType !== undefined, `${prefix}map-type`, 'undefined'],
    [extensions.validations.length > 0, `${prefix}validations`, 'empty'],
  ];
  return rows.filter(([said]) => said).map(([, member, state]) => [member, state]);
}

/** Members of a narrowing must be declared outside of it. `at`: the narrowing's path; `path`: the declaration's. */
function validateComplete(
  part: JSONSchemaProps,
  schema: JSONSchemaProps,
  at: FieldPath,
  path: FieldPath,
): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const deeper = (inner: JSONSchemaProps, declared: JSONSchemaProps | undefined, ...steps: [string, string?]): void => {
    const [member, key] = steps;
    const down = (from: FieldPath): FieldPath => (key === undefined ? from.child(member) : from.child(member).key(key));
    if (declared === undefined) failures.push(required(down(path), `because it is defined in ${down(at)}`));
    else addAll(failures, validateComplete(inner, declared, down(at), down(path)));
  };
  for (const [inner, where] of narrowings(part, at)) addAll(failures, validateComplete(inner, schema, where, path));
  const items = (of: JSONSchemaProps): JSONSchemaProps | undefined => (isList(of.items) ? undefined : of.items);
  const inner = items(part);
  if (inner !== undefined) deeper(inner, items(schema), 'items');
  for (const [name, property] of Object.entries(part.properties ?? {})) {
    const declared = Object.hasOwn(schema.properties ?? {}, name) ? schema.properties?.[name] : undefined;
    deeper(property, declared, 'properties', name);
  }
  return failures;
}
