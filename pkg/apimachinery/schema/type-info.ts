/**
 * Types as codecs, patches, merges and documentation use them: references resolved, merge rules decided, lookups
 * ready. Built-in types come from declarations (`compile.ts`); those of custom resources from their OpenAPI.
 */
import type { Scalar, Shape } from '#apimachinery/schema/schema.js';

/** What lists are to merges: one value, a set of scalars, or objects told apart by keys. */
export type ListKind = 'atomic' | 'set' | 'map';

export interface FieldInfo {
  /** Name in JSON; empty for inline messages and for parts of types whose JSON is not an object. */
  readonly name: string;
  readonly protoName: string;
  readonly number: number;
  readonly container: 'single' | 'list' | 'map';
  /** Of the value, the element, or the map's value: exactly one of `scalar` and `type` is set. */
  readonly scalar: Scalar | undefined;
  readonly type: TypeInfo | undefined;
  /** Of the keys, for maps. */
  readonly keyScalar: Scalar | undefined;
  /** What a map's values are to server-side apply where they are lists or maps themselves; absent: what their type says. */
  readonly element?: FieldInfo | undefined;
  /** Unset is told from zero. */
  readonly pointer: boolean;
  /** Left out of JSON when empty. */
  readonly omitempty: boolean;
  /** Empty is told from absent until the object is stored (`dropEmpties`). */
  readonly keepsEmpty?: boolean;
  /** May be absent in a valid object. */
  readonly optional: boolean;
  /** The message's fields are the parent's in JSON. */
  readonly inline: boolean;
  /** Strategic merge patch. */
  readonly patchMerge: boolean;
  readonly patchRetainKeys: boolean;
  /** A message that takes the place of the other one instead of being merged into it. */
  readonly patchReplace?: boolean;
  readonly patchMergeKey: string | undefined;
  /** Server-side apply; what the declaration says or, failing that, what the strategic merge rules imply. */
  readonly listKind: ListKind;
  readonly listMapKeys: readonly string[];
  /** The map or the message is one value to server-side apply, here or wherever its type stands. */
  readonly atomic: boolean;
  readonly enumValues: readonly string[] | undefined;
  /** What the field is when nobody sets it; undefined: nothing. */
  readonly default: unknown;
  /** The same where OpenAPI and keys of lists have it, too. */
  readonly schemaDefault: unknown;
  /** Updates may not change it. */
  readonly immutable?: boolean;
  readonly featureGate: string | undefined;
  /** See `FieldRules`. */
  readonly whileOff?: string | undefined;
  readonly ungated?: readonly string[] | undefined;
  readonly doc: string | undefined;
  /** What 1.24 calls the type of the value, of the element or of the map where it has a name of its own. */
  readonly goType?: string | undefined;
}

/** Drops, in place, what an object's schema does not know, and tells of each path. May throw a DecodeError. */
export type Prune = (object: object, dropped: (path: string) => void) => void;

export interface TypeInfo {
  /** `core.v1.PodSpec`, `resource.Quantity`. */
  readonly name: string;
  /** `PodSpec`. */
  readonly shortName: string;
  /** As messages of 1.24 name it: `v1.PodSpec`. */
  readonly goName: string;
  readonly shape: Shape;
  /** True for what stands alone: its JSON has `apiVersion` and `kind` (on the wire these are in the envelope). */
  readonly isKind: boolean;
  /** True for `…List` kinds: `items` is always there. */
  readonly isList: boolean;
  /** By ascending number, as they are written on the wire. */
  readonly fields: readonly FieldInfo[];
  /** Names of its own fields in the order of the declaration, which is Go's; absent where no schema lists them. */
  readonly declared?: readonly string[];
  /** JSON fields, those of inline messages included. */
  readonly byName: ReadonlyMap<string, FieldInfo>;
  readonly byNumber: ReadonlyMap<number, FieldInfo>;
  /** The message is one value to server-side apply wherever it stands. */
  readonly atomic: boolean;
  /** What the type is, for people. */
  readonly doc: string | undefined;
  /** Of these members the one is set that the discriminator, a field too, names; absent where OpenAPI does not tell. */
  readonly union?: { readonly discriminator: string; readonly members: readonly string[] } | undefined;
  /**
   * Fields that an object of the type always has, those of inline messages included: messages that are no pointers, and
   * scalars that are not left out when zero. They are there with their zeros when nothing says otherwise, as in the JSON
   * of 1.24. Absent: none (custom resources).
   */
  readonly always?: readonly FieldInfo[];
  /** Members that no field describes are kept (custom resources that ask for it). */
  readonly preserveUnknown: boolean;
  /**
   * Of custom kinds: takes the place of the fields when an object is read. What is of another type than its schema says
   * is no malformed object, as it is for built-in kinds, but an invalid one.
   */
  readonly prune?: Prune | undefined;
  /** Of custom kinds: the schema that the definition has, which says more than fields do. */
  readonly openAPISchema?: object | undefined;
}
