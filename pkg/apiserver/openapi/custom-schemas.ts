/**
 * Schemas of definitions as OpenAPI documents show them. The second version of OpenAPI knows less: what it would misread is
 * left out. Source: 1.24, staging/src/k8s.io/apiextensions-apiserver/pkg/controller/openapi/{builder/builder.go,
 * v2/conversion.go}.
 */
import { type Dialect, kubernetesDialect } from '#apimachinery/dialect.js';
import type { SchemaDocument } from '#apiserver/openapi/model.js';

type Members = Record<string, unknown>;

/** Members that hold a schema, and those that hold several, by name or in a list. */
const inner = ['items', 'additionalProperties', 'not'];
const named = ['properties'];
const listed = ['allOf', 'anyOf', 'oneOf'];

/** What the second version has no words for. */
const onlyV3 = new Set(['oneOf', 'anyOf', 'not', 'nullable', 'allOf']);

export function publishedSchema(declared: object, version: 2 | 3, dialect: Dialect): SchemaDocument {
  return published(declared as Members, version, dialect) as SchemaDocument;
}

function published(declared: Members, version: 2 | 3, dialect: Dialect): Members {
  const name = (extension: string) => `${dialect.extensionPrefix}${extension}`;
  const intOrString = declared[name('int-or-string')] === true;
  const open = declared[name('preserve-unknown-fields')] === true;
  const schema: Members = {};
  for (const [key, value] of Object.entries(declared)) {
    if (version === 2 && (onlyV3.has(key) || (key === 'default' && declared['nullable'] === true))) continue;
    // Clients would take what they do not know for forbidden, or for something of a certain type.
    if (version === 2 && (open || declared['nullable'] === true) && isStructure(key)) continue;
    schema[key] = inside(key, value, version, dialect);
  }
  // Existing clients look for these names.
  for (const key of Object.keys(schema)) {
    if (!key.startsWith(dialect.extensionPrefix)) continue;
    schema[kubernetesDialect.extensionPrefix + key.slice(dialect.extensionPrefix.length)] ??= schema[key];
  }
  if (version === 2 && intOrString) delete schema['type'];
  return schema;
}

function isStructure(key: string): boolean {
  return key === 'type' || key === 'items' || key === 'properties' || key === 'additionalProperties';
}

function inside(key: string, value: unknown, version: 2 | 3, dialect: Dialect): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (inner.includes(key) && !Array.isArray(value)) return published(value as Members, version, dialect);
  if (named.includes(key)) {
    const entries = Object.entries(value).map(([name, one]) => [name, published(one as Members, version, dialect)]);
    return Object.fromEntries(entries);
  }
  if (listed.includes(key) && Array.isArray(value)) {
    return value.map((one) => published(one as Members, version, dialect));
  }
  return value;
}
