/** OpenAPI documents of other servers that serve some group versions in place of this one. */

import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { PathDocument, SchemaDocument } from '#apiserver/openapi/document-types.js';

/** A document of version 3. */
export interface ForeignVersion {
  /** Name of the document: `apis/wardle.example.com/v1alpha1`. */
  readonly name: string;
  /** Changes with the document; empty if unknown: then clients do not cache the document. */
  readonly hash: string;
  /** Answers a request for the document. */
  serve(context: RequestContext): Promise<ApiResponse>;
}

/** One server's part of the version 2 document. Immutable: a changed part is another object. */
export interface ForeignPart {
  /** Changes with the part. */
  readonly hash: string;
  readonly paths: Readonly<Record<string, PathDocument>>;
  /** Definitions; renamed to `NAME_v2` if their names are used already. */
  readonly definitions: Readonly<Record<string, SchemaDocument>>;
}

export interface ForeignDocuments {
  /** Increases with every change of the other servers' documents. */
  readonly generation: number;
  /** Documents that replace this server's documents of the same name. */
  versions(): Iterable<ForeignVersion>;
  parts(): Iterable<ForeignPart>;
}

const refPrefix = '#/definitions/';

/** True for the extension that lists a definition's kinds, in any dialect. */
export function isKindsExtension(name: string): boolean {
  return /^x-[a-z]+-group-version-kind$/.test(name);
}

/** The part with definitions renamed (`NAME_v2`) if their names are used already. */
export function withFreeNames<P extends Pick<ForeignPart, 'paths' | 'definitions'>>(
  part: P,
  usedNames: ReadonlySet<string>,
): Pick<P, 'paths' | 'definitions'> {
  const { paths, definitions } = part;
  const renamed = new Map<string, string>();
  const used = new Set(Object.keys(definitions));
  for (const name of Object.keys(definitions)) {
    if (!usedNames.has(name)) continue;
    let free = name;
    for (let i = 2; usedNames.has(free) || used.has(free); i++) free = `${name}_v${i}`;
    used.add(free);
    renamed.set(name, free);
  }
  if (renamed.size === 0) return { paths, definitions };
  const entries = Object.entries(definitions).map(([name, schema]) => [renamed.get(name) ?? name, schema]);
  return {
    paths: withRefs(paths, renamed),
    definitions: withRefs(Object.fromEntries(entries) as P['definitions'], renamed),
  };
}

/** The value with its references renamed. */
export function withRefs<T>(value: T, renamed: ReadonlyMap<string, string>): T {
  if (renamed.size === 0) return value;
  if (Array.isArray(value)) return value.map((each) => withRefs(each, renamed)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, each] of Object.entries(value)) {
    const ref = key === '$ref' && typeof each === 'string' && each.startsWith(refPrefix);
    const name = ref ? renamed.get(each.slice(refPrefix.length)) : undefined;
    copy[key] = name === undefined ? withRefs(each, renamed) : `${refPrefix}${name}`;
  }
  return copy as T;
}
