/** Rules for every schema inside the schema of a custom resource. */

import { defaultFailures, objectFields } from '#api/apiextensions/v1/customresourcedefinition/default-validation.js';
import { validateExpressions } from '#api/apiextensions/v1/customresourcedefinition/expression-validation.js';
import { validateListType } from '#api/apiextensions/v1/customresourcedefinition/list-validation.js';
import { elementsOf, RuleCosts } from '#api/apiextensions/v1/customresourcedefinition/rule-costs.js';
import { validateStructure } from '#api/apiextensions/v1/customresourcedefinition/structural-validation.js';
import { extensionsOf } from '#api/apiextensions/v1/structural/schema-extensions.js';
import type { JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import type { ValueRules } from '#api/apiextensions/v1/values/validate.js';
import { TooManyChecks } from '#api/apiextensions/v1/values/validation-work.js';
import type { RuleGate } from '#api/strategy/feature-gates.js';
import { allSteps } from '#apimachinery/async/steps.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { isList } from '#apimachinery/is-list.js';
import { addAll, forbiddenField, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

export interface SchemaRules extends ValueRules {
  readonly gate: RuleGate;
  /** The version has the status subresource. */
  readonly hasStatus: boolean;
}

/** Members that the root may have besides `type` if the version has a status subresource. */
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

/** Maximum nesting of schemas from any source: deeper ones could not be processed. */
const maxDepth = 200;

/** Validates the whole schema of a version. */
export function validateSchema(schema: JSONSchemaProps, rules: SchemaRules, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  if (rules.hasStatus) addAll(failures, validateRootWithStatus(schema, rules.dialect, path));
  if (schema.nullable === true) {
    failures.push(forbiddenField(path.child('nullable'), 'nullable cannot be true at the root'));
  }
  const costs = rules.gate('CustomResourceValidationExpressions')
    ? new RuleCosts(rules.dialect.extensionPrefix)
    : undefined;
  const walk: Walk = { rules, failures, costs, readable: true, hasDefaults: false };
  validateEach(schema, walk, { path, depth: 0, root: true, insideMeta: false, cardinality: 1 });
  if (costs !== undefined) addAll(failures, costs.failures(path));
  if (!walk.readable) return failures;
  const structure = validateStructure(schema, rules.dialect, path);
  addAll(failures, structure);
  // A schema that is not structural cannot be pruned, so its defaults cannot be checked.
  if (structure.length === 0 && walk.hasDefaults) addAll(failures, shortDefaultFailures(schema, rules, path));
  return failures;
}

/** None for defaults that take long: their failures come later, see `validateLongDefaults`. */
function shortDefaultFailures(schema: JSONSchemaProps, rules: SchemaRules, path: FieldPath): FieldFailure[] {
  try {
    return allSteps(defaultFailures(schema, rules, path));
  } catch (error) {
    if (error instanceof TooManyChecks) return [];
    throw error;
  }
}

function validateRootWithStatus(schema: JSONSchemaProps, dialect: Dialect, path: FieldPath): FieldFailure[] {
  if ((schema.type ?? '') !== '' && schema.type !== 'object') {
    const text = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    return [invalidValue(path.child('type'), schema.type, text)];
  }
  const extensions = ['preserve-unknown-fields', 'validations'].map((name) => dialect.extensionPrefix + name);
  const other = Object.entries(schema).find(
    ([member, value]) =>
      member !== 'type' &&
      value !== false &&
      !semanticEqual(value, []) &&
      !rootMembers.has(member) &&
      !extensions.includes(member),
  );
  if (other === undefined) return [];
  const allowed = [...rootMembers, ...extensions].join(', ');
  const text = `only [${allowed}] fields are allowed at the root of the schema if the status subresource is enabled`;
  return [invalidValue(path, other[0], text)];
}

/** State of one pass over all schemas. */
interface Walk {
  readonly rules: SchemaRules;
  readonly failures: FieldFailure[];
  /** Costs of CEL rules; undefined while their gate is off. */
  readonly costs: RuleCosts | undefined;
  /** No member prevents converting the schema to a structural one. */
  readable: boolean;
  /** Most schemas have none, and a search for them takes as long as another rule. */
  hasDefaults: boolean;
}

interface Place {
  readonly path: FieldPath;
  readonly depth: number;
  readonly root: boolean;
  /** Below the metadata, kind or version of an object. */
  readonly insideMeta: boolean;
  /** The reason why a default is not allowed here; undefined if it is. */
  readonly noDefault?: string | undefined;
  /** The enclosing schema that prevents finding the previous value of an element. */
  readonly uncorrelatable?: FieldPath | undefined;
  /** Maximum number of values here per object; undefined: unlimited. */
  readonly cardinality: number | undefined;
}

const unsupported = ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref'] as const;
const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

function validateEach(schema: JSONSchemaProps, walk: Walk, place: Place): void {
  const { path, depth } = place;
  const { failures, rules } = walk;
  if (depth > maxDepth) {
    failures.push(forbiddenField(path, `schemas may not be nested more than ${maxDepth} levels deep`));
    walk.readable = false;
    return;
  }
  if (schema.default !== undefined) walk.hasDefaults = true;
  for (const member of unsupported) {
    const value: unknown = schema[member];
    if (value === undefined || value === '') continue;
    failures.push(forbiddenField(path.child(member), `${member} is not supported`));
    walk.readable = false;
  }
  if (isList(schema.items)) {
    failures.push(forbiddenField(path.child('items'), 'items must be a schema object and not an array'));
    walk.readable = false;
  }
  addAll(failures, validateItsOwn(schema, rules.dialect, place));
  addAll(failures, validateExtensions(schema, rules.dialect, place));
  addAll(failures, validateListType(schema, rules.dialect, path));
  if (walk.costs !== undefined) {
    addAll(failures, validateExpressions(schema, place, { dialect: rules.dialect, costs: walk.costs }));
  }
  for (const [child, at] of childrenOf(schema, path)) validateEach(child, walk, placeOf(at, schema, walk, place));
}

/** The place of a child. Written out, since there may be tens of thousands. */
function placeOf(at: ChildPlace, schema: JSONSchemaProps, walk: Walk, place: Place): Place {
  const { embeddedResource } = extensionsOf(schema, walk.rules.dialect);
  let { insideMeta, noDefault, uncorrelatable } = place;
  if (at.property !== undefined && objectFields.has(at.property) && (place.root || embeddedResource)) {
    insideMeta = true;
    if (place.root) noDefault = `in top-level ${at.property}`;
  } else if (insideMeta && at.member === 'additionalProperties') {
    // The keys are unknown, so it is also unknown what would be pruned.
    noDefault = 'inside additionalProperties applying to object metadata';
  }
  if (uncorrelatable === undefined && isUncorrelatable(at, schema, walk)) uncorrelatable = place.path;
  const elements = elementsOf(schema);
  const cardinality =
    elements === undefined || place.cardinality === undefined ? undefined : elements * place.cardinality;
  return { path: at.path, depth: place.depth + 1, root: false, insideMeta, noDefault, uncorrelatable, cardinality };
}

/** Only elements with keys have a previous value. */
function isUncorrelatable({ member }: ChildPlace, schema: JSONSchemaProps, { rules }: Walk): boolean {
  const { listType, mapType } = extensionsOf(schema, rules.dialect);
  if (member === 'items') return listType !== 'map';
  return (member === 'properties' || member === 'additionalProperties') && mapType === 'atomic';
}

function validateItsOwn(schema: JSONSchemaProps, dialect: Dialect, { path, insideMeta, noDefault }: Place) {
  const { type = '', additionalProperties: additional } = schema;
  const failures: FieldFailure[] = [];
  if (type !== '' && !types.includes(type)) failures.push(notSupported(path.child('type'), type, types));
  if (type === 'null') {
    const text = 'type cannot be set to null, use nullable as an alternative';
    failures.push(forbiddenField(path.child('type'), text));
  }
  if (noDefault !== undefined && schema.default !== undefined) {
    failures.push(forbiddenField(path.child('default'), `must not be set ${noDefault}`));
  }
  if (insideMeta && extensionsOf(schema, dialect).embeddedResource) {
    const at = path.child(`${dialect.extensionPrefix}embedded-resource`);
    failures.push(forbiddenField(at, 'must not be used inside of resource meta'));
  }
  if (schema.uniqueItems === true) {
    const text = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
    failures.push(forbiddenField(path.child('uniqueItems'), text));
  }
  if (additional !== undefined && additional !== true && Object.keys(schema.properties ?? {}).length > 0) {
    const text = 'additionalProperties and properties are mutual exclusive';
    failures.push(forbiddenField(path.child('additionalProperties'), text));
  }
  return failures;
}

function validateExtensions(schema: JSONSchemaProps, dialect: Dialect, { path }: Place): FieldFailure[] {
  const { preserveUnknownFields, mapType } = extensionsOf(schema, dialect);
  const at = (name: string): FieldPath => path.child(dialect.extensionPrefix + name);
  const type = schema.type ?? '';
  const failures: FieldFailure[] = [];
  if (preserveUnknownFields === false) {
    failures.push(invalidValue(at('preserve-unknown-fields'), false, 'must be true or undefined'));
  }
  if (mapType === undefined) return failures;
  if (type !== 'object') {
    const text = `must be object if ${dialect.extensionPrefix}map-type is specified`;
    failures.push(type === '' ? required(path.child('type'), text) : invalidValue(path.child('type'), type, text));
  }
  const kinds = ['atomic', 'granular'];
  if (!kinds.includes(mapType)) failures.push(notSupported(at('map-type'), mapType, kinds));
  return failures;
}

interface ChildPlace {
  readonly path: FieldPath;
  /** The member of the schema that contains the child. */
  readonly member: keyof JSONSchemaProps;
  /** Field name, for children in `properties`. */
  readonly property?: string;
}

const single = ['items', 'additionalProperties', 'not'] as const;
const several = ['allOf', 'anyOf', 'oneOf'] as const;

/** The direct child schemas with their places. */
export function childrenOf(schema: JSONSchemaProps, path: FieldPath): [JSONSchemaProps, ChildPlace][] {
  const children: [JSONSchemaProps, ChildPlace][] = [];
  for (const member of single) {
    const child = schema[member];
    if (typeof child === 'object' && !isList(child)) children.push([child, { path: path.child(member), member }]);
  }
  for (const member of several) {
    schema[member]?.forEach((part, i) => {
      children.push([part, { path: path.child(member).index(i), member }]);
    });
  }
  const { properties } = schema;
  if (properties === undefined) return children;
  const at = path.child('properties');
  for (const property of Object.keys(properties)) {
    children.push([
      properties[property] as JSONSchemaProps,
      { path: at.key(property), member: 'properties', property },
    ]);
  }
  return children;
}
