/** What is particular to definitions of custom resources. */

import { withCondition } from '#api/apiextensions/v1/customresourcedefinition/conditions.js';
import { dropDisabledValidations } from '#api/apiextensions/v1/customresourcedefinition/gated-validations.js';
import { validateNames } from '#api/apiextensions/v1/customresourcedefinition/names-validation.js';
import { upgradedDefinition } from '#api/apiextensions/v1/customresourcedefinition/stored-v1beta1.js';
import { validateDefinition } from '#api/apiextensions/v1/customresourcedefinition/validation.js';
import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import type { CustomResourceDefinition, CustomResourceDefinitionStatus } from '#api/apiextensions/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import type { Draft } from '#apimachinery/draft.js';
import { jsonEqual } from '#apimachinery/patch/json-values.js';
import { FieldPath } from '#apimachinery/validation/path.js';

export const customResourceDefinitionStrategy: Strategy<CustomResourceDefinition> =
  kindStrategy<CustomResourceDefinition>(customresourcedefinitions, {
    anyGenerateNameOnUpdate: true,
    anyFinalizer: true,
    generationFields: ['spec'],
    allowUnconditionalUpdate: false,
    cleanUp: ({ finalizers }) => finalizers.customResourceCleanup,
    bulk: ({ annotations }) => ({
      metadata: { managedFields: true, annotations: { [annotations.lastApplied]: true } },
      spec: { versions: { '*': { schema: true } } },
    }),
    upgraded: upgradedDefinition,
    terminating: (object) =>
      withCondition(
        object,
        {
          type: 'Terminating',
          status: 'True',
          reason: 'InstanceDeletionPending',
          message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
        },
        object.metadata.deletionTimestamp ?? '',
      ),
    defaults(object) {
      const { names, conversion } = object.spec;
      const { clientConfig, conversionReviewVersions = [] } = conversion?.webhook ?? {};
      // 1.24 keeps none of which nothing is said.
      if (conversion !== undefined && clientConfig === undefined && conversionReviewVersions.length === 0)
        delete conversion.webhook;
      if (names !== undefined && (names.kind ?? '') !== '') {
        names.singular ||= names.kind.toLowerCase();
        names.listKind ||= `${names.kind}List`;
      }
      const { status } = object;
      if (status !== undefined && (status.storedVersions ?? []).length === 0) {
        object.status = withStorageVersion(object, status);
      }
    },
    prepareForCreate(object, context) {
      dropDisabledValidations(object, undefined, context);
      object.status = withStorageVersion(object, { storedVersions: [] });
    },
    prepareForUpdate(object, old, context) {
      dropDisabledValidations(object, old, context);
      if (object.status !== undefined) object.status = withStorageVersion(object, object.status);
    },
    // 1.24 takes the last finalizer away with the status, where nobody asks whether the definition is still valid.
    validate: (object, context, old) => (isEnding(object, old) ? [] : validateDefinition(object, context, old)),
    validateStatusUpdate: (object) =>
      object.status?.acceptedNames === undefined
        ? []
        : validateNames(object.status.acceptedNames, FieldPath.of('status', 'acceptedNames')),
    cells: ({ metadata }) => [metadata.name ?? '', metadata.creationTimestamp ?? ''],
  });

/** What is deleted must be able to go, whatever its status says. */
function isEnding(object: CustomResourceDefinition, old: CustomResourceDefinition | undefined): boolean {
  return object.metadata.deletionTimestamp !== undefined && old !== undefined && jsonEqual(object.spec, old.spec);
}

/** Objects may be stored in every version that once was the storage version, until somebody takes it off the list. */
function withStorageVersion(
  object: CustomResourceDefinition,
  status: Partial<Draft<CustomResourceDefinitionStatus>>,
): Draft<CustomResourceDefinitionStatus> {
  const storage = object.spec.versions?.find((version) => version.storage)?.name;
  const stored = status.storedVersions ?? [];
  const storedVersions = storage === undefined || stored.includes(storage) ? stored : [...stored, storage];
  return { ...status, storedVersions } as Draft<CustomResourceDefinitionStatus>;
}
