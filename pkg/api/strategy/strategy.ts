/**
 * What is particular to a kind. One strategy per resource; the generic registry does all the rest once for all kinds.
 * Strategies are pure: what they need comes in through the context.
 */

import type { ApiObjectShape, TableRowCells, TableRowCondition } from '#api/meta/object.js';
import type { LabelSelector } from '#api/meta/v1/types.gen.js';
import type { Conversion } from '#api/strategy/conversion.js';
import type { RuleGate } from '#api/strategy/feature-gates.js';
import type { Steps } from '#apimachinery/async/steps.js';
import type { Omissions } from '#apimachinery/codec/json/outline.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft, Replaceable } from '#apimachinery/draft.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';

/** Who makes the request. */
export interface Requester {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface StrategyContext {
  readonly dialect: Dialect;
  /** What is declared of the kinds, under that dialect's names. */
  readonly scheme: Scheme;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Milliseconds that never go backwards, for rules that may take only so long. */
  monotonic(): number;
  readonly gate: RuleGate;
  /** False: the cluster refuses privileged containers. */
  readonly allowPrivileged?: boolean;
  /** Given for writes; reads have no use for it. */
  readonly user?: Requester;
}

/** Names that lead to the parts of a scale. */
export interface ScaleParts {
  readonly specReplicas: readonly string[];
  readonly statusReplicas: readonly string[];
  /** Of a text; absent: the scale says nothing of what it counts. */
  readonly selector: readonly string[] | undefined;
}

/** An update of one part of an object, by a subresource of its own. */
export interface PartUpdate<T extends ApiObjectShape = ApiObjectShape> {
  /** Puts back, in place, whatever else the request changed; that may be shared with `old`, as nobody changes it any more. */
  prepare(object: Draft<T>, old: T, context: StrategyContext): void;
  validate(object: T, old: T, context: StrategyContext): readonly FieldFailure[];
}

/** What a kind says about the life of its objects. A kind says it in its rules, and its strategy has it as it stands. */
export interface Lifecycle<T extends ApiObjectShape = ApiObjectShape> {
  /** By the subresource's name, for all but `status`: `finalize`, `approval`. */
  readonly partUpdates?: Readonly<Record<string, PartUpdate<T>>>;
  /** Of the stored form: objects go away by themselves after the time that the server keeps such objects; absent: never. */
  readonly lifetime?: 'events';
  /** The garbage collector has nothing to do with them: what a deletion says of dependents is passed over. */
  readonly withoutDependents?: true;
  /** Objects are made up when they are read; none is stored. */
  readonly computed?: true;
  /** Absent: the answer to the delete of one object is a Status. */
  readonly deletionAnswer?: 'object';
  /** Absent: the answer to the delete of a collection is the list of what went. */
  readonly collectionDeletionAnswer?: 'status';
  /** True while something besides the finalizers of the metadata keeps a deleted object. */
  heldBySpec?(object: T): boolean;
  /** The object as it shows that it is going. The one given is shared, and not to be changed. */
  terminating?(object: T): T;
  /** A finalizer that the first request to delete the object adds, so that what belongs to it goes first. */
  cleanUp?(dialect: Dialect): string;
  /** Where its scale is, if not in `spec.replicas`, `status.replicas` and `spec.selector`. */
  readonly scaleParts?: ScaleParts;
  /**
   * Large parts of the stored form that hardly anybody needs: those who follow all objects may do without them. Absent:
   * there are none.
   */
  bulk?(dialect: Dialect): Omissions;
  /**
   * Stored bytes of a version that is not served any more as those of the stored version; the very same ones where they
   * are. Absent: there is none.
   */
  upgraded?(stored: Buffer, dialect: Dialect): Buffer;
  /** Which objects its scale counts, where `spec.selector` is not that label selector. */
  scaleSelector?(object: T): LabelSelector | undefined;
}

export interface Strategy<T extends ApiObjectShape = ApiObjectShape> extends Lifecycle<T> {
  /** From and to the form that is stored; absent where that is this version's. */
  readonly conversion?: Conversion;
  /**
   * Fills defaults in place; also run on objects read back from clients before an update. `origin`: the object came out of
   * an apply and not out of a decoder.
   */
  defaults?(object: Draft<T>, context: StrategyContext, origin?: 'applied'): void;
  /** Resets what a client may not set on create (status, generation, …), in place. */
  prepareForCreate?(object: Draft<T>, context: StrategyContext): void;
  /** Derives what depends on the uid and the final name, in place, just before validation; again for each generated name tried. */
  completeCreate?(object: Draft<T>, context: StrategyContext): void;
  /**
   * Resets what a client may not change on update (status stays the old one), in place; bumps generation when the spec
   * changed.
   */
  prepareForUpdate?(object: Draft<T>, old: T, context: StrategyContext): void;
  validateCreate?(object: T, context: StrategyContext): readonly FieldFailure[];
  validateUpdate?(object: T, old: T, context: StrategyContext): readonly FieldFailure[];
  /**
   * Update of the status subresource: only status (and some metadata) may change. What it puts back may be shared with `old`.
   * Absent: the kind has no status.
   */
  prepareForStatusUpdate?(object: Draft<T>, old: T, context: StrategyContext): void;
  validateStatusUpdate?(object: T, old: T, context: StrategyContext): readonly FieldFailure[];
  /**
   * What else is wrong with an object of which the validation of a create, an update or a write of the status has found that,
   * by rules that may take a second: in steps. Undefined: there are none.
   */
  rules?(
    object: T,
    old: T | undefined,
    found: readonly FieldFailure[],
    context: StrategyContext,
  ): Steps<readonly FieldFailure[]> | undefined;
  /** Brings a valid object into the form that is stored: its members are replaced, and not changed. */
  canonicalize?(object: Replaceable<T>, context: StrategyContext): void;
  /** Texts for `Warning` headers. */
  warnings?(object: T, old: T | undefined, context: StrategyContext): string[];
  /** Field selector names and values besides metadata.name and metadata.namespace, of the stored form. */
  selectableFields?(object: T): Record<string, string>;
  /** What is said of a field that cannot be selected by, where it is not what is said of most kinds. */
  fieldRefusal?(field: string): string;
  /** Field selectors of a version in which they have other names than in the stored one: name here → name there. */
  readonly fieldLabels?: Readonly<Record<string, string>>;
  /** Cells of the resource's declared columns, in their order; absent: name and creation time. */
  cells?(object: T, context: StrategyContext): TableRowCells;
  /** What a row says of its object besides the cells; absent: nothing. */
  rowConditions?(object: T): readonly TableRowCondition[];
  /**
   * Annotations that are fields of the object inside of 1.24, and are not in its metadata where that is asked for alone.
   * Absent: there are none.
   */
  readonly internalAnnotations?: readonly string[];
  /** An update of a name that does not exist creates it (as for leases, endpoints, nodes' status …). */
  readonly allowCreateOnUpdate?: boolean;
  /** An update without resourceVersion overwrites whatever is there. */
  readonly allowUnconditionalUpdate?: boolean;
  /** Seconds until the object is really removed when the request says nothing; absent: removed at once. */
  defaultGracePeriodSeconds?(
    object: T,
    requested: number | bigint | undefined,
    context: StrategyContext,
  ): number | bigint;
  /** Whether dependents are orphaned when a delete request does not say. */
  readonly defaultPropagation?: 'Background' | 'Orphan';
  /** Told to clients whose delete requests do not say what becomes of dependents. */
  readonly deletionWarning?: string;
}
