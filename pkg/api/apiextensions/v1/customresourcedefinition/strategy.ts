/** The strategy of custom resource definitions. */
import { withCondition } from '#api/apiextensions/v1/customresourcedefinition/conditions.js';
import { validateNames } from '#api/apiextensions/v1/customresourcedefinition/names-validation.js';
import { childrenOf } from '#api/apiextensions/v1/customresourcedefinition/schema-validation.js';
import { validateDefinition, validateLongDefaults } from '#api/apiextensions/v1/customresourcedefinition/validation.js';
import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import { extensionsOf } from '#api/apiextensions/v1/structural/schema-extensions.js';
import { isMembers } from '#api/apiextensions/v1/structural/structural.js';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionStatus,
  JSONSchemaProps,
} from '#api/apiextensions/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import { tooMany } from '#apimachinery/codec/json/size-limit.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { perDialect } from '#apimachinery/memo/once-per.js';
import { jsonEqual } from '#apimachinery/patch/json-values.js';
import { FieldPath } from '#apimachinery/validation/path.js';

type Members = Record<string, unknown>;

/** Prefixes of stored definitions, which identify version v1beta1. */
const startsOf = perDialect((dialect) => {
  const [old, now] = ['v1beta1', 'v1'].map((version) => dialect.apiVersion('apiextensions', version));
  const kind = '"kind":"CustomResourceDefinition"';
  const apiVersion = `"apiVersion":"${old}"`;
  const starts = [`{${kind},${apiVersion},`, `{${apiVersion},${kind},`].map((text) => Buffer.from(text));
  return { starts, apiVersion: now };
});

/**
 * Converts a stored v1beta1 definition, which is no longer served, to v1; returns the same bytes if they are v1.
 * Properties of all versions in v1beta1 are moved to each version. Throws a SyntaxError for malformed bytes. Source:
 * 1.24, …/pkg/apis/apiextensions/{v1beta1/defaults.go,v1beta1/conversion.go,v1/conversion.go}.
 */
function upgradedDefinition(stored: Buffer, dialect: Dialect): Buffer {
  const { starts, apiVersion } = startsOf(dialect);
  if (!starts.some((start) => stored.subarray(0, start.length).equals(start))) return stored;
  const { kind, metadata, spec, status } = parseJSONText(stored.toString('utf8')) as Members;
  const upgraded = { kind, apiVersion, metadata, spec: isMembers(spec) ? upgradedSpec(spec) : spec, status };
  return Buffer.from(toJSONText(upgraded));
}

function upgradedSpec(spec: Members): Members {
  const { validation, subresources, additionalPrinterColumns, version, conversion, names, ...rest } = spec;
  const given = Array.isArray(spec.versions) ? (spec.versions as readonly unknown[]).filter(isMembers) : [];
  const all = given.length > 0 ? given : [{ name: version, served: true, storage: true }];
  const forAll = present({ schema: validation, subresources, additionalPrinterColumns });
  const versions = all.map((one) => {
    const merged: Members = { ...one, ...forAll };
    const columns = merged.additionalPrinterColumns;
    return Array.isArray(columns) ? { ...merged, additionalPrinterColumns: columns.map(upgradedColumn) } : merged;
  });
  return {
    ...rest,
    scope: rest.scope ?? 'Namespaced',
    names: isMembers(names) ? namesWithDefaults(names) : names,
    versions,
    conversion: upgradedConversion(isMembers(conversion) ? conversion : {}),
    preserveUnknownFields: rest.preserveUnknownFields ?? true,
  };
}

function upgradedColumn(column: unknown): unknown {
  if (!isMembers(column)) return column;
  const { JSONPath, ...rest } = column;
  return { ...rest, jsonPath: JSONPath };
}

function namesWithDefaults(names: Members): Members {
  const kind = typeof names.kind === 'string' ? names.kind : '';
  return { ...names, singular: names.singular || kind.toLowerCase(), listKind: names.listKind || `${kind}List` };
}

function upgradedConversion({ strategy = 'None', webhookClientConfig, conversionReviewVersions }: Members): Members {
  if (strategy !== 'Webhook') return { strategy };
  const versions = conversionReviewVersions ?? ['v1beta1'];
  return { strategy, webhook: present({ clientConfig: webhookClientConfig, conversionReviewVersions: versions }) };
}

function present(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null));
}

/** While the gate is off, removes validation expressions in place, unless the stored definition has some. */
function dropDisabledValidations(
  object: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
  { dialect, gate }: StrategyContext,
): void {
  if (gate('CustomResourceValidationExpressions')) return;
  if (old !== undefined && schemasOf(old).some((schema) => extensionsOf(schema, dialect).validations.length > 0))
    return;
  const member = `${dialect.extensionPrefix}validations`;
  // Deleting absent members is slow too.
  for (const schema of schemasOf(object)) if (Object.hasOwn(schema, member)) Reflect.deleteProperty(schema, member);
}

/**
 * In the store of 1.24 a schema takes at least fifty bytes, and the same again for its managers, so 1.5 MB hold fewer.
 */
const maxSchemas = 32_000;

/** All schemas of all versions at any depth. Throws 413 beyond the maximum. */
function schemasOf(object: CustomResourceDefinition): JSONSchemaProps[] {
  const schemas: JSONSchemaProps[] = [];
  const pending = (object.spec.versions ?? []).flatMap((version) => version.schema?.openAPIV3Schema ?? []);
  for (let schema = pending.pop(); schema !== undefined; schema = pending.pop()) {
    schemas.push(schema);
    if (schemas.length > maxSchemas) throw tooMany('schemas', maxSchemas);
    for (const [child] of childrenOf(schema, FieldPath.of())) pending.push(child);
  }
  return schemas;
}

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
      // 1.24 drops an empty webhook.
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
    // 1.24 removes the last finalizer with the status, without validating the definition.
    validate: (object, context, old) => (isEnding(object, old) ? [] : validateDefinition(object, context, old)),
    *contentFailures(object, old, context, { part, failures }) {
      if (part === 'status' || failures.length > 0 || isEnding(object, old)) return [];
      return yield* validateLongDefaults(object, context);
    },
    validateStatusUpdate: (object) =>
      object.status?.acceptedNames === undefined
        ? []
        : validateNames(object.status.acceptedNames, FieldPath.of('status', 'acceptedNames')),
    cells: ({ metadata }) => [metadata.name ?? '', metadata.creationTimestamp ?? ''],
  });

/** A deleted definition must be removable, whatever its status. */
function isEnding(object: CustomResourceDefinition, old: CustomResourceDefinition | undefined): boolean {
  return object.metadata.deletionTimestamp !== undefined && old !== undefined && jsonEqual(object.spec, old.spec);
}

/** Objects may be stored in every former storage version until a client removes it from the list. */
function withStorageVersion(
  object: CustomResourceDefinition,
  status: Partial<Draft<CustomResourceDefinitionStatus>>,
): Draft<CustomResourceDefinitionStatus> {
  const storage = object.spec.versions?.find((version) => version.storage)?.name;
  const stored = status.storedVersions ?? [];
  const storedVersions = storage === undefined || stored.includes(storage) ? stored : [...stored, storage];
  return { ...status, storedVersions } as Draft<CustomResourceDefinitionStatus>;
}
