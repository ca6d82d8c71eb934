/**
 * The strategy of a version that is not stored. Rules are written once, for the stored form, like 1.24's rules for its
 * internal form: objects are converted, processed with the field names of the stored form, and converted back. Only
 * defaults are specific to a version.
 */

import type { ApiObjectShape } from '#api/meta/object.js';
import { type Conversion, renamed } from '#api/strategy/conversion.js';
import { anyGate } from '#api/strategy/gated-fields.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import type { Draft } from '#apimachinery/draft.js';
import { fillDefaults } from '#apimachinery/schema/defaults.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';

export interface ConvertedRules<T extends ApiObjectShape, S extends ApiObjectShape> {
  /** The strategy of the stored form, adapted where this version differs. */
  readonly stored: Strategy<S>;
  readonly conversion: Conversion<T, S>;
  /** Defaults that depend on several fields; run after the declared ones. */
  defaults?(object: Draft<T>, context: StrategyContext): void;
  /** All selectable fields, if they have other names than in the stored form: name in this version → stored name. */
  readonly fieldLabels?: Readonly<Record<string, string>>;
  fieldRefusal?(field: string): string;
}

export function convertedStrategy<T extends ApiObjectShape, S extends ApiObjectShape>(
  resource: ResourceDeclaration,
  rules: ConvertedRules<T, S>,
): Strategy<T> {
  return strategyOf(resource, rules as unknown as AnyRules) as unknown as Strategy<T>;
}

/** Generic rules of any kind. */
type AnyRules = ConvertedRules<ApiObjectShape, ApiObjectShape>;

function strategyOf(
  resource: ResourceDeclaration,
  { stored, conversion, defaults, fieldLabels, fieldRefusal }: AnyRules,
): Strategy {
  // No kind with several versions has these rules yet.
  const { partUpdates, heldBySpec, terminating, scaleSelector } = stored;
  if ((partUpdates ?? heldBySpec ?? terminating ?? scaleSelector) !== undefined)
    throw new RangeError('the stored strategy has rules without conversion: add them to convertedStrategy');
  const to = (object: ApiObjectShape, { scheme }: StrategyContext) => conversion.toStored(object, scheme);
  // The stored form of a draft may be modified, since it shares parts only with the draft.
  const draft = (object: Draft<ApiObjectShape>, context: StrategyContext) =>
    to(object, context) as Draft<ApiObjectShape>;
  const back = (object: Draft<ApiObjectShape>, changed: ApiObjectShape, { scheme }: StrategyContext): void =>
    become(object, conversion.fromStored(changed, scheme));
  const { prepareForCreate, completeCreate, prepareForUpdate, prepareForStatusUpdate, canonicalize } = stored;
  const { validateCreate, validateUpdate, validateStatusUpdate, warnings, cells, defaultGracePeriodSeconds } = stored;
  const strategy: Strategy = {
    conversion,
    defaults(object, context) {
      fillDefaults(context.scheme.resourceOf(resource).type, object, anyGate(context));
      defaults?.(object, context);
      // 1.24 converts every object to its internal form, where some fields have another name.
      back(object, to(object, context), context);
    },
    ...(fieldLabels && { fieldLabels }),
    ...(fieldRefusal && { fieldRefusal }),
    ...(prepareForCreate && {
      prepareForCreate(object, context) {
        const changed = draft(object, context);
        prepareForCreate(changed, context);
        back(object, changed, context);
      },
    }),
    ...(completeCreate && {
      completeCreate(object, context) {
        const changed = draft(object, context);
        completeCreate(changed, context);
        back(object, changed, context);
      },
    }),
    ...(prepareForUpdate && {
      prepareForUpdate(object, old, context) {
        const changed = draft(object, context);
        prepareForUpdate(changed, to(old, context), context);
        back(object, changed, context);
      },
    }),
    ...(prepareForStatusUpdate && {
      prepareForStatusUpdate(object, old, context) {
        const changed = draft(object, context);
        prepareForStatusUpdate(changed, to(old, context), context);
        back(object, changed, context);
      },
    }),
    ...(validateCreate && { validateCreate: (object, context) => validateCreate(to(object, context), context) }),
    ...(validateUpdate && {
      validateUpdate: (object, old, context) => validateUpdate(to(object, context), to(old, context), context),
    }),
    ...(validateStatusUpdate && {
      validateStatusUpdate: (object, old, context) =>
        validateStatusUpdate(to(object, context), to(old, context), context),
    }),
    ...(canonicalize && {
      canonicalize(object, context) {
        const changed = to(object, context);
        canonicalize(changed, context);
        become(object, conversion.fromStored(changed, context.scheme));
      },
    }),
    ...(warnings && {
      warnings: (object, old, context) =>
        warnings(to(object, context), old === undefined ? undefined : to(old, context), context),
    }),
    ...(cells && { cells: (object, context) => cells(to(object, context), context) }),
    ...(defaultGracePeriodSeconds && {
      defaultGracePeriodSeconds: (object, requested, context) =>
        defaultGracePeriodSeconds(to(object, context), requested, context),
    }),
    ...(stored.allowCreateOnUpdate && { allowCreateOnUpdate: true }),
    ...(stored.allowUnconditionalUpdate !== undefined && { allowUnconditionalUpdate: stored.allowUnconditionalUpdate }),
    ...(stored.deletionAnswer && { deletionAnswer: stored.deletionAnswer }),
    ...(stored.collectionDeletionAnswer && { collectionDeletionAnswer: stored.collectionDeletionAnswer }),
    ...(stored.deletionWarning && { deletionWarning: stored.deletionWarning }),
    ...(stored.defaultPropagation && { defaultPropagation: stored.defaultPropagation }),
  };
  return Object.freeze(strategy);
}

/** The strategy of a version that differs from the stored one only in `apiVersion`. */
export function renamedStrategy<T extends ApiObjectShape>(
  resource: ResourceDeclaration,
  stored: Strategy<T>,
): Strategy<T> {
  const { group, version, storedAs } = resource;
  if (storedAs === undefined) throw new RangeError(`${group}/${version} is stored as it is`);
  const { defaults } = stored;
  return convertedStrategy<T, T>(resource, {
    stored,
    conversion: renamed({ group, version }, { group, ...storedAs }),
    ...(defaults && { defaults }),
  });
}

/** Replaces the members of an object by those of another one, in place. */
function become(object: object, other: object): void {
  for (const name of Object.keys(object)) if (!(name in other)) Reflect.deleteProperty(object, name);
  Object.assign(object, other);
}
