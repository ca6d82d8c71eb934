/** Rules of schemas of custom resources that hold for each schema in them, wherever it stands. */
import { validateListType } from '#api/apiextensions/v1/customresourcedefinition/list-validation.js';
import { extensionsOf } from '#api/apiextensions/v1/customresourcedefinition/schema-extensions.js';
import { validateStructure } from '#api/apiextensions/v1/customresourcedefinition/structural-validation.js';
import type { JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkRequired } from '#apimachinery/validation/checks.js';
import { forbiddenField, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

export interface SchemaRules {
  readonly dialect: Dialect;
  readonly gate: (name: string) => boolean;
  /** The version has the status subresource. */
  readonly hasStatus: boolean;
}

/** Members that the root may have besides `type` when status is validated on its own. */
const rootMembers = new Set([
  'description',
  'format',
  'title',
  'maximum',
  'exclusiveMaximum',
  'minimum',
  'exclusiveMinimum',
  'maxLength',
  'minLength',
  'pattern',
  'maxItems',
  'minItems',
  'uniqueItems',
  'multipleOf',
  'required',
  'items',
  'properties',
  'externalDocs',
  'example',
]);

/** Deeper nesting is refused, however the schema came here: nothing below would survive it. */
const maxDepth = 200;

/** The whole schema of a version. */
export function validateSchema(schema: JSONSchemaProps, rules: SchemaRules, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  if (schema.nullable === true) {
    failures.push(forbiddenField(path.child('nullable'), 'nullable cannot be true at the root'));
  }
  if (rules.hasStatus) failures.push(...validateRootWithStatus(schema, rules.dialect, path));
  const ordinary = validateEach(schema, rules, { path, depth: 0, root: true });
  failures.push(...ordinary);
  // The shape of a schema that is nested without end, or wrong already, says nothing more.
  if (ordinary.length === 0) failures.push(...validateStructure(schema, rules.dialect, path));
  return failures;
}

function validateRootWithStatus(schema: JSONSchemaProps, dialect: Dialect, path: FieldPath): FieldFailure[] {
  if ((schema.type ?? '') !== '' && schema.type !== 'object') {
    const text = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    return [invalidValue(path.child('type'), schema.type, text)];
  }
  const extensions = ['preserve-unknown-fields', 'validations'].map((name) => dialect.extensionPrefix + name);
  const other = Object.entries(schema).find(
    ([member, value]) =>
      member !== 'type' && value !== false && !rootMembers.has(member) && !extensions.includes(member),
  );
  if (other === undefined) return [];
  const allowed = [...rootMembers, ...extensions].join(', ');
  const text = `only [${allowed}] fields are allowed at the root of the schema if the status subresource is enabled`;
  return [invalidValue(path, other[0], text)];
}

interface Place {
  readonly path: FieldPath;
  readonly depth: number;
  readonly root: boolean;
}

const unsupported = ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref'] as const;
const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

function validateEach(schema: JSONSchemaProps, rules: SchemaRules, { path, depth, root }: Place): FieldFailure[] {
  if (depth > maxDepth) return [forbiddenField(path, `schemas may not be nested more than ${maxDepth} levels deep`)];
  const failures: FieldFailure[] = [];
  for (const member of unsupported) {
    const value: unknown = schema[member];
    if (value === undefined || value === '') continue;
    failures.push(forbiddenField(path.child(member), `${member} is not supported`));
  }
  if (schema.uniqueItems === true) {
    const text = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
    failures.push(forbiddenField(path.child('uniqueItems'), text));
  }
  failures.push(...validateType(schema, path));
  failures.push(...validateExtensions(schema, rules, path));
  failures.push(...validateListType(schema, rules.dialect, path));
  const { additionalProperties: additional, properties = {} } = schema;
  if (additional !== undefined) {
    const at = path.child('additionalProperties');
    if (root) failures.push(forbiddenField(at, 'must not be used at the root'));
    else if (Object.keys(properties).length > 0 && additional !== true) {
      failures.push(forbiddenField(at, 'additionalProperties and properties are mutual exclusive'));
    }
  }
  for (const [child, at] of childrenOf(schema, path)) {
    failures.push(...validateEach(child, rules, { path: at, depth: depth + 1, root: false }));
  }
  return failures;
}

function validateType(schema: JSONSchemaProps, path: FieldPath): FieldFailure[] {
  const type = schema.type ?? '';
  const failures: FieldFailure[] = [];
  if (type === 'null') {
    const text = 'type cannot be set to null, use nullable as an alternative';
    failures.push(forbiddenField(path.child('type'), text));
  } else if (type !== '' && !types.includes(type)) failures.push(notSupported(path.child('type'), type, types));
  if (Array.isArray(schema.items)) {
    failures.push(forbiddenField(path.child('items'), 'items must be a schema object and not an array'));
  }
  return failures;
}

function validateExtensions(schema: JSONSchemaProps, rules: SchemaRules, path: FieldPath): FieldFailure[] {
  const { dialect } = rules;
  const extensions = extensionsOf(schema, dialect);
  const at = (name: string): FieldPath => path.child(dialect.extensionPrefix + name);
  const type = schema.type ?? '';
  const failures: FieldFailure[] = [];
  /** The extension makes sense for this type only. */
  const mustBe = (wanted: string, why: string): void => {
    if (type === wanted) return;
    const text = `must be ${wanted} if ${dialect.extensionPrefix}${why}`;
    failures.push(type === '' ? required(path.child('type'), text) : invalidValue(path.child('type'), type, text));
  };
  if (extensions.preserveUnknownFields === false) {
    failures.push(invalidValue(at('preserve-unknown-fields'), false, 'must be true or undefined'));
  }
  if (extensions.mapType !== undefined) {
    mustBe('object', 'map-type is specified');
    const kinds = ['atomic', 'granular'];
    if (!kinds.includes(extensions.mapType)) failures.push(notSupported(at('map-type'), extensions.mapType, kinds));
  }
  if (extensions.embeddedResource) mustBe('object', 'embedded-resource is true');
  if (extensions.intOrString) {
    const name = `${dialect.extensionPrefix}int-or-string`;
    if (type !== '') failures.push(invalidValue(path.child('type'), type, `must be empty if ${name} is true`));
    const others = [
      ['preserve-unknown-fields', extensions.preserveUnknownFields === true],
      ['embedded-resource', extensions.embeddedResource],
    ] as const;
    for (const [other, set] of others) {
      if (set) failures.push(invalidValue(at(other), true, `must be false if ${name} is true`));
    }
  }
  if (rules.gate('CustomResourceValidationExpressions')) {
    extensions.validations.forEach((validation, i) => {
      const here = at('validations').index(i).child('rule');
      failures.push(...checkRequired(here, validation.rule?.trim(), 'rule is not specified'));
    });
  }
  return failures;
}

/** The schemas directly inside one, with where they stand. */
export function childrenOf(schema: JSONSchemaProps, path: FieldPath): [JSONSchemaProps, FieldPath][] {
  const found: [JSONSchemaProps, FieldPath][] = [];
  const { items, additionalProperties, not } = schema;
  if (typeof items === 'object' && !Array.isArray(items)) found.push([items, path.child('items')]);
  if (typeof additionalProperties === 'object') found.push([additionalProperties, path.child('additionalProperties')]);
  if (not !== undefined) found.push([not, path.child('not')]);
  for (const member of ['allOf', 'anyOf', 'oneOf'] as const) {
    schema[member]?.forEach((part, i) => {
      found.push([part, path.child(member).index(i)]);
    });
  }
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    found.push([property, path.child('properties').key(name)]);
  }
  return found;
}
