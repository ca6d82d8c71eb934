/** Rules of defaults in a schema: each must fit its schema and must not be pruned. */

import { validateEmbedded } from '#api/apiextensions/v1/structural/embedded-resources.js';
import { extensionsOf } from '#api/apiextensions/v1/structural/schema-extensions.js';
import { Structural } from '#api/apiextensions/v1/structural/structural.js';
import type { JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import { type ValueRules, valueSteps } from '#api/apiextensions/v1/values/validate.js';
import type { Steps } from '#apimachinery/async/steps.js';
import { goSyntax } from '#apimachinery/errors/go-value.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { isList } from '#apimachinery/is-list.js';
import { addAll, GoValue, invalidValue } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** Fields of every API object, declared in its schema or not. */
export const objectFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** For a structural schema; misplaced defaults are refused elsewhere. Throws TooManyChecks. */
export function* defaultFailures(schema: JSONSchemaProps, rules: ValueRules, path: FieldPath): Steps<FieldFailure[]> {
  return yield* within(schema, rules, { path, root: true, insideMeta: false });
}

interface Place {
  readonly path: FieldPath;
  readonly root: boolean;
  /** Metadata have fields that no schema declares, so none counts as unknown. */
  readonly insideMeta: boolean;
}

function* within(schema: JSONSchemaProps, rules: ValueRules, place: Place): Steps<FieldFailure[]> {
  const { path, root, insideMeta } = place;
  const failures: FieldFailure[] = [];
  const { embeddedResource } = extensionsOf(schema, rules.dialect);
  const value: unknown = schema.default;
  if (value !== undefined) {
    const at = path.child('default');
    if (insideMeta) addAll(failures, yield* valueSteps(value, schema, rules, at));
    else addAll(failures, yield* failuresOf(value, root ? asResource(schema, rules) : schema, rules, at));
  }
  const { properties = {} } = schema;
  const inProperties = path.child('properties');
  for (const name of Object.keys(properties)) {
    const meta = insideMeta || ((root || embeddedResource) && objectFields.has(name));
    const at = { path: inProperties.key(name), root: false, insideMeta: meta };
    addAll(failures, yield* within(properties[name] as JSONSchemaProps, rules, at));
  }
  for (const member of ['items', 'additionalProperties'] as const) {
    const inner = schema[member];
    if (typeof inner !== 'object' || isList(inner)) continue;
    addAll(failures, yield* within(inner, rules, { path: path.child(member), root: false, insideMeta }));
  }
  return failures;
}

/** The root counts as an embedded resource. */
function asResource(schema: JSONSchemaProps, { dialect }: ValueRules): JSONSchemaProps {
  return { ...schema, [`${dialect.extensionPrefix}embedded-resource`]: true };
}

function* failuresOf(
  value: unknown,
  schema: JSONSchemaProps,
  rules: ValueRules,
  path: FieldPath,
): Steps<FieldFailure[]> {
  const failures: FieldFailure[] = [];
  if (hasUnknownFields(value, schema, rules)) {
    failures.push(invalidValue(path, new GoValue(() => goSyntax(value)), 'must not have unknown fields'));
  }
  const embedded = validateEmbedded(value, new Structural(schema, rules.dialect), rules.dialect, path);
  addAll(failures, embedded.length > 0 ? embedded : yield* valueSteps(value, schema, rules, path));
  return failures;
}

/** True if pruning would drop a part of the value. */
function hasUnknownFields(value: unknown, schema: JSONSchemaProps, rules: ValueRules): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { embeddedResource, preserveUnknownFields } = extensionsOf(schema, rules.dialect);
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined || isList(items)) return false;
    return value.some((element) => hasUnknownFields(element, items, rules));
  }
  const { properties = {}, additionalProperties } = schema;
  return Object.entries(value).some(([name, element]) => {
    if (embeddedResource && objectFields.has(name)) return false;
    const property = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (property === undefined || property === false) return preserveUnknownFields !== true;
    return property !== true && hasUnknownFields(element, property, rules);
  });
}
