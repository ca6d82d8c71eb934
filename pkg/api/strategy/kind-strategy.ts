/**
 * Builds a strategy from what is particular to a kind. What holds for every kind is here: rules of metadata, the
 * separation of status and the rest, and generations.
 */

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

/** What a kind says about itself. Everything may be left out. */
export interface KindRules<T extends ApiObjectShape> extends Lifecycle<T> {
  /** Rule of names; absent: a DNS subdomain. */
  readonly name?: NameValidator;
  /** Updates only ask of generateName that a path could hold it: 1.24 does not validate these kinds as a whole then. */
  readonly anyGenerateNameOnUpdate?: boolean;
  /** 1.24 leaves the metadata of new objects to its registry, which looks at them when nothing else is wrong. */
  readonly metadataLast?: boolean;
  /** Finalizers need no domain. */
  readonly anyFinalizer?: boolean;
  /**
   * Fields whose change bumps metadata.generation, which then starts at 1; absent: the kind keeps none. Top-level
   * fields, or dotted paths such as `metadata.annotations`.
   */
  readonly generationFields?: readonly string[];
  /** Objects have no generation until one of them has changed. */
  readonly generationFromFirstChange?: boolean;
  /** A client may create the object with its status, as node agents do. */
  readonly keepStatusOnCreate?: boolean;
  /** Labels do not change with the status. */
  readonly statusUpdateKeepsLabels?: boolean;
  /** What depends on more than the field itself: runs after the declared defaults. */
  defaults?(object: Draft<T>, context: StrategyContext): void;
  /** Runs after status was removed. */
  prepareForCreate?(object: Draft<T>, context: StrategyContext): void;
  completeCreate?(object: Draft<T>, context: StrategyContext): void;
  /** Runs after the old status was put back, before generations are compared. */
  prepareForUpdate?(object: Draft<T>, old: T, context: StrategyContext): void;
  prepareForStatusUpdate?(object: Draft<T>, old: T, context: StrategyContext): void;
  /** Rules whose failures come before those of metadata, on create and on update. */
  validateFirst?(object: T, context: StrategyContext): readonly FieldFailure[];
  /** Rules of everything but metadata, on create and on update. */
  validate?(object: T, context: StrategyContext, old?: T): readonly FieldFailure[];
  /** What may not change, in addition to `validate`. */
  validateUpdate?(object: T, old: T, context: StrategyContext): readonly FieldFailure[];
  /** What an update changes once it is known whether the generation goes up. In place. */
  completeUpdate?(object: Draft<T>, old: T, context: StrategyContext): void;
  /** Failures of updates tell first of what may not change, and then of what is wrong with any object. */
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
  /** Absent: allowed, as for almost every kind of 1.24. */
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

/** What is declared is looked up when first asked for: most programs write objects of few resources. */
function typeOfResource(resource: ResourceDeclaration): (scheme: Scheme) => TypeInfo {
  return oncePer((scheme) => scheme.resourceOf(resource).type);
}

/** The strategy of a resource. Metadata is validated here, so kinds do not do it themselves. */
export function kindStrategy<T extends ApiObjectShape>(
  resource: ResourceDeclaration,
  rules: KindRules<T> = {},
): Strategy<T> {
  return strategyOf(resource, rules as unknown as AnyRules) as unknown as Strategy<T>;
}

/** What holds for every kind knows nothing of any. */
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

/** Makes everything but the metadata, and the named fields, a copy of what it is in `old`. */
export function keepAllBut<T extends ApiObjectShape>(object: Draft<T>, old: T, fields: readonly string[]): void {
  for (const field of new Set([...Object.keys(object), ...Object.keys(old)])) {
    if (field !== 'metadata' && !fields.includes(field)) copyField(object, old, field);
  }
}

/** What an update of the status may bring; all else stays as it is stored. */
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

/**
 * Makes a field of `object` a copy of what it is in `old`, absent included.
 */
export function copyField<T extends object>(object: Draft<T>, old: T, field: string): void {
  const value = (old as Fields)[field];
  if (value !== undefined) (object as Fields)[field] = copyJson(value);
  // Deleting is slow even where there is nothing, and makes the object slow where there is.
  else if (field in object) delete (object as Fields)[field];
}

/**
 * Makes all fields but the named ones what they are in `old`, and shares them with it: what puts an object back that nobody
 * changes from then on.
 */
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
