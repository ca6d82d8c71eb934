/**
 * The schema language. A kind's types are declared once, as plain data, in `pkg/api/<group>/<version>/`; TypeScript
 * types, codecs, field validation, defaults, merge keys, OpenAPI and tables are all derived from the declarations.
 */
import type { GroupKey } from '#apimachinery/dialect.js';

export type Scalar = 'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'uint32' | 'uint64' | 'double' | 'float';

/** One field of a message. The field's JSON name is its key in the message. */
export interface FieldDeclaration {
  /** Protobuf field number. */
  readonly number: number;
  /** A scalar, a type of the same group and version, or `<group>.<version>.<Type>` (`resource.Quantity`, `intstr.IntOrString`). */
  readonly type: string;
  /** A list of `type`. */
  readonly repeated?: true;
  /** A map whose key is this scalar and whose value is `type`. */
  readonly map?: Scalar;
  /** Unset is told from zero: an unset pointer is left out, a set one is written even when zero. */
  readonly pointer?: true;
  /** Left out of JSON when empty. */
  readonly omitempty?: true;
  /** May be absent in a valid object. */
  readonly optional?: true;
  /** The message's fields are flattened into the parent in JSON; on the wire it stays one nested message. */
  readonly inline?: true;
  /** Name in Protobuf where it is not the JSON name. */
  readonly protoName?: string;
  /** Strategic merge patch: `merge`, `replace`, `retainKeys`, comma separated. */
  readonly patchStrategy?: string;
  readonly patchMergeKey?: string;
  /** Server-side apply. */
  readonly listType?: 'atomic' | 'set' | 'map';
  readonly listMapKeys?: readonly string[];
  readonly mapType?: 'atomic' | 'granular';
  readonly structType?: 'atomic' | 'granular';
  readonly default?: unknown;
  /** Name of an enum of the same group and version. */
  readonly enum?: string;
  readonly featureGate?: string;
  /** The message is something else in JSON (Time, Quantity, IntOrString, …). */
  readonly jsonWrapper?: true;
  /** What `explain` and OpenAPI say, in our own words. */
  readonly doc?: string;
}

/** JSON name → field. Keys that start with `~` are fields with no JSON name of their own (inline, wrapper parts). */
export type MessageDeclaration = Readonly<Record<string, FieldDeclaration>>;

/** Groups that hold wire types only and serve nothing; their types have no version. */
export type PseudoGroup = 'runtime' | 'resource' | 'intstr';

/** What one file below `pkg/api/<group>/<version>/` declares: a kind with the types that only it uses. */
export interface KindDeclaration {
  readonly types: Readonly<Record<string, MessageDeclaration>>;
  /** What `explain` and OpenAPI say of each type, in our own words. */
  readonly docs?: Readonly<Record<string, string>>;
  readonly enums?: Readonly<Record<string, readonly string[]>>;
  /** Group and version come from the folder. */
  readonly resources?: readonly Omit<ResourceDeclaration, 'group' | 'version'>[];
}

/** All declarations of one folder; made by `hack/generate`. */
export interface GroupVersionDeclaration {
  readonly group: GroupKey | PseudoGroup;
  readonly version: string;
  readonly kinds: readonly KindDeclaration[];
}

export interface ColumnDeclaration {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  /** 1 = shown in wide output only. */
  readonly priority?: number;
}

export interface SubresourceDeclaration {
  readonly name: string;
  readonly kind: string;
  /** Group and version of the kind where they differ from the resource's. */
  readonly group?: GroupKey;
  readonly version?: string;
  readonly verbs: readonly string[];
}

/** A resource that the API serves. */
export interface ResourceDeclaration {
  readonly group: GroupKey;
  readonly version: string;
  /** Plural, as in URLs. */
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly SubresourceDeclaration[];
  readonly columns?: readonly ColumnDeclaration[];
  /** The resource is there only while this gate is on. */
  readonly featureGate?: string;
  /** Set where objects are stored in the form of another version (of another group, even), and converted from and to it. */
  readonly storedAs?: { readonly group?: GroupKey; readonly version: string };
  /** Clients are told that the resource, in this version, will go away. */
  readonly deprecation?: Deprecation;
}

export interface Deprecation {
  /** Release since which clients are warned: `1.21`. */
  readonly since: string;
  /** Release that does not serve it any more. */
  readonly until?: string;
  /** Version of the same kind to use instead. */
  readonly replacement?: string;
}

/** A resource with the TypeScript type of its objects: what clients are given. */
export interface ResourceType<T> extends ResourceDeclaration {
  /** Never present at run time; carries `T`. */
  readonly __object?: T;
}
