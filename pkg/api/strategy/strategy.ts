/**
 * The specifics of a kind. There is one strategy per resource; the generic registry does the rest for all kinds.
 * Strategies are pure: the context provides their inputs.
 */

import type { ApiObjectShape, TableRowCells, TableRowCondition } from '#api/meta/object.js';
import type { LabelSelector } from '#api/meta/v1/types.gen.js';
import type { Conversion } from '#api/strategy/conversion.js';
import type { RuleGate } from '#api/strategy/feature-gates.js';
import type { Steps } from '#apimachinery/async/steps.js';
import type { Omissions } from '#apimachinery/codec/json/omit-members.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft, Replaceable } from '#apimachinery/draft.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';

/** The user that makes the request. */
export interface Requester {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface StrategyContext {
  readonly dialect: Dialect;
  /** The declared kinds with the names of the dialect. */
  readonly scheme: Scheme;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Milliseconds that never go backwards, for rules with a time limit. */
  monotonic(): number;
  readonly gate: RuleGate;
  /** False: the cluster refuses privileged containers. */
  readonly allowPrivileged?: boolean;
  /** Set for writes only. */
  readonly user?: Requester;
}

/** Paths to the parts of a scale. */
export interface ScaleParts {
  readonly specReplicas: readonly string[];
  readonly statusReplicas: readonly string[];
  /** Path of a text; absent: the scale has no selector. */
  readonly selector: readonly string[] | undefined;
}

/** An update of one part of an object through its own subresource. */
export interface PartUpdate<T extends ApiObjectShape = ApiObjectShape> {
  /** Restores all other parts in place; they may be shared with `old`, because nothing modifies them afterwards. */
  prepare(object: Draft<T>, old: T, context: StrategyContext): void;
  validate(object: T, old: T, context: StrategyContext): readonly FieldFailure[];
}

/** Rules of a kind about the life of its objects, which its strategy adopts unchanged. */
export interface Lifecycle<T extends ApiObjectShape = ApiObjectShape> {
  /** By subresource name, except `status`: `finalize`, `approval`. */
  readonly partUpdates?: Readonly<Record<string, PartUpdate<T>>>;
  /** For the stored form: objects expire after the configured time; absent: never. */
  readonly lifetime?: 'events';
  /** The garbage collector ignores these objects: deletion options about dependents have no effect. */
  readonly withoutDependents?: true;
  /** Objects are computed on read; none is stored. */
  readonly computed?: true;
  /** Absent: deleting an object returns a Status. */
  readonly deletionAnswer?: 'object';
  /** Absent: deleting a collection returns the list of deleted objects. */
  readonly collectionDeletionAnswer?: 'status';
  /** True if the deleted object must stay for other reasons than metadata finalizers. */
  heldBySpec?(object: T): boolean;
  /** The object in its terminating state. Must not modify the argument, which is shared. */
  terminating?(object: T): T;
  /** A finalizer that the first delete request adds, so that dependent data are removed first. */
  cleanUp?(dialect: Dialect): string;
  /** The paths of its scale, if not `spec.replicas`, `status.replicas` and `spec.selector`. */
  readonly scaleParts?: ScaleParts;
  /** Large parts of the stored form that few readers need: watchers of all objects may omit them. Absent: none. */
  bulk?(dialect: Dialect): Omissions;
  /**
   * Converts stored bytes of a version that is no longer served to the stored version; returns the same bytes if
   * unnecessary. Absent: there is none.
   */
  upgraded?(stored: Buffer, dialect: Dialect): Buffer;
  /** The selector of its scale, if not the label selector `spec.selector`. */
  scaleSelector?(object: T): LabelSelector | undefined;
}

/** What a validation was about, and what it resulted in. */
export interface ValidatedParts {
  /** Absent: the whole object was written. */
  readonly part?: 'status' | undefined;
  readonly failures: readonly FieldFailure[];
}

export interface Strategy<T extends ApiObjectShape = ApiObjectShape> extends Lifecycle<T> {
  /** The conversion from and to the stored form; absent if this version is stored. */
  readonly conversion?: Conversion;
  /**
   * Sets defaults in place; also runs on objects read back from clients before an update. `origin`: the object comes
   * from an apply, not from a decoder.
   */
  defaults?(object: Draft<T>, context: StrategyContext, origin?: 'applied'): void;
  /**
   * `defaults` in steps, for kinds whose defaults may add much; those have no `defaults`. Throws a StatusError if
   * it is too much.
   */
  defaultSteps?(object: Draft<T>, context: StrategyContext, origin?: 'applied'): Steps<void>;
  /** Resets fields that a client may not set on create (status, generation, …), in place. */
  prepareForCreate?(object: Draft<T>, context: StrategyContext): void;
  /** Before validation, sets fields that depend on the uid and name, in place; repeated per generated name. */
  completeCreate?(object: Draft<T>, context: StrategyContext): void;
  /** Resets fields that clients may not change, in place; increments the generation if the spec changed. */
  prepareForUpdate?(object: Draft<T>, old: T, context: StrategyContext): void;
  validateCreate?(object: T, context: StrategyContext): readonly FieldFailure[];
  validateUpdate?(object: T, old: T, context: StrategyContext): readonly FieldFailure[];
  /**
   * Update of the status subresource: only status and some metadata may change. Restored fields may be shared with
   * `old`. Absent: the kind has no status.
   */
  prepareForStatusUpdate?(object: Draft<T>, old: T, context: StrategyContext): void;
  validateStatusUpdate?(object: T, old: T, context: StrategyContext): readonly FieldFailure[];
  /**
   * Failures of the content, in steps, besides those of the validation of a create, update or status write. Absent: that
   * validation is complete. Throws a StatusError if the content cannot be validated.
   */
  contentFailures?(
    object: T,
    old: T | undefined,
    context: StrategyContext,
    validated: ValidatedParts,
  ): Steps<readonly FieldFailure[]>;
  /**
   * Additional failures by rules that may take a second, in steps; `earlier` are those of the validation of a create,
   * update or status write. Undefined: there are no rules.
   */
  rules?(
    object: T,
    old: T | undefined,
    earlier: readonly FieldFailure[],
    context: StrategyContext,
  ): Steps<readonly FieldFailure[]> | undefined;
  /** Converts a valid object to its stored form: members are replaced, not modified. */
  canonicalize?(object: Replaceable<T>, context: StrategyContext): void;
  /** Texts for `Warning` headers. */
  warnings?(object: T, old: T | undefined, context: StrategyContext): string[];
  /** Values for field selectors besides metadata.name and metadata.namespace, of the stored form. */
  selectableFields?(object: T): Record<string, string>;
  /** The message for a field that is not selectable, if it differs from the usual one. */
  fieldRefusal?(field: string): string;
  /** Selectable fields of a version with other names than in the stored one: name in this version → stored name. */
  readonly fieldLabels?: Readonly<Record<string, string>>;
  /** Cells of the declared columns, in order; default: name and creation time. */
  cells?(object: T, context: StrategyContext): TableRowCells;
  /** Conditions of an object's table row; default: none. */
  rowConditions?(object: T): readonly TableRowCondition[];
  /** Annotations that 1.24 keeps as internal fields, so that its metadata-only responses lack them. Default: none. */
  readonly internalAnnotations?: readonly string[];
  /** An update of an unknown name creates it (as for leases, endpoints, nodes' status …). */
  readonly allowCreateOnUpdate?: boolean;
  /** An update without resourceVersion overwrites the stored object. */
  readonly allowUnconditionalUpdate?: boolean;
  /** Grace period in seconds if the request has none; absent: immediate removal. */
  defaultGracePeriodSeconds?(
    object: T,
    requested: number | bigint | undefined,
    context: StrategyContext,
  ): number | bigint;
  /** Treatment of dependents if the delete request does not specify it. */
  readonly defaultPropagation?: 'Background' | 'Orphan';
  /** Warning for clients whose delete requests do not specify the treatment of dependents. */
  readonly deletionWarning?: string;
}
