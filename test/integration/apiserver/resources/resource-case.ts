/** Test data of a resource: a small valid object, and the server's changes to it. */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ResourceDeclaration, ResourceType } from '#apimachinery/schema/schema.js';

/** Values by place: `spec.ports.0.protocol`. */
export type ByPath = Readonly<Record<string, unknown>>;

export interface ResourceCase<T = ApiObjectShape> {
  readonly resource: ResourceType<T>;
  /** Minimal and valid; without apiVersion and kind. */
  example(dialect: Dialect): Omit<T, 'apiVersion' | 'kind'>;
  /** Fields set by the server; empty for kinds without defaults. */
  readonly defaults: ByPath | ((dialect: Dialect) => ByPath);
  /** Changes that make the object invalid, by place (undefined removes the field), and the fields that the error names. */
  readonly invalid: { readonly change: ByPath; readonly causes: readonly string[] };
  /** Cells by column name. */
  readonly cells?: Readonly<Record<string, string | number | boolean | RegExp>>;
}

/** A case without its types, so that tests can iterate over all of them. */
export interface AnyCase {
  readonly resource: ResourceDeclaration;
  /** A new object with apiVersion and kind. */
  object(dialect: Dialect): Draft;
  defaults(dialect: Dialect): ByPath;
  invalid(dialect: Dialect): Draft;
  readonly causes: readonly string[];
  readonly cells: Readonly<Record<string, string | number | boolean | RegExp>>;
}

export interface Draft {
  readonly apiVersion: string;
  readonly kind: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    finalizers?: string[];
  };
  [field: string]: unknown;
}

export function resourceCase<T>(given: ResourceCase<T>): AnyCase {
  const { resource, invalid, defaults, cells = {} } = given;
  const object = (dialect: Dialect): Draft => {
    const example = structuredClone(given.example(dialect)) as unknown as Draft;
    return { ...example, apiVersion: dialect.apiVersion(resource.group, resource.version), kind: resource.kind };
  };
  return {
    resource,
    object,
    defaults: (dialect) => (typeof defaults === 'function' ? defaults(dialect) : defaults),
    invalid(dialect) {
      const draft = object(dialect);
      for (const [path, value] of Object.entries(invalid.change)) set(draft, path, value);
      return draft;
    },
    causes: invalid.causes,
    cells,
  };
}

/** The case of another version of the same kind, whose objects differ only by `changes`. */
export function versionCase(resource: ResourceDeclaration, other: AnyCase, changes: Partial<AnyCase> = {}): AnyCase {
  const renamed = (draft: Draft, dialect: Dialect): Draft => ({
    ...draft,
    apiVersion: dialect.apiVersion(resource.group, resource.version),
  });
  return {
    ...other,
    resource,
    object: (dialect) => renamed(other.object(dialect), dialect),
    invalid: (dialect) => renamed(other.invalid(dialect), dialect),
    ...changes,
  };
}

/** The value at a place; undefined if absent. */
export function at(object: unknown, path: string): unknown {
  let value = object;
  for (const step of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Reflect.get(value, step);
  }
  return value;
}

function set(object: object, path: string, value: unknown): void {
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  let inner: object = object;
  for (const step of steps) {
    const next: unknown = Reflect.get(inner, step);
    if (typeof next !== 'object' || next === null) throw new Error(`the example has no ${path}`);
    inner = next;
  }
  if (value === undefined) Reflect.deleteProperty(inner, last);
  else Reflect.set(inner, last, value);
}
