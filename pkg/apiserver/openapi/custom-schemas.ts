/**
 * Schemas of definitions as OpenAPI documents show them. The second version of OpenAPI knows less: what clients would
 * misread is left out. Source: 1.24, staging/src/k8s.io/apiextensions-apiserver/pkg/controller/openapi/{builder/builder.go,
 * v2/conversion.go} and pkg/apiserver/schema/{unfold,kubeopenapi}.go.
 */
import { type Dialect, kubernetesDialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { SchemaDocument } from '#apiserver/openapi/model.js';

type Members = Readonly<Record<string, unknown>>;

/** Members that hold a schema, and those that hold several, by name or in a list. */
const inner = ['items', 'additionalProperties', 'not'];
const listed = ['allOf', 'anyOf', 'oneOf'];
/** Those of a schema that say nothing of values, and those that no structure has. */
const unpublished: ReadonlySet<string> = new Set(['externalDocs', 'example', 'id', '$schema']);
/** What the second version has no words for. */
const onlyV3: ReadonlySet<string> = new Set(['oneOf', 'anyOf', 'not', 'nullable', 'allOf', 'default']);

export interface PublishedFor {
  readonly version: 2 | 3;
  readonly dialect: Dialect;
  /** The members that objects have, which those inside of others have, too. */
  readonly ofObjects: Readonly<Record<string, SchemaDocument>>;
}

export function publishedSchema(declared: object, context: PublishedFor): SchemaDocument {
  const { version, dialect, ofObjects } = context;
  // Clients take what a document does not name for forbidden.
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
  // To the clients of the second version these are of any type, and have no parts.
  const isAny = version === 2 && (open || declared.nullable === true);
  const schema: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(unfolded(declared, says('int-or-string')))) {
    if (unpublished.has(key) || (version === 2 && onlyV3.has(key))) continue;
    if (isAny && (key === 'items' || key === 'properties' || (key === 'type' && isDropped(declared)))) continue;
    // Extensions that say no are as good as absent.
    if (key.startsWith(dialect.extensionPrefix) && value === false) continue;
    schema[key] = inside(key, value, context);
  }
  if (version === 2) withoutNullable(schema, declared, isAny);
  // Existing clients look for these names.
  for (const key of Object.keys(schema)) {
    if (!key.startsWith(dialect.extensionPrefix)) continue;
    schema[kubernetesDialect.extensionPrefix + key.slice(dialect.extensionPrefix.length)] ??= schema[key];
  }
  if (says('embedded-resource') && !(version === 2 && open)) embed(schema, context);
  return schema as SchemaDocument;
}

/** Of what has no parts in the document: `nullable` drops any type, the rest those that have parts. */
function isDropped({ nullable, type }: Members): boolean {
  return nullable === true || type === 'object' || type === 'array';
}

/** What may be null counts as what may be absent. */
function withoutNullable(schema: Record<string, unknown>, declared: Members, isAny: boolean): void {
  const { required, properties, additionalProperties } = declared;
  if (!Array.isArray(required)) return;
  const mayBeNull = (part: unknown) => (part as Members | undefined)?.nullable === true;
  const members = isAny ? {} : ((properties ?? {}) as Members);
  const left = mayBeNull(additionalProperties) ? [] : required.filter((name) => !mayBeNull(members[name as string]));
  if (left.length === 0) delete schema.required;
  else schema.required = left;
}

const integerOrString = [{ type: 'integer' }, { type: 'string' }];

/** An integer-or-string says its two types, where it does not already. */
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
