/**
 * The strategy of a version of a custom kind, derived from its definition. Source: 1.24,
 * staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/{strategy,status_strategy,validator}.go.
 */

import { type Cells, cellsOf, isTooLargeForRow } from '#api/apiextensions/v1/customresource/columns.js';
import { customDefaultSteps, DefaultsTooLarge } from '#api/apiextensions/v1/customresource/defaulting.js';
import { listItemSteps } from '#api/apiextensions/v1/customresource/list-items.js';
import { coerceResources } from '#api/apiextensions/v1/customresource/resource-metadata.js';
import { validateScaleSpec, validateScaleStatus } from '#api/apiextensions/v1/customresource/scale.js';
import { RuleValidator } from '#api/apiextensions/v1/expressions/rule-validation.js';
import { validateEmbedded } from '#api/apiextensions/v1/structural/embedded-resources.js';
import type { Structural } from '#api/apiextensions/v1/structural/structural.js';
import type { CustomResourceDefinitionVersion } from '#api/apiextensions/v1/types.gen.js';
import { PatternMatcher } from '#api/apiextensions/v1/values/pattern.js';
import { valueSteps } from '#api/apiextensions/v1/values/validate.js';
import { TooManyChecks, ValidationWork } from '#api/apiextensions/v1/values/validation-work.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/v1/objectmeta/validation.js';
import { copyField, shareAllBut } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import type { Steps } from '#apimachinery/async/steps.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft } from '#apimachinery/draft.js';
import type { FieldFailure, StatusError } from '#apimachinery/errors/status.js';
import { successor } from '#apimachinery/int64.js';
import { jsonEqual } from '#apimachinery/patch/json-values.js';
import type { Patterns } from '#apimachinery/patterns/pattern.js';
import { addAll, invalidValue } from '#apimachinery/validation/failure.js';
import { dns1123SubdomainErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

export interface CustomStrategyOptions {
  readonly version: Pick<CustomResourceDefinitionVersion, 'subresources' | 'additionalPrinterColumns'>;
  readonly schema: Structural;
  readonly namespaced: boolean;
  /** Shared by all kinds. */
  readonly patterns: Patterns;
  /** The error for an object to which the version adds too much. */
  readonly exceeded: (addition: 'defaults' | 'columns' | 'schema') => StatusError;
}

/** Members that a status update may change. */
const ofCustomStatus: ReadonlySet<string> = new Set(['metadata', 'status']);

const metadataPath = FieldPath.of('metadata');

export function customStrategy({ version, schema, namespaced, patterns, exceeded }: CustomStrategyOptions): Strategy {
  const { subresources, additionalPrinterColumns } = version;
  const hasStatus = subresources?.status !== undefined;
  const scale = subresources?.scale;
  let cells: Cells | undefined;
  let validator: RuleValidator | 'none' | undefined;
  const validateMetaUpdate = (object: ApiObjectShape, old: ApiObjectShape, { dialect }: StrategyContext) =>
    validateObjectMetaUpdate(
      object.metadata,
      old.metadata,
      { dialect, name: dns1123SubdomainErrors, anyFinalizer: true },
      metadataPath,
    );
  return {
    allowUnconditionalUpdate: false,
    *defaultSteps(object, { scheme }, origin) {
      try {
        yield* customDefaultSteps(object, schema, origin === 'applied' ? 'keep nulls' : undefined);
      } catch (error) {
        throw error instanceof DefaultsTooLarge ? exceeded('defaults') : error;
      }
      // Defaults may add embedded metadata, so unknown members are dropped afterwards.
      coerceResources(object, schema, { type: scheme.type('meta.v1.ObjectMeta'), dropInvalid: false });
    },
    prepareForCreate(object) {
      if (hasStatus) Reflect.deleteProperty(object, 'status');
      object.metadata.generation = 1;
    },
    prepareForUpdate(object, old) {
      if (hasStatus) copyField(object, old, 'status');
      copyField(object.metadata, old.metadata, 'generation');
      if (!sameBody(object, old)) object.metadata.generation = successor(old.metadata.generation ?? 0);
    },
    validateCreate(object, { dialect }) {
      const rules = { dialect, namespaced, name: dns1123SubdomainErrors, anyFinalizer: true };
      return validateObjectMeta(object.metadata, rules, metadataPath);
    },
    validateUpdate: validateMetaUpdate,
    *contentFailures(object, old, { dialect }, { part }) {
      const work = new ValidationWork();
      const rules = { dialect, patterns: new PatternMatcher(patterns), work };
      try {
        const failures = [...(yield* valueSteps(object, schema.schema, rules, FieldPath.ofWhole))];
        // Like 1.24, a status update validates neither embedded objects nor list elements, nor the number of replicas.
        if (scale !== undefined && part === undefined) addAll(failures, validateScaleSpec(object, scale));
        if (scale !== undefined) addAll(failures, validateScaleStatus(object, scale));
        if (part === 'status') return failures;
        yield;
        addAll(failures, validateEmbedded(object, schema, dialect));
        yield;
        addAll(failures, yield* listItemSteps(object, old, schema, work));
        return failures;
      } catch (error) {
        throw error instanceof TooManyChecks ? exceeded('schema') : error;
      }
    },
    ...(hasStatus
      ? {
          prepareForStatusUpdate(object: Draft<ApiObjectShape>, old: ApiObjectShape) {
            const { managedFields, resourceVersion } = object.metadata;
            // The metadata stay unchanged except for managedFields.
            const { managedFields: _, ...kept } = old.metadata;
            object.metadata = copyJson(kept);
            if (managedFields !== undefined) object.metadata.managedFields = managedFields;
            if (resourceVersion !== undefined) object.metadata.resourceVersion = resourceVersion;
            shareAllBut(object, old, ofCustomStatus);
          },
          validateStatusUpdate: validateMetaUpdate,
        }
      : {}),
    rules(object, old, earlier, context) {
      if (!context.gate('CustomResourceValidationExpressions')) return undefined;
      validator ??= RuleValidator.of(schema) ?? 'none';
      return validator === 'none' ? undefined : validateRules(validator, { object, old, earlier, patterns });
    },
    cells: (object, context) => {
      cells ??= cellsOf(additionalPrinterColumns);
      try {
        return cells(object, context.now);
      } catch (error) {
        throw isTooLargeForRow(error) ? exceeded('columns') : error;
      }
    },
  };
}

interface RuleCase {
  readonly object: ApiObjectShape;
  readonly old: ApiObjectShape | undefined;
  /** Failures of other checks. */
  readonly earlier: readonly FieldFailure[];
  readonly patterns: Patterns;
}

/** After these failures, rules would see unexpected values. */
const blocking = new Set(['FieldValueRequired', 'FieldValueTooLong', 'FieldValueTooMany', 'FieldValueTypeInvalid']);

function* validateRules(
  validator: RuleValidator,
  { object, old, earlier, patterns }: RuleCase,
): Steps<readonly FieldFailure[]> {
  if (!earlier.some(({ reason }) => blocking.has(reason))) {
    return (yield* validator.validate(object, old, patterns)).failures;
  }
  const text =
    'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
  return [invalidValue(FieldPath.ofWhole, null, text)];
}

/** Whether two objects are equal except for their metadata. */
function sameBody(a: ApiObjectShape, b: ApiObjectShape): boolean {
  return jsonEqual({ ...a, metadata: undefined }, { ...b, metadata: undefined });
}
