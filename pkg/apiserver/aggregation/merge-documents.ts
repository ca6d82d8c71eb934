/**
 * One document of this server's own and of others': as 1.24 merges them, paths that are there already stay, and definitions of
 * one name that differ get another one (`NAME_v2`). Pure.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ForeignDocument } from '#apiserver/aggregation/foreign-document.js';
import { isKindsExtension, withRefs } from '#apiserver/openapi/aggregated-documents.js';
import type { PathDocument, SchemaDocument } from '#apiserver/openapi/document-types.js';

interface MergedDocument {
  readonly paths: Record<string, PathDocument>;
  readonly definitions: Record<string, SchemaDocument>;
}

export function mergeDocuments<D extends MergedDocument>(own: D, foreign: readonly ForeignDocument[]): D {
  if (foreign.length === 0) return own;
  const paths = { ...own.paths };
  const definitions = { ...own.definitions };
  for (const document of foreign) {
    const renamed = new Map<string, string>();
    const added: [name: string, schema: SchemaDocument][] = [];
    for (const [name, schema] of Object.entries(document.definitions)) {
      let free = name;
      for (let i = 2; ; i++) {
        const known = Object.hasOwn(definitions, free) ? definitions[free] : undefined;
        if (known === undefined) {
          added.push([free, schema]);
          // Taken, before what it refers to is looked at.
          definitions[free] = schema;
          break;
        }
        if (isDeepStrictEqual(withoutKinds(known), withoutKinds(schema))) {
          definitions[free] = withKindsOf(known, schema);
          break;
        }
        free = `${name}_v${i}`;
      }
      if (free !== name) renamed.set(name, free);
    }
    for (const [name, schema] of added) definitions[name] = withRefs(schema, renamed);
    for (const [path, item] of Object.entries(document.paths)) paths[path] ??= withRefs(item, renamed);
  }
  return { ...own, paths, definitions };
}

function withoutKinds(schema: SchemaDocument): object {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => !isKindsExtension(name)));
}

/** The definition stands for the kinds of both. */
function withKindsOf(known: SchemaDocument, other: SchemaDocument): SchemaDocument {
  const merged: Record<string, unknown> = { ...known };
  for (const [name, value] of Object.entries(other)) {
    if (!isKindsExtension(name) || !Array.isArray(value)) continue;
    const before = (merged[name] ?? []) as readonly unknown[];
    const more = value.filter((each) => !before.some((one) => isDeepStrictEqual(one, each)));
    if (more.length > 0) merged[name] = [...before, ...more];
  }
  return merged;
}
