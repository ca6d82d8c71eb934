/**
 * Builds a strategy from what is particular to a kind. What holds for every kind is here: rules of metadata, the
 * separation of status and the rest, and generations.
 */

import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/v1/objectmeta/validation.js';
import type { ApiObjectShape, TableRowCells } from '#api/object.js';
import { dropDisabledFields, type GatedFields, gatedFieldsOf } from '#api/strategy/gated-fields.js';
import type { Strategy, StrategyContext } from '#api/strategy.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import { dns1123SubdomainErrors, type NameValidator } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

/** What a kind says about itself. Everything may be left out. */
export interface KindRules<T extends ApiObjectShape> {
  /** Rule of names; absent: a DNS subdomain. */
  readonly name?: NameValidator;
  /**
   * Fields whose change bumps metadata.generation, which then starts at 1; absent: the kind keeps none. Top-level
   * fields, or dotted paths such as `metadata.annotations`.
   */
  readonly generationFields?: readonly string[];
  /** A client may create the object with its status, as node agents do. */
  readonly keepStatusOnCreate?: boolean;
  /** Labels do not change with the status. */
  readonly statusUpdateKeepsLabels?: boolean;
  defaults?(object: T, context: StrategyContext): void;
  /** Runs after status was removed. */
  prepareForCreate?(object: T, context: StrategyContext): void;
  completeCreate?(object: T, context: StrategyContext): void;
  /** Runs after the old status was put back, before generations are compared. */
  prepareForUpdate?(object: T, old: T, context: StrategyContext): void;
  prepareForStatusUpdate?(object: T, old: T, context: StrategyContext): void;
  /** Rules of everything but metadata, on create and on update. */
  validate?(object: T, context: StrategyContext, old?: T): FieldFailure[];
  /** What may not change, in addition to `validate`. */
  validateUpdate?(object: T, old: T, context: StrategyContext): FieldFailure[];
  validateStatusUpdate?(object: T, old: T, context: StrategyContext): FieldFailure[];
  warnings?(object: T, old: T | undefined, context: StrategyContext): string[];
  selectableFields?(object: T): Record<string, string>;
  cells?(object: T, context: StrategyContext): TableRowCells;
  readonly allowCreateOnUpdate?: boolean;
  /** Absent: allowed, as for almost every kind of 1.24. */
  readonly allowUnconditionalUpdate?: boolean;
  defaultGracePeriodSeconds?(object: T, requested: number | undefined, context: StrategyContext): number;
  readonly defaultPropagation?: 'Background' | 'Orphan';
}

const metadataPath = FieldPath.of('metadata');

/** The strategy of a resource. Metadata is validated here, so kinds do not do it themselves. */
export function kindStrategy<T extends ApiObjectShape>(
  resource: ResourceDeclaration,
  rules: KindRules<T> = {},
): Strategy<T> {
  const hasStatus = resource.subresources?.some((subresource) => subresource.name === 'status') ?? false;
  const gated = gatedFieldsOf(resource) ?? {};
  const validateMeta = (object: T, context: StrategyContext): FieldFailure[] =>
    validateObjectMeta(
      object.metadata,
      { dialect: context.dialect, namespaced: resource.namespaced, name: rules.name ?? dns1123SubdomainErrors },
      metadataPath,
    );
  const strategy: Strategy<T> = {
    allowUnconditionalUpdate: rules.allowUnconditionalUpdate ?? true,
    prepareForCreate(object, context) {
      if (hasStatus && !rules.keepStatusOnCreate) Reflect.deleteProperty(object, 'status');
      if (rules.generationFields !== undefined) object.metadata.generation = 1;
      dropDisabledFields(object, gated, { gate: context.gate, part: 'main' });
      rules.prepareForCreate?.(object, context);
    },
    prepareForUpdate(object, old, context) {
      if (hasStatus) copyField(object, old, 'status');
      dropDisabledFields(object, gated, { gate: context.gate, old, part: 'main' });
      rules.prepareForUpdate?.(object, old, context);
      carryGeneration(object, old);
      if (rules.generationFields?.some((field) => changed(object, old, field))) {
        object.metadata.generation = (old.metadata.generation ?? 0) + 1;
      }
    },
    validateCreate: (object, context) => [
      ...validateMeta(object, context),
      ...(rules.validate?.(object, context) ?? []),
    ],
    validateUpdate: (object, old, context) => [
      ...validateObjectMetaUpdate(object.metadata, old.metadata, context.dialect, metadataPath),
      ...(rules.validate?.(object, context, old) ?? []),
      ...(rules.validateUpdate?.(object, old, context) ?? []),
    ],
    ...optional(rules),
  };
  if (hasStatus) Object.assign(strategy, statusStrategy(rules, gated));
  return Object.freeze(strategy);
}

function optional<T extends ApiObjectShape>(rules: KindRules<T>): Partial<Strategy<T>> {
  return {
    ...(rules.defaults && { defaults: rules.defaults }),
    ...(rules.completeCreate && { completeCreate: rules.completeCreate }),
    ...(rules.warnings && { warnings: rules.warnings }),
    ...(rules.selectableFields && { selectableFields: rules.selectableFields }),
    ...(rules.cells && { cells: rules.cells }),
    ...(rules.allowCreateOnUpdate && { allowCreateOnUpdate: true }),
    ...(rules.defaultGracePeriodSeconds && { defaultGracePeriodSeconds: rules.defaultGracePeriodSeconds }),
    ...(rules.defaultPropagation && { defaultPropagation: rules.defaultPropagation }),
  };
}

function statusStrategy<T extends ApiObjectShape>(rules: KindRules<T>, gated: GatedFields): Partial<Strategy<T>> {
  return {
    prepareForStatusUpdate(object, old, context) {
      for (const field of new Set([...Object.keys(object), ...Object.keys(old)])) {
        if (!['apiVersion', 'kind', 'metadata', 'status'].includes(field)) copyField(object, old, field);
      }
      carryGeneration(object, old);
      if (rules.statusUpdateKeepsLabels) copyField(object.metadata, old.metadata, 'labels');
      dropDisabledFields(object, gated, { gate: context.gate, old, part: 'status' });
      rules.prepareForStatusUpdate?.(object, old, context);
    },
    validateStatusUpdate: (object, old, context) => [
      ...validateObjectMetaUpdate(object.metadata, old.metadata, context.dialect, metadataPath),
      ...(rules.validateStatusUpdate?.(object, old, context) ?? []),
    ],
  };
}

/** Makes a field of `object` what it is in `old`, absent included. The value is shared, not copied. */
export function copyField<T extends object>(object: T, old: T, field: string): void {
  const value: unknown = Reflect.get(old, field);
  if (value === undefined) Reflect.deleteProperty(object, field);
  else Reflect.set(object, field, value);
}

function carryGeneration(object: ApiObjectShape, old: ApiObjectShape): void {
  copyField(object.metadata, old.metadata, 'generation');
}

function changed(object: ApiObjectShape, old: ApiObjectShape, field: string): boolean {
  const at = (root: object): unknown =>
    field.split('.').reduce<unknown>((value, step) => (isObject(value) ? Reflect.get(value, step) : undefined), root);
  return !semanticEqual(at(object), at(old));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
