/** What the tests know about a resource: one small valid object, and what the server makes of it. */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ResourceDeclaration, ResourceType } from '#apimachinery/schema/schema.js';

/** A value by its place: `spec.ports.0.protocol`. */
export type ByPath = Readonly<Record<string, unknown>>;

export interface ResourceCase<T = ApiObjectShape> {
  readonly resource: ResourceType<T>;
  /** Valid, and with as little as possible; without apiVersion and kind. */
  example(dialect: Dialect): Omit<T, 'apiVersion' | 'kind'>;
  /** What the server fills in; empty where the kind has no defaults. */
  readonly defaults: ByPath | ((dialect: Dialect) => ByPath);
  /** What makes the example invalid, by place (undefined: the field is taken away), and the fields that are blamed. */
  readonly invalid: { readonly change: ByPath; readonly causes: readonly string[] };
  /** Cells by the names of their columns. */
  readonly cells?: Readonly<Record<string, string | number | boolean | RegExp>>;
}

/** A case with the types of the kind forgotten, so that tests can go through all of them. */
export interface AnyCase {
  readonly resource: ResourceDeclaration;
  /** With apiVersion and kind; a new one each time. */
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

/** The case of another version of the same kind, whose objects look the same but for what `changes` say. */
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

/** The value at a place, undefined when there is none. */
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
