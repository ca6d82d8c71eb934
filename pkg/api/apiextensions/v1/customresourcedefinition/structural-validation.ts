/**
 * Structural schemas: every value has a type that is said outside of `allOf`, `anyOf`, `oneOf` and `not`, which only
 * narrow down what is there. Only such schemas can be pruned, defaulted and merged.
 */
import { extensionsOf } from '#api/apiextensions/v1/customresourcedefinition/schema-extensions.js';
import type { JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { forbiddenField, invalidValue, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

type Level = 'root' | 'items' | 'field';

export function validateStructure(schema: JSONSchemaProps, dialect: Dialect, path: FieldPath): FieldFailure[] {
  return validateLevel(schema, 'root', dialect, path);
}

const missingType: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  items: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

function validateLevel(schema: JSONSchemaProps, level: Level, dialect: Dialect, path: FieldPath): FieldFailure[] {
  const extensions = extensionsOf(schema, dialect);
  const type = schema.type ?? '';
  const failures: FieldFailure[] = [];
  const free = extensions.intOrString || extensions.preserveUnknownFields === true;
  if (type === '' && (level === 'root' || !free)) failures.push(required(path.child('type'), missingType[level]));
  else if (level === 'root' && type !== 'object') {
    failures.push(invalidValue(path.child('type'), type, 'must be object at the root'));
  }
  if (type === 'array' && schema.items === undefined && extensions.preserveUnknownFields !== true) {
    failures.push(required(path.child('items'), 'must be specified'));
  }
  const properties = Object.entries(schema.properties ?? {});
  if (extensions.embeddedResource && extensions.preserveUnknownFields !== true && properties.length === 0) {
    const prefix = dialect.extensionPrefix;
    const text = `must not be empty if ${prefix}embedded-resource is true without ${prefix}preserve-unknown-fields`;
    failures.push(required(path.child('properties'), text));
  }
  if (level === 'root' || extensions.embeddedResource) failures.push(...validateObjectFields(schema, path));
  failures.push(...validateDefault(schema, extensions.intOrString, path));
  for (const [part, at] of narrowings(schema, path)) {
    failures.push(...validateNarrowing(part, schema, { dialect, path: at, structural: path }));
  }
  for (const [name, property] of properties) {
    failures.push(...validateLevel(property, 'field', dialect, path.child('properties').key(name)));
  }
  if (typeof schema.items === 'object' && !Array.isArray(schema.items)) {
    failures.push(...validateLevel(schema.items, 'items', dialect, path.child('items')));
  }
  if (typeof schema.additionalProperties === 'object') {
    failures.push(...validateLevel(schema.additionalProperties, 'field', dialect, path.child('additionalProperties')));
  }
  return failures;
}

/** Whatever is an object of the API has these fields already; the schema may hardly say anything about them. */
function validateObjectFields(schema: JSONSchemaProps, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const [name, wanted] of [
    ['apiVersion', 'string'],
    ['kind', 'string'],
    ['metadata', 'object'],
  ] as const) {
    const property = schema.properties?.[name];
    if (property === undefined) continue;
    const at = path.child('properties').key(name);
    if ((property.type ?? '') !== wanted) {
      failures.push(invalidValue(at.child('type'), property.type ?? '', `must be ${wanted}`));
    }
    if (name !== 'metadata') continue;
    const allowed = ['name', 'generateName'];
    const others = Object.keys(property.properties ?? {}).some((field) => !allowed.includes(field));
    if (others || property.additionalProperties !== undefined) {
      const text = 'must not specify anything other than name and generateName, but metadata is implicitly specified';
      failures.push(forbiddenField(at, text));
    }
  }
  return failures;
}

function validateDefault(schema: JSONSchemaProps, intOrString: boolean, path: FieldPath): FieldFailure[] {
  const value = schema.default;
  if (value === undefined || (value === null && schema.nullable === true)) return [];
  const wanted = intOrString ? ['integer', 'string'] : (schema.type ?? '') === '' ? [] : [schema.type ?? ''];
  const actual = typesOf(value);
  if (wanted.length === 0 || wanted.some((type) => actual.includes(type))) return [];
  const detail = `must be of type ${wanted.join(' or ')}: "${actual[0]}"`;
  return [invalidValue(path.child('default'), value, detail)];
}

/** The schema types that a JSON value fits, the most particular first. */
function typesOf(value: unknown): string[] {
  if (value === null) return ['null'];
  if (Array.isArray(value)) return ['array'];
  if (typeof value === 'number') return Number.isInteger(value) ? ['integer', 'number'] : ['number'];
  return [typeof value];
}

function narrowings(schema: JSONSchemaProps, path: FieldPath): [JSONSchemaProps, FieldPath][] {
  const found: [JSONSchemaProps, FieldPath][] = [];
  for (const member of ['allOf', 'anyOf', 'oneOf'] as const) {
    schema[member]?.forEach((part, i) => {
      found.push([part, path.child(member).index(i)]);
    });
  }
  if (schema.not !== undefined) found.push([schema.not, path.child('not')]);
  return found;
}

interface Narrowing {
  readonly dialect: Dialect;
  readonly path: FieldPath;
  /** Where the type of the value is said. */
  readonly structural: FieldPath;
}

const structureOnly = ['description', 'type', 'default', 'title', 'nullable', 'additionalProperties'] as const;

/** Inside of `allOf` and the like nothing may be said that belongs to the structure, nor of fields it does not know. */
function validateNarrowing(
  part: JSONSchemaProps,
  schema: JSONSchemaProps | undefined,
  { dialect, path, structural }: Narrowing,
): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const intOrString = schema !== undefined && extensionsOf(schema, dialect).intOrString;
  for (const member of structureOnly) {
    const value = part[member];
    if (value === undefined || value === false || value === '') continue;
    // The one exception: which of the two types an integer-or-string is.
    if (member === 'type' && intOrString && (value === 'integer' || value === 'string')) continue;
    failures.push(forbiddenField(path.child(member), 'must be empty to be structural'));
  }
  for (const member of Object.keys(part)) {
    if (!member.startsWith(dialect.extensionPrefix) || Reflect.get(part, member) === false) continue;
    failures.push(forbiddenField(path.child(member), 'must be empty to be structural'));
  }
  const at = (field: string): FieldPath => structural.child('properties').key(field);
  const preserved = schema !== undefined && extensionsOf(schema, dialect).preserveUnknownFields === true;
  for (const [name, property] of Object.entries(part.properties ?? {})) {
    const known = schema?.properties !== undefined && Object.hasOwn(schema.properties, name);
    if (!known && !preserved) failures.push(required(at(name), `because it is defined in ${path}.properties[${name}]`));
    const inner = known ? schema.properties?.[name] : undefined;
    failures.push(
      ...validateNarrowing(property, inner, {
        dialect,
        path: path.child('properties').key(name),
        structural: at(name),
      }),
    );
  }
  if (typeof part.items === 'object' && !Array.isArray(part.items)) {
    const inner = schema?.items;
    if (inner === undefined && !preserved) {
      failures.push(required(structural.child('items'), `because it is defined in ${path}.items`));
    }
    const items = Array.isArray(inner) ? undefined : inner;
    failures.push(
      ...validateNarrowing(part.items, items, {
        dialect,
        path: path.child('items'),
        structural: structural.child('items'),
      }),
    );
  }
  for (const [deeper, where] of narrowings(part, path)) {
    failures.push(...validateNarrowing(deeper, schema, { dialect, path: where, structural }));
  }
  return failures;
}
