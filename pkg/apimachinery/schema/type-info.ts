/**
 * Types in the form that codecs, patches, merges and documentation use: references are resolved, merge rules decided,
 * lookups prepared. Built-in types come from declarations (`compile.ts`), custom ones from their OpenAPI schema.
 */
import type { Scalar, Shape } from '#apimachinery/schema/schema.js';

/** How merges treat lists: one value, a set of scalars, or objects with keys. */
export type ListKind = 'atomic' | 'set' | 'map';

export interface FieldInfo {
  /** JSON name; empty for inline messages and parts of types whose JSON is not an object. */
  readonly name: string;
  readonly protoName: string;
  readonly number: number;
  readonly container: 'single' | 'list' | 'map';
  /** Of the value, list element or map value: exactly one of `scalar` and `type` is set. */
  readonly scalar: Scalar | undefined;
  readonly type: TypeInfo | undefined;
  /** The scalar of map keys. */
  readonly keyScalar: Scalar | undefined;
  /** For server-side apply: the structure of map values that are lists or maps; absent: that of their type. */
  readonly element?: FieldInfo | undefined;
  /** Unset differs from zero. */
  readonly pointer: boolean;
  /** Omitted from JSON if empty. */
  readonly omitempty: boolean;
  /** Empty and absent remain distinct until the object is stored (`dropEmpties`). */
  readonly keepsEmpty?: boolean;
  /** May be absent in a valid object. */
  readonly optional: boolean;
  /** The message's fields are inlined into the parent in JSON. */
  readonly inline: boolean;
  /** Strategic merge patch. */
  readonly patchMerge: boolean;
  readonly patchRetainKeys: boolean;
  /** A message that replaces the old one instead of being merged. */
  readonly patchReplace?: boolean;
  readonly patchMergeKey: string | undefined;
  /** Server-side apply; declared, or implied by the strategic merge rules. */
  readonly listKind: ListKind;
  readonly listMapKeys: readonly string[];
  /** Server-side apply treats the map or message as one value, here or always. */
  readonly atomic: boolean;
  readonly enumValues: readonly string[] | undefined;
  /** Default of an absent field; undefined if there is none. */
  readonly default: unknown;
  /** The default, if OpenAPI and list keys also use it. */
  readonly schemaDefault: unknown;
  /** Updates must not change it. */
  readonly immutable?: boolean;
  readonly featureGate: string | undefined;
  /** See `FieldRules`. */
  readonly whileOff?: string | undefined;
  readonly ungated?: readonly string[] | undefined;
  readonly doc: string | undefined;
  /** The Go name in 1.24 of the value's, element's or map's type, if it has one. */
  readonly goType?: string | undefined;
}

/** Drops members unknown to an object's schema in place, and reports each path. May throw a DecodeError. */
export type Prune = (object: object, dropped: (path: string) => void) => void;

export interface TypeInfo {
  /** `core.v1.PodSpec`, `resource.Quantity`. */
  readonly name: string;
  /** `PodSpec`. */
  readonly shortName: string;
  /** The name in messages of 1.24: `v1.PodSpec`. */
  readonly goName: string;
  readonly shape: Shape;
  /** True for top-level types: their JSON has `apiVersion` and `kind` (in Protobuf the envelope has them). */
  readonly isKind: boolean;
  /** True for `…List` kinds: `items` is always present. */
  readonly isList: boolean;
  /** By ascending number, the order on the wire. */
  readonly fields: readonly FieldInfo[];
  /** Names of own fields in declaration order, which is Go's; absent without schema. */
  readonly declared?: readonly string[];
  /** JSON fields, including those of inline messages. */
  readonly byName: ReadonlyMap<string, FieldInfo>;
  readonly byNumber: ReadonlyMap<number, FieldInfo>;
  /** Server-side apply always treats the message as one value. */
  readonly atomic: boolean;
  /** Description. */
  readonly doc: string | undefined;
  /**
   * The union: exactly one member is set, and the discriminator field names it; absent if OpenAPI does not mention it.
   */
  readonly union?: { readonly discriminator: string; readonly members: readonly string[] } | undefined;
  /**
   * Fields that are always present, including those of inline messages: messages without pointers and scalars without
   * omitempty. They default to zero values, as in the JSON of 1.24. Absent: none (custom resources).
   */
  readonly always?: readonly FieldInfo[];
  /** Preserves undeclared members (custom resources with that option). */
  readonly preserveUnknown: boolean;
  /**
   * Custom kinds: prunes a decoded object instead of the fields. A value of a wrong type makes the object invalid, not
   * malformed as for built-in kinds.
   */
  readonly prune?: Prune | undefined;
  /** Custom kinds: the schema of the definition, which is more detailed than the fields. */
  readonly openAPISchema?: object | undefined;
}
