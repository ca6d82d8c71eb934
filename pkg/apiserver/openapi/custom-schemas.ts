/**
 * Schemas of custom resource definitions as OpenAPI documents show them. OpenAPI 2.0 is less expressive: parts that clients
 * would misread are omitted. Source: 1.24,
 * staging/src/k8s.io/apiextensions-apiserver/pkg/controller/openapi/{builder/builder.go, v2/conversion.go} and
 * pkg/apiserver/schema/{unfold,kubeopenapi}.go.
 */
import { type Dialect, kubernetesDialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { SchemaDocument } from '#apiserver/openapi/document-types.js';

type Members = Readonly<Record<string, unknown>>;

/** Members that contain one schema, and members that contain several, by name or in a list. */
const inner = ['items', 'additionalProperties', 'not'];
const listed = ['allOf', 'anyOf', 'oneOf'];
/** Members without information about values, and members that no structural schema has. */
const unpublished: ReadonlySet<string> = new Set(['externalDocs', 'example', 'id', '$schema']);
/** Members that OpenAPI 2.0 lacks. */
const onlyV3: ReadonlySet<string> = new Set(['oneOf', 'anyOf', 'not', 'nullable', 'allOf', 'default']);

export interface PublishedFor {
  readonly version: 2 | 3;
  readonly dialect: Dialect;
  /** The members that all objects have, embedded ones included. */
  readonly ofObjects: Readonly<Record<string, SchemaDocument>>;
}

export function publishedSchema(declared: object, context: PublishedFor): SchemaDocument {
  const { version, dialect, ofObjects } = context;
  // Clients forbid members that a document does not name.
  if (version === 2 && (declared as Members)[`${dialect.extensionPrefix}preserve-unknown-fields`] === true) {
    return { type: 'object' };
  }
  const schema = published(declared as Members, context);
  return { ...schema, properties: { ...schema.properties, ...ofObjects } };
}

function published(declared: Members, context: PublishedFor): SchemaDocument {
  const { version, dialect } = context;
  const says = (extension: string) => declared[dialect.extensionPrefix + extension] === true;
  const open = says('preserve-unknown-fields');
  // Clients of version 2 take these for any type, without parts.
  const isAny = version === 2 && (open || declared.nullable === true);
  const schema: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(unfolded(declared, says('int-or-string')))) {
    if (unpublished.has(key) || (version === 2 && onlyV3.has(key))) continue;
    if (isAny && (key === 'items' || key === 'properties' || (key === 'type' && isDropped(declared)))) continue;
    // A false extension equals an absent one.
    if (key.startsWith(dialect.extensionPrefix) && value === false) continue;
    schema[key] = inside(key, value, context);
  }
  if (version === 2) withoutNullable(schema, declared, isAny);
  // Keep the names that existing clients look for.
  for (const key of Object.keys(schema)) {
    if (!key.startsWith(dialect.extensionPrefix)) continue;
    schema[kubernetesDialect.extensionPrefix + key.slice(dialect.extensionPrefix.length)] ??= schema[key];
  }
  if (says('embedded-resource') && !(version === 2 && open)) embed(schema, context);
  return schema as SchemaDocument;
}

/** True if a part without members loses its type: any type if nullable, otherwise those with members. */
function isDropped({ nullable, type }: Members): boolean {
  return nullable === true || type === 'object' || type === 'array';
}

/** Members that may be null are not required. */
function withoutNullable(schema: Record<string, unknown>, declared: Members, isAny: boolean): void {
  const { required, properties, additionalProperties } = declared;
  if (!Array.isArray(required)) return;
  const mayBeNull = (part: unknown) => (part as Members | undefined)?.nullable === true;
  const members = isAny ? {} : ((properties ?? {}) as Members);
  const remaining = mayBeNull(additionalProperties)
    ? []
    : required.filter((name) => !mayBeNull(members[name as string]));
  if (remaining.length === 0) delete schema.required;
  else schema.required = remaining;
}

const integerOrString = [{ type: 'integer' }, { type: 'string' }];

/** Adds the two types of an integer-or-string, unless they are there. */
function unfolded(declared: Members, isIntOrString: boolean): Members {
  if (!isIntOrString) return declared;
  const { type: _, ...schema } = declared;
  const { anyOf, allOf } = schema;
  const first = Array.isArray(allOf) ? (allOf[0] as Members | undefined) : undefined;
  if (semanticEqual(anyOf, integerOrString) || semanticEqual(first?.anyOf, integerOrString)) return schema;
  if (anyOf === undefined) return { ...schema, anyOf: integerOrString };
  return { ...schema, allOf: [{ anyOf: integerOrString }, ...(Array.isArray(allOf) ? allOf : [])] };
}

function embed(schema: Record<string, unknown>, { ofObjects }: PublishedFor): void {
  schema.properties = { ...(schema.properties as object | undefined), ...ofObjects };
  const required = (schema.required ?? []) as readonly string[];
  schema.required = [...required, ...['kind', 'apiVersion'].filter((name) => !required.includes(name))];
}

function inside(key: string, value: unknown, context: PublishedFor): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (inner.includes(key) && !Array.isArray(value)) return published(value as Members, context);
  if (key === 'properties') {
    const entries = Object.entries(value).map(([name, one]) => [name, published(one as Members, context)]);
    return Object.fromEntries(entries);
  }
  if (listed.includes(key) && Array.isArray(value)) return value.map((one) => published(one as Members, context));
  return value;
}
