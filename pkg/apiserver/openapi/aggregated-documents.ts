/** Documents of servers that serve some group versions in place of this one. */
import type { RequestContext } from '#apiserver/http/context.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { PathDocument, SchemaDocument } from '#apiserver/openapi/model.js';

/** A document of version 3. */
export interface ForeignVersion {
  /** `apis/wardle.example.com/v1alpha1`. */
  readonly name: string;
  /** Another one whenever the document is; empty where that is not known: nobody keeps it for good then. */
  readonly hash: string;
  /** Answers a request for it. */
  serve(context: RequestContext): Promise<ApiResponse>;
}

/** What one server adds to the document of version 2. Immutable: what changes is another object. */
export interface ForeignPart {
  /** Another one whenever the part is. */
  readonly hash: string;
  readonly paths: Readonly<Record<string, PathDocument>>;
  /** Those whose names are taken get others: `NAME_v2`. */
  readonly definitions: Readonly<Record<string, SchemaDocument>>;
}

export interface ForeignDocuments {
  /** Grows whenever the others tell something else than before. */
  readonly generation: number;
  /** In place of those of this server with the same names. */
  versions(): Iterable<ForeignVersion>;
  parts(): Iterable<ForeignPart>;
}

/** Names of definitions in documents of others. Pure. */

const refPrefix = '#/definitions/';

/** Of the extension that says of which kinds a definition is, in any dialect. */
export function isKindsExtension(name: string): boolean {
  return /^x-[a-z]+-group-version-kind$/.test(name);
}

/** The part with other names (`NAME_v2`) for those definitions whose names are taken. */
export function withFreeNames<P extends Pick<ForeignPart, 'paths' | 'definitions'>>(
  part: P,
  taken: ReadonlySet<string>,
): Pick<P, 'paths' | 'definitions'> {
  const { paths, definitions } = part;
  const renamed = new Map<string, string>();
  const used = new Set(Object.keys(definitions));
  for (const name of Object.keys(definitions)) {
    if (!taken.has(name)) continue;
    let free = name;
    for (let i = 2; taken.has(free) || used.has(free); i++) free = `${name}_v${i}`;
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

/** The same value with references to other names. */
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
