/**
 * The schema language. Types of a kind are declared once, as plain data, in `pkg/api/<group>/<version>/`; TypeScript
 * types, codecs, field validation, defaults, merge keys, OpenAPI and tables are derived from the declarations.
 */
import type { GroupKey } from '#apimachinery/dialect.js';

export type Scalar = 'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'uint32' | 'uint64' | 'double' | 'float';

/** The JSON form of a type. */
export type Shape =
  /** An object of its fields. */
  | 'struct'
  /** RFC 3339 strings with second / microsecond precision. */
  | 'time'
  | 'microTime'
  /** `1h30m`. */
  | 'duration'
  /** `500m`. */
  | 'quantity'
  | 'intOrString'
  /** Any JSON value, unchanged; on the wire its JSON bytes. */
  | 'rawJSON'
  /** A bare list of the elements of its only field. */
  | 'bareList'
  /** JSONSchemaProps, or a list of them / a boolean / a list of strings. */
  | 'schemaOrArray'
  | 'schemaOrBool'
  | 'schemaOrStringArray';

/** Properties of a field besides number and type; `language.ts` has functions for its presence. */
export interface FieldRules {
  /** Unset differs from zero: an unset pointer is omitted, a set one is serialized even if zero. */
  readonly pointer?: boolean;
  /** Omitted from JSON if empty. */
  readonly omitempty?: boolean;
  /** May be absent in a valid object. */
  readonly optional?: boolean;
  /** Protobuf name, if it differs from the JSON name. */
  readonly protoName?: string;
  /** Strategic merge patch: `merge`, `replace`, `retainKeys`, comma separated. A merge key implies `merge`. */
  readonly patchStrategy?: string;
  readonly patchMergeKey?: string;
  /** Server-side apply. Keys imply `map`; a merge key of patches counts as one. */
  readonly listType?: 'atomic' | 'set' | 'map';
  readonly listMapKeys?: readonly string[];
  readonly mapType?: 'atomic' | 'granular';
  readonly structType?: 'atomic' | 'granular';
  /** Empty and absent remain distinct until the object is stored, for validation. */
  readonly keepsEmpty?: true;
  /** Default of an absent field, or of an empty one if the field cannot be empty. */
  readonly default?: unknown;
  /** OpenAPI includes the default, as for few fields in 1.24: clients and list keys then rely on it. */
  readonly defaultInSchema?: true;
  /** Valid range. The kind's validation decides when to check it (`rangesOf`). */
  readonly minimum?: number;
  readonly maximum?: number;
  /** Updates must not change it. Not supported inside lists. */
  readonly immutable?: true;
  /** Names the member of its union that is set. OpenAPI mentions it where 1.24 does (`inSchema`). */
  readonly discriminator?: true | 'inSchema';
  /** Fields of the message that must be unset if this one is set. Checked by `unions.ts`. */
  readonly excludes?: readonly string[];
  /** Name of an enum of the same group and version. */
  readonly enum?: string;
  /**
   * The field exists only while this gate is on. While it is off, writes drop the field unless it is stored already.
   */
  readonly featureGate?: string;
  /** While the gate is off, the field gets this value instead of being dropped. */
  readonly whileOff?: string;
  /** Gates that do not apply to this field and its parts. */
  readonly ungated?: readonly string[];
}

/** A field of a message. Its key in the message is its JSON name. */
export interface FieldDeclaration extends FieldRules {
  /** Protobuf field number. */
  readonly number: number;
  /** A scalar, a type of the same group and version, or `<group>.<version>.<Type>` (`resource.Quantity`). */
  readonly type: string;
  /** A list of `type`. */
  readonly repeated?: true;
  /** A map with keys of this scalar and values of `type`. */
  readonly map?: Scalar;
  /** The message's fields are inlined into the parent in JSON; on the wire it stays a nested message. */
  readonly inline?: true;
  /** Description in `explain` and OpenAPI, in our own words. */
  readonly doc?: string;
}

export interface MessageDeclaration {
  /** Description in `explain` and OpenAPI, in our own words. */
  readonly doc: string;
  /** JSON name → field. Keys that start with `~` are fields without JSON name (inline messages, parts of wrappers). */
  readonly fields: Readonly<Record<string, FieldDeclaration>>;
  /** A top-level type with `apiVersion` and `kind`. Implied for kinds of resources. */
  readonly isKind?: true;
  /** Absent: `struct`. */
  readonly shape?: Shape;
  /** The TypeScript type, if the shape does not determine it. */
  readonly typescript?: string;
  /** Exactly one of these fields is set; validation follows their order. Checked by `unions.ts`. */
  readonly union?: readonly string[];
  /** Server-side apply always treats it as one value (`+structType=atomic` on the type in 1.24). */
  readonly atomic?: true;
}

/** Groups without resources, which only contain wire types; their types have no version. */
export type PseudoGroup = 'runtime' | 'resource' | 'intstr';

/** The declarations of a file below `pkg/api/<group>/<version>/`: a kind and the types that only it uses. */
export interface KindDeclaration {
  readonly types: Readonly<Record<string, MessageDeclaration>>;
  readonly enums?: Readonly<Record<string, readonly string[]>>;
  /** The folder determines group and version. */
  readonly resources?: readonly Omit<ResourceDeclaration, 'group' | 'version'>[];
}

/** All declarations of a folder; generated by `hack/generate`. */
export interface GroupVersionDeclaration {
  readonly group: GroupKey | PseudoGroup;
  readonly version: string;
  readonly kinds: readonly KindDeclaration[];
}

export interface ColumnDeclaration {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  /** 1: wide output only. */
  readonly priority?: number;
  /** Description of the column. */
  readonly description?: string;
}

export interface SubresourceDeclaration {
  readonly name: string;
  readonly kind: string;
  /** Group and version of the kind, if they differ from the resource's. */
  readonly group?: GroupKey;
  readonly version?: string;
  readonly verbs: readonly string[];
}

/** A served resource. */
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
  /** The resource exists only while this gate is on. */
  readonly featureGate?: string;
  /** Set if objects are stored in the form of another version (possibly of another group) and converted. */
  readonly storedAs?: { readonly group?: GroupKey; readonly version: string };
  /**
   * The group in errors about invalid objects, if it is not the resource's: 1.24 shares one type between versions of
   * several groups and reports the group that registered it first.
   */
  readonly refusedIn?: string;
  /** Clients are warned that this version of the resource will be removed. */
  readonly deprecation?: Deprecation;
}

export interface Deprecation {
  /** First release with a warning: `1.21`. */
  readonly since: string;
  /** First release without this version. */
  readonly until?: string;
  /** The version of the kind to use instead. */
  readonly replacement?: string;
}

/** A resource with the TypeScript type of its objects, for clients. */
export interface ResourceType<T> extends ResourceDeclaration {
  /** Carries the type `T`; never present at run time. */
  readonly __object?: T;
}
