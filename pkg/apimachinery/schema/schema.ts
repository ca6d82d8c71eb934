/**
 * The schema language. A kind's types are declared once, as plain data, in `pkg/api/<group>/<version>/`; TypeScript
 * types, codecs, field validation, defaults, merge keys, OpenAPI and tables are all derived from the declarations.
 */
import type { GroupKey } from '#apimachinery/dialect.js';

export type Scalar = 'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'uint32' | 'uint64' | 'double' | 'float';

/** How the type looks in JSON where it is not simply an object of its fields. */
export type Shape =
  /** An object of its fields. */
  | 'struct'
  /** RFC 3339 strings of second / microsecond precision. */
  | 'time'
  | 'microTime'
  /** `1h30m`. */
  | 'duration'
  /** `500m`. */
  | 'quantity'
  | 'intOrString'
  /** Any JSON value, kept as it is; bytes of JSON on the wire. */
  | 'rawJSON'
  /** A bare list of the elements of its only field. */
  | 'bareList'
  /** JSONSchemaProps, or else a list of them / a boolean / a list of strings. */
  | 'schemaOrArray'
  | 'schemaOrBool'
  | 'schemaOrStringArray';

/** What a field has besides its number and type; see `language.ts` for the words that tell its presence. */
export interface FieldRules {
  /** Unset is told from zero: an unset pointer is left out, a set one is written even when zero. */
  readonly pointer?: boolean;
  /** Left out of JSON when empty. */
  readonly omitempty?: boolean;
  /** May be absent in a valid object. */
  readonly optional?: boolean;
  /** Name in Protobuf where it is not the JSON name. */
  readonly protoName?: string;
  /** Strategic merge patch: `merge`, `replace`, `retainKeys`, comma separated. A merge key implies `merge`. */
  readonly patchStrategy?: string;
  readonly patchMergeKey?: string;
  /** Server-side apply. Keys imply `map`; a merge key of patches is one. */
  readonly listType?: 'atomic' | 'set' | 'map';
  readonly listMapKeys?: readonly string[];
  readonly mapType?: 'atomic' | 'granular';
  readonly structType?: 'atomic' | 'granular';
  /** Empty is told from absent until the object is stored: rules look at it. */
  readonly keepsEmpty?: true;
  /** What the field is when nobody sets it, or sets it to nothing where that is no value of its own. */
  readonly default?: unknown;
  /** OpenAPI tells the default, as 1.24 does for few: clients and keys of lists then count on it. */
  readonly defaultInSchema?: true;
  /** Least and greatest number allowed. What checks the kind says when to look (`rangesOf`). */
  readonly minimum?: number;
  readonly maximum?: number;
  /** An update that changes it is refused. Not for what is in lists. */
  readonly immutable?: true;
  /** It names the member of its union that is set. OpenAPI tells so where 1.24 does (`inSchema`). */
  readonly discriminator?: true | 'inSchema';
  /** Fields of the message that are not set where this one is. What checks it is `unions.ts`. */
  readonly excludes?: readonly string[];
  /** Name of an enum of the same group and version. */
  readonly enum?: string;
  /** The field is there only while this gate is on. While it is off, writes that do not find it stored lose it. */
  readonly featureGate?: string;
  /** The value that the field gets, instead of being dropped, while its gate is off. */
  readonly whileOff?: string;
  /** Gates that this field and what is below it do not heed. */
  readonly ungated?: readonly string[];
}

/** One field of a message. The field's JSON name is its key in the message. */
export interface FieldDeclaration extends FieldRules {
  /** Protobuf field number. */
  readonly number: number;
  /** A scalar, a type of the same group and version, or `<group>.<version>.<Type>` (`resource.Quantity`, `intstr.IntOrString`). */
  readonly type: string;
  /** A list of `type`. */
  readonly repeated?: true;
  /** A map whose key is this scalar and whose value is `type`. */
  readonly map?: Scalar;
  /** The message's fields are flattened into the parent in JSON; on the wire it stays one nested message. */
  readonly inline?: true;
  /** What `explain` and OpenAPI say, in our own words. */
  readonly doc?: string;
}

export interface MessageDeclaration {
  /** What `explain` and OpenAPI say, in our own words. */
  readonly doc: string;
  /** JSON name → field. Keys that start with `~` are fields with no JSON name of their own (inline, wrapper parts). */
  readonly fields: Readonly<Record<string, FieldDeclaration>>;
  /** It stands alone, with `apiVersion` and `kind`. Kinds that are served need not say so. */
  readonly isKind?: true;
  /** Absent: `struct`. */
  readonly shape?: Shape;
  /** The TypeScript type, where the shape leaves it open. */
  readonly typescript?: string;
  /** Fields of which one is set, in the order in which rules look at them. What checks it is `unions.ts`. */
  readonly union?: readonly string[];
  /** One value to server-side apply wherever it stands (`+structType=atomic` on the type in 1.24). */
  readonly atomic?: true;
}

/** Groups that hold wire types only and serve nothing; their types have no version. */
export type PseudoGroup = 'runtime' | 'resource' | 'intstr';

/** What one file below `pkg/api/<group>/<version>/` declares: a kind with the types that only it uses. */
export interface KindDeclaration {
  readonly types: Readonly<Record<string, MessageDeclaration>>;
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
  /** What the column shows, for people. */
  readonly description?: string;
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
  /**
   * The group that refusals of invalid objects name where it is not the resource's: 1.24 has one type for the versions of
   * several groups, and takes the group in which that was registered first.
   */
  readonly refusedIn?: string;
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
