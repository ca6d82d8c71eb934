/** Builds a strategy from a kind's rules and those of all kinds: metadata, separate status and spec, generations. */

import type { ApiObjectShape, TableRowCells, TableRowCondition } from '#api/meta/object.js';
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/v1/objectmeta/validation.js';
import { anyGate, GatedFields } from '#api/strategy/gated-fields.js';
import { immutablePaths, validateImmutablePaths } from '#api/strategy/immutable-fields.js';
import type { Lifecycle, Strategy, StrategyContext } from '#api/strategy/strategy.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft, Replaceable } from '#apimachinery/draft.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { successor } from '#apimachinery/int64.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import { fillDefaults } from '#apimachinery/schema/defaults.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import { joined, none } from '#apimachinery/validation/failure.js';
import { dns1123SubdomainErrors, type NameValidator, pathSegmentErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

/** The rules of a kind. All are optional. */
export interface KindRules<T extends ApiObjectShape> extends Lifecycle<T> {
  /** Name validator; default: a DNS subdomain. */
  readonly name?: NameValidator;
  /**
   * Updates only require generateName to be a valid path segment: 1.24 does not validate these kinds as a whole then.
   */
  readonly anyGenerateNameOnUpdate?: boolean;
  /** In 1.24 the registry validates metadata of new objects, after all other rules have passed. */
  readonly metadataLast?: boolean;
  /** Finalizers need no domain. */
  readonly anyFinalizer?: boolean;
  /**
   * Fields whose change increments metadata.generation, which then starts at 1; absent: the kind has none. Top-level
   * fields, or dotted paths such as `metadata.annotations`.
   */
  readonly generationFields?: readonly string[];
  /** Objects have no generation until their first change. */
  readonly generationFromFirstChange?: boolean;
  /** A client may create the object with its status, as node agents do. */
  readonly keepStatusOnCreate?: boolean;
  /** Status updates do not change labels. */
  readonly statusUpdateKeepsLabels?: boolean;
  /** Defaults that depend on several fields; run after the declared ones. */
  defaults?(object: Draft<T>, context: StrategyContext): void;
  /** Runs after the status was removed. */
  prepareForCreate?(object: Draft<T>, context: StrategyContext): void;
  completeCreate?(object: Draft<T>, context: StrategyContext): void;
  /** See `Strategy`. */
  readonly contentFailures?: Strategy<T>['contentFailures'];
  /** Runs after the old status was restored, before generations are compared. */
  prepareForUpdate?(object: Draft<T>, old: T, context: StrategyContext): void;
  prepareForStatusUpdate?(object: Draft<T>, old: T, context: StrategyContext): void;
  /** Rules whose failures precede those of metadata, on create and update. */
  validateFirst?(object: T, context: StrategyContext): readonly FieldFailure[];
  /** Rules of everything but metadata, on create and update. */
  validate?(object: T, context: StrategyContext, old?: T): readonly FieldFailure[];
  /** Rules of changes, in addition to `validate`. */
  validateUpdate?(object: T, old: T, context: StrategyContext): readonly FieldFailure[];
  /** Changes made by an update after the generation was determined. In place. */
  completeUpdate?(object: Draft<T>, old: T, context: StrategyContext): void;
  /** Failures of forbidden changes precede all others of an update. */
  readonly changesFirst?: true;
  validateStatusUpdate?(object: T, old: T, context: StrategyContext): readonly FieldFailure[];
  canonicalize?(object: Replaceable<T>, context: StrategyContext): void;
  warnings?(object: T, old: T | undefined, context: StrategyContext): string[];
  selectableFields?(object: T): Record<string, string>;
  /** See `Strategy.fieldRefusal`. */
  fieldRefusal?(field: string): string;
  cells?(object: T, context: StrategyContext): TableRowCells;
  rowConditions?(object: T): readonly TableRowCondition[];
  /** See `Strategy.internalAnnotations`. */
  readonly internalAnnotations?: readonly string[];
  readonly allowCreateOnUpdate?: boolean;
  /** Default: allowed, as for almost every kind of 1.24. */
  readonly allowUnconditionalUpdate?: boolean;
  defaultGracePeriodSeconds?(
    object: T,
    requested: number | bigint | undefined,
    context: StrategyContext,
  ): number | bigint;
  readonly defaultPropagation?: 'Background' | 'Orphan';
  /** See `Strategy.deletionWarning`. */
  readonly deletionWarning?: string;
}

const metadataPath = FieldPath.of('metadata');

type GatedFieldsOf = (scheme: Scheme) => GatedFields;

/** Types are looked up on first use: most programs write few kinds. */
function typeOfResource(resource: ResourceDeclaration): (scheme: Scheme) => TypeInfo {
  return oncePer((scheme) => scheme.resourceOf(resource).type);
}

/** The strategy of a resource. It validates metadata, so kinds do not. */
export function kindStrategy<T extends ApiObjectShape>(
  resource: ResourceDeclaration,
  rules: KindRules<T> = {},
): Strategy<T> {
  return strategyOf(resource, rules as unknown as AnyRules) as unknown as Strategy<T>;
}

/** Generic rules of any kind. */
type AnyRules = KindRules<ApiObjectShape>;

function strategyOf(resource: ResourceDeclaration, rules: AnyRules): Strategy {
  const hasStatus = resource.subresources?.some((subresource) => subresource.name === 'status') ?? false;
  const typeOf = typeOfResource(resource);
  const immutable = oncePer((scheme: Scheme) => immutablePaths(typeOf(scheme)));
  const gated: GatedFieldsOf = oncePer((scheme) => new GatedFields(typeOf(scheme), hasStatus));
  const { namespaced } = resource;
  const { name = dns1123SubdomainErrors, anyFinalizer = false } = rules;
  const strategy: Strategy = {
    allowUnconditionalUpdate: rules.allowUnconditionalUpdate ?? true,
    prepareForCreate(object, context) {
      if (hasStatus && !rules.keepStatusOnCreate && 'status' in object) Reflect.deleteProperty(object, 'status');
      if (rules.generationFields !== undefined && rules.generationFromFirstChange !== true) {
        object.metadata.generation = 1;
      }
      gated(context.scheme).drop(object, { gate: anyGate(context), part: 'main' });
      rules.prepareForCreate?.(object, context);
    },
    prepareForUpdate(object, old, context) {
      if (hasStatus) copyField(object, old, 'status');
      gated(context.scheme).drop(object, { gate: anyGate(context), old, part: 'main' });
      rules.prepareForUpdate?.(object, old, context);
      carryGeneration(object, old);
      if (rules.generationFields?.some((field) => changed(object, old, field))) {
        object.metadata.generation = successor(old.metadata.generation ?? 0);
      }
      rules.completeUpdate?.(object, old, context);
    },
    validateCreate(object, context) {
      const metadata = () =>
        validateObjectMeta(object.metadata, { dialect: context.dialect, namespaced, name, anyFinalizer }, metadataPath);
      const rest = () => rules.validate?.(object, context) ?? none;
      if (rules.metadataLast !== true) {
        return joined(rules.validateFirst?.(object, context) ?? none, metadata(), rest());
      }
      const failures = rest();
      return failures.length > 0 ? failures : metadata();
    },
    validateUpdate(object, old, context) {
      const metadata = validateObjectMetaUpdate(
        object.metadata,
        old.metadata,
        {
          dialect: context.dialect,
          name: rules.anyGenerateNameOnUpdate === true ? pathSegmentErrors : name,
          anyFinalizer,
        },
        metadataPath,
      );
      const checks = [
        rules.validate?.(object, context, old) ?? none,
        rules.validateUpdate?.(object, old, context) ?? none,
        validateImmutablePaths(immutable(context.scheme), object, old),
      ];
      const first = rules.validateFirst?.(object, context) ?? none;
      return joined(first, metadata, ...(rules.changesFirst === true ? checks.reverse() : checks));
    },
    defaults(object, context) {
      fillDefaults(typeOf(context.scheme), object, anyGate(context));
      rules.defaults?.(object, context);
    },
    ...optional(rules),
  };
  if (hasStatus) Object.assign(strategy, statusStrategy(rules, gated));
  return Object.freeze(strategy);
}

function optional(rules: AnyRules): Partial<Strategy> {
  return {
    ...(rules.completeCreate && { completeCreate: rules.completeCreate }),
    ...(rules.contentFailures && { contentFailures: rules.contentFailures }),
    ...(rules.canonicalize && { canonicalize: rules.canonicalize }),
    ...(rules.warnings && { warnings: rules.warnings }),
    ...(rules.selectableFields && { selectableFields: rules.selectableFields }),
    ...(rules.cells && { cells: rules.cells }),
    ...(rules.rowConditions && { rowConditions: rules.rowConditions }),
    ...(rules.internalAnnotations && { internalAnnotations: rules.internalAnnotations }),
    ...(rules.allowCreateOnUpdate && { allowCreateOnUpdate: true }),
    ...(rules.defaultGracePeriodSeconds && { defaultGracePeriodSeconds: rules.defaultGracePeriodSeconds }),
    ...(rules.defaultPropagation && { defaultPropagation: rules.defaultPropagation }),
    ...(rules.deletionWarning && { deletionWarning: rules.deletionWarning }),
    ...(rules.fieldRefusal && { fieldRefusal: rules.fieldRefusal }),
    ...lifecycle(rules),
  };
}

function lifecycle(rules: AnyRules): Lifecycle {
  return {
    ...(rules.partUpdates && { partUpdates: rules.partUpdates }),
    ...(rules.lifetime && { lifetime: rules.lifetime }),
    ...(rules.withoutDependents && { withoutDependents: true }),
    ...(rules.computed && { computed: true }),
    ...(rules.deletionAnswer && { deletionAnswer: rules.deletionAnswer }),
    ...(rules.collectionDeletionAnswer && { collectionDeletionAnswer: rules.collectionDeletionAnswer }),
    ...(rules.heldBySpec && { heldBySpec: rules.heldBySpec }),
    ...(rules.terminating && { terminating: rules.terminating }),
    ...(rules.cleanUp && { cleanUp: rules.cleanUp }),
    ...(rules.bulk && { bulk: rules.bulk }),
    ...(rules.upgraded && { upgraded: rules.upgraded }),
    ...(rules.scaleSelector && { scaleSelector: rules.scaleSelector }),
  };
}

/** Replaces all members of `object` except metadata and the named fields by copies from `old`. */
export function keepAllBut<T extends ApiObjectShape>(object: Draft<T>, old: T, fields: readonly string[]): void {
  for (const field of new Set([...Object.keys(object), ...Object.keys(old)])) {
    if (field !== 'metadata' && !fields.includes(field)) copyField(object, old, field);
  }
}

/** Members that a status update may change; all others keep their stored value. */
const ofStatusUpdate: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'status']);

function statusStrategy(rules: AnyRules, gated: GatedFieldsOf): Partial<Strategy> {
  return {
    prepareForStatusUpdate(object, old, context) {
      carryGeneration(object, old);
      if (rules.statusUpdateKeepsLabels) copyField(object.metadata, old.metadata, 'labels');
      gated(context.scheme).drop(object, { gate: anyGate(context), old, part: 'status' });
      rules.prepareForStatusUpdate?.(object, old, context);
      shareAllBut(object, old, ofStatusUpdate);
    },
    validateStatusUpdate: (object, old, context) =>
      joined(
        validateObjectMetaUpdate(
          object.metadata,
          old.metadata,
          { dialect: context.dialect, name: pathSegmentErrors, anyFinalizer: rules.anyFinalizer === true },
          metadataPath,
        ),
        rules.validateStatusUpdate?.(object, old, context) ?? none,
      ),
  };
}

type Fields = Record<string, unknown>;

/** Copies a field from `old`, or removes it if absent there. */
export function copyField<T extends object>(object: Draft<T>, old: T, field: string): void {
  const value = (old as Fields)[field];
  if (value !== undefined) (object as Fields)[field] = copyJson(value);
  // Deletion is slow even for absent members, and slows down later accesses.
  else if (field in object) delete (object as Fields)[field];
}

/** Shares all fields except the named ones with `old`: restores an object that is not modified afterwards. */
export function shareAllBut<T extends object>(object: Replaceable<T>, old: T, fields: ReadonlySet<string>): void {
  for (const field of Object.keys(object)) if (!fields.has(field) && !(field in old)) delete (object as Fields)[field];
  for (const field of Object.keys(old)) if (!fields.has(field)) (object as Fields)[field] = (old as Fields)[field];
}

function carryGeneration(object: Draft<ApiObjectShape>, old: ApiObjectShape): void {
  copyField(object.metadata, old.metadata, 'generation');
}

function changed(object: ApiObjectShape, old: ApiObjectShape, field: string): boolean {
  return !semanticEqual(fieldAt(object, field), fieldAt(old, field));
}

function fieldAt(root: object, field: string): unknown {
  if (!field.includes('.')) return (root as Fields)[field];
  return field
    .split('.')
    .reduce<unknown>((value, step) => (isObject(value) ? (value as Fields)[step] : undefined), root);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
