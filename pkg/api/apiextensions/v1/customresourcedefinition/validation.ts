/** Rules of custom resource definitions and their updates. */
import { validateClientConfig } from '#api/admissionregistration/v1/webhook/client-config.js';
import { isReviewVersion, reviewVersions } from '#api/admissionregistration/v1/webhook/review-versions.js';
import { defaultFailures } from '#api/apiextensions/v1/customresourcedefinition/default-validation.js';
import { checkLabel, validateRequiredNames } from '#api/apiextensions/v1/customresourcedefinition/names-validation.js';
import { childrenOf } from '#api/apiextensions/v1/customresourcedefinition/schema-validation.js';
import {
  type SharedParts,
  type VersionRules,
  validateColumns,
  validateSubresources,
  validateVersion,
  validateVersionSchema,
} from '#api/apiextensions/v1/customresourcedefinition/version-validation.js';
import {
  declaration,
  declaration as declared,
  declaration as schema,
} from '#api/apiextensions/v1/customresourcedefinition.js';
import type {
  CustomResourceConversion,
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
  JSONSchemaProps,
} from '#api/apiextensions/v1/types.gen.js';
import { PatternMatcher } from '#api/apiextensions/v1/values/pattern.js';
import { TooManyChecks, ValidationWork } from '#api/apiextensions/v1/values/validation-work.js';
import { goValuesOf } from '#api/go/go-values.js';
import { isConditionTrue } from '#api/meta/v1/condition/conditions.js';
import { validateImmutable } from '#api/meta/v1/objectmeta/validation.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import type { Steps } from '#apimachinery/async/steps.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { Patterns } from '#apimachinery/patterns/pattern.js';
import { checkEnum, repeatedAt } from '#apimachinery/validation/checks.js';
import {
  addAll,
  forbiddenField,
  goNil,
  invalidEach,
  invalidValue,
  required,
} from '#apimachinery/validation/failure.js';
import { dns1035LabelErrors, dns1123SubdomainErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');
const statusPath = FieldPath.of('status');

/** Limit of the checks of all defaults in one step: some milliseconds. */
const checksAtOnce = 5000;

/** `old` is the stored definition: its own violations are tolerated where 1.24 does so. */
export function validateDefinition(
  object: CustomResourceDefinition,
  context: StrategyContext,
  old?: CustomResourceDefinition,
): FieldFailure[] {
  const { spec } = object;
  const { plural = '' } = spec.names ?? {};
  const failures: FieldFailure[] = [];
  const expectedName = `${plural}.${spec.group ?? ''}`;
  const { name } = object.metadata;
  if (name !== undefined && name !== '' && name !== expectedName && old === undefined) {
    const text = 'must be spec.names.plural+"."+spec.group';
    failures.push(invalidValue(FieldPath.of('metadata', 'name'), object.metadata.name ?? '', text));
  }
  addAll(failures, validateGroup(spec.group ?? ''));
  addAll(failures, checkEnum(specPath.child('scope'), spec.scope, declared.enums.ResourceScope));
  const { dialect, gate } = context;
  const work = new ValidationWork(checksAtOnce);
  const rules = { dialect, gate, patterns: new PatternMatcher(new Patterns()), work };
  const versions = spec.versions ?? [];
  const shared = sharedParts(versions);
  addAll(failures, validateWholeVersions(spec, shared));
  addAll(failures, validateVersions(spec, rules, shared));
  addAll(failures, validateRequiredNames(spec.names ?? {}, specPath.child('names')));
  if (shared.schema) addAll(failures, validateSharedSchema(versions, rules));
  const [first] = versions;
  if (first !== undefined && shared.subresources) {
    addAll(failures, validateSubresources(first, specPath.child('subresources')));
  }
  if (first !== undefined && shared.columns) {
    addAll(failures, validateColumns(first, specPath.child('additionalPrinterColumns')));
  }
  const strategy = spec.conversion?.strategy;
  if (strategy !== undefined && strategy !== 'None' && spec.preserveUnknownFields === true) {
    const text = 'must be None if spec.preserveUnknownFields is true';
    failures.push(invalidValue(specPath.child('conversion', 'strategy'), strategy, text));
  }
  const { conversionReviewVersions: reviews = [] } = old?.spec.conversion?.webhook ?? {};
  const anyReview = reviews.length > 0 && !reviews.some(isReviewVersion);
  addAll(failures, validateConversion(spec.conversion, anyReview, specPath.child('conversion')));
  if (old !== undefined) addAll(failures, validateDefinitionUpdate(object, old));
  addAll(failures, validateStoredVersions(object, shared));
  addAll(failures, validateApproval(object, context.dialect, old));
  if (spec.preserveUnknownFields === true && old?.spec.preserveUnknownFields !== true) {
    // The field in the message belongs to the schema; 1.24 omits its prefix.
    const text = 'cannot set to true, set x-preserve-unknown-fields to true in spec.versions[*].schema instead';
    failures.push(invalidValue(specPath.child('preserveUnknownFields'), true, text));
  }
  return failures;
}

/** In steps: the failures of defaults that take long to check, of a definition that is valid otherwise. */
export function* validateLongDefaults(
  definition: CustomResourceDefinition,
  context: StrategyContext,
): Steps<readonly FieldFailure[]> {
  try {
    yield* allDefaultFailures(definition, context, new ValidationWork(checksAtOnce));
    // The validation before has checked them, too.
    return [];
  } catch (error) {
    if (!(error instanceof TooManyChecks)) throw error;
  }
  try {
    return yield* allDefaultFailures(definition, context, new ValidationWork());
  } catch (error) {
    if (!(error instanceof TooManyChecks)) throw error;
    return [forbiddenField(specPath.child('versions'), 'the defaults require too many checks of their schemas')];
  }
}

function* allDefaultFailures(
  { spec }: CustomResourceDefinition,
  { dialect }: StrategyContext,
  work: ValidationWork,
): Steps<readonly FieldFailure[]> {
  const rules = { dialect, patterns: new PatternMatcher(new Patterns()), work };
  const versions = spec.versions ?? [];
  const isShared = sharedParts(versions).schema;
  const failures: FieldFailure[] = [];
  for (const [i, { schema }] of (isShared ? versions.slice(0, 1) : versions).entries()) {
    const parent = isShared ? specPath.child('validation') : specPath.child('versions').index(i).child('schema');
    const root = schema?.openAPIV3Schema;
    if (root !== undefined) addAll(failures, yield* defaultFailures(root, rules, parent.child('openAPIV3Schema')));
  }
  return failures;
}

function validateGroup(group: string): FieldFailure[] {
  const path = specPath.child('group');
  if (group === '') return [required(path)];
  const errors = dns1123SubdomainErrors(group);
  if (errors.length > 0) return [invalidValue(path, group, errors.join(','))];
  if (group.includes('.')) return [];
  return [invalidValue(path, group, 'should be a domain with at least one dot')];
}

/** Failures of the versions as a whole, reported before those of each version. */
function validateWholeVersions(spec: CustomResourceDefinitionSpec, shared: SharedParts): FieldFailure[] {
  const versions = spec.versions ?? [];
  const failures: FieldFailure[] = [];
  if (!shared.schema) {
    versions.forEach(({ schema }, i) => {
      if (schema?.openAPIV3Schema !== undefined) return;
      failures.push(
        required(specPath.child('versions').index(i).child('schema', 'openAPIV3Schema'), 'schemas are required'),
      );
    });
  }
  const anyDefault = versions.some(
    ({ schema }) => schema?.openAPIV3Schema !== undefined && hasDefault(schema.openAPIV3Schema),
  );
  if (anyDefault && spec.preserveUnknownFields === true) {
    const text = 'must be false in order to use defaults in the schema';
    failures.push(invalidValue(specPath.child('preserveUnknownFields'), true, text));
  }
  return failures;
}

function hasDefault(schema: JSONSchemaProps): boolean {
  if (schema.default !== undefined) return true;
  return childrenOf(schema, FieldPath.of()).some(([child]) => hasDefault(child));
}

function validateVersions(
  spec: CustomResourceDefinitionSpec,
  rules: VersionRules,
  shared: SharedParts,
): FieldFailure[] {
  const versions = spec.versions ?? [];
  const path = specPath.child('versions');
  const failures: FieldFailure[] = [];
  versions.forEach((version, i) => {
    const at = path.index(i);
    addAll(failures, checkLabel(at.child('name'), version.name ?? ''));
    addAll(failures, validateVersion(version, rules, shared, at));
  });
  const names = versions.map((version) => version.name);
  const shown = () =>
    definitionValues.member(
      'CustomResourceDefinitionSpec',
      'versions',
      spec.versions && versions.map((one) => apart(one, shared)),
    );
  if (new Set(names).size < names.length) {
    failures.push(invalidValue(path, shown(), 'must contain unique version names'));
  }
  if (versions.filter((version) => version.storage).length !== 1) {
    failures.push(invalidValue(path, shown(), 'must have exactly one version marked as storage version'));
  }
  const name = versions[0]?.name ?? '';
  if (name !== '') addAll(failures, checkLabel(specPath.child('version'), name));
  return failures;
}

/** A version in 1.24's internal form: without parts that all versions share. */
function apart(version: CustomResourceDefinitionVersion, shared: SharedParts): object {
  const { schema, subresources, additionalPrinterColumns, ...own } = version;
  return {
    ...own,
    ...(!shared.schema && schema !== undefined && { schema }),
    ...(!shared.subresources && subresources !== undefined && { subresources }),
    ...(!shared.columns && additionalPrinterColumns !== undefined && { additionalPrinterColumns }),
  };
}

/** The schema must suit the status subresource if any version has one. */
function validateSharedSchema(
  versions: readonly CustomResourceDefinitionVersion[],
  rules: VersionRules,
): FieldFailure[] {
  const [first] = versions;
  if (first === undefined) return [];
  const subresources = versions.find((version) => version.subresources?.status !== undefined)?.subresources;
  const common = subresources === undefined ? first : { ...first, subresources };
  return validateVersionSchema(common, rules, specPath.child('validation'));
}

/** The parts that all versions share; a schema missing in all of them is reported for each version. */
function sharedParts(versions: readonly CustomResourceDefinitionVersion[]): SharedParts {
  const [first, ...others] = versions;
  const same = (field: 'schema' | 'subresources' | 'additionalPrinterColumns'): boolean =>
    others.every((other) => semanticEqual(other[field], first?.[field]));
  return {
    schema: first?.schema?.openAPIV3Schema !== undefined && same('schema'),
    subresources: same('subresources'),
    columns: same('additionalPrinterColumns'),
  };
}

/** Groups in the product's own domains need an approval annotation or an explicit exemption. */
function validateApproval(
  object: CustomResourceDefinition,
  dialect: Dialect,
  old: CustomResourceDefinition | undefined,
): FieldFailure[] {
  const { group = '' } = object.spec;
  const domains = new Set([dialect.apiDomain, dialect.labelDomain]);
  if (![...domains].some((domain) => group === domain || group.endsWith(`.${domain}`))) return [];
  const key = `api-approved.${dialect.labelDomain}`;
  const path = FieldPath.of('metadata', 'annotations').key(key);
  const state = approvalOf(object, key);
  // An unrelated change need not fix a tolerated violation.
  if (state === 'approved' || (old !== undefined && approvalOf(old, key) === state)) return [];
  const value = object.metadata.annotations?.[key] ?? '';
  if (state === 'missing') return [required(path, `protected groups must have approval annotation "${key}"`)];
  const text = `protected groups must have approval annotation "${key}" with either a URL or a reason starting with "unapproved"`;
  return [invalidValue(path, value, text)];
}

function approvalOf({ metadata }: CustomResourceDefinition, key: string): 'missing' | 'approved' | 'invalid' {
  const value = metadata.annotations?.[key] ?? '';
  if (value === '') return 'missing';
  return value.startsWith('unapproved') || URL.canParse(value) ? 'approved' : 'invalid';
}

/** A version must not be removed while objects may be stored in it. */
function validateStoredVersions(object: CustomResourceDefinition, shared: SharedParts): FieldFailure[] {
  const stored = object.status?.storedVersions ?? [];
  const path = statusPath.child('storedVersions');
  const versions = object.spec.versions ?? [];
  if (stored.length === 0) return [invalidValue(path, goNil('[]string'), 'must have at least one stored version')];
  const failures: FieldFailure[] = [];
  // A repeated version name matches only once.
  const left = new Set(stored);
  for (const version of versions) {
    if (version.storage && !left.has(version.name)) {
      const shown = definitionValues.of('CustomResourceDefinitionVersion', apart(version, shared));
      failures.push(invalidValue(path, shown, `must have the storage version ${version.name}`));
    }
    left.delete(version.name);
  }
  for (const name of left) {
    failures.push(invalidValue(path.index(stored.lastIndexOf(name)), name, 'must appear in spec.versions'));
  }
  return failures;
}

/** The storage group and the names must not change. */
function validateDefinitionUpdate(object: CustomResourceDefinition, old: CustomResourceDefinition): FieldFailure[] {
  const { spec } = object;
  const failures: FieldFailure[] = [];
  if (isConditionTrue(old.status?.conditions, 'Established')) {
    addAll(failures, validateImmutable(spec.scope ?? '', old.spec.scope ?? '', specPath.child('scope')));
    addAll(failures, validateImmutable(spec.names?.kind, old.spec.names?.kind, specPath.child('names', 'kind')));
  }
  return [
    ...failures,
    ...validateImmutable(spec.group, old.spec.group, specPath.child('group')),
    ...validateImmutable(spec.names?.plural, old.spec.names?.plural, specPath.child('names', 'plural')),
  ];
}

/**
 * Rules of the conversion between versions. `anyReview`: the stored definition supports no review version of this
 * server either, which is tolerated.
 */
function validateConversion(
  conversion: CustomResourceConversion | undefined,
  anyReview: boolean,
  path: FieldPath,
): readonly FieldFailure[] {
  if (conversion === undefined) return [];
  const { strategy, webhook } = conversion;
  const failures = [...checkEnum(path.child('strategy'), strategy, schema.enums.ConversionStrategyType)];
  const configPath = path.child('webhookClientConfig');
  const versionsPath = path.child('conversionReviewVersions');
  const versions = webhook?.conversionReviewVersions ?? [];
  if (strategy !== 'Webhook') {
    const text = 'should not be set when strategy is not set to Webhook';
    if (webhook?.clientConfig !== undefined) failures.push(forbiddenField(configPath, text));
    if (versions.length > 0) failures.push(forbiddenField(versionsPath, text));
    return failures;
  }
  if (webhook?.clientConfig === undefined) {
    failures.push(required(configPath, 'required when strategy is set to Webhook'));
  } else addAll(failures, validateClientConfig(webhook.clientConfig, configPath));
  return [...failures, ...validateReviewVersions(versions, anyReview, versionsPath)];
}

function validateReviewVersions(versions: readonly string[], anyReview: boolean, path: FieldPath): FieldFailure[] {
  if (versions.length === 0) return [required(path)];
  const failures: FieldFailure[] = [];
  const repeated = repeatedAt(versions);
  versions.forEach((version, i) => {
    if (repeated.has(i)) failures.push(invalidValue(path.index(i), version, 'duplicate version'));
    else addAll(failures, invalidEach(path.index(i), version, dns1035LabelErrors(version)));
  });
  if (!anyReview && !versions.some(isReviewVersion)) {
    failures.push(invalidValue(path, versions, `must include at least one of ${reviewVersions.join(', ')}`));
  }
  return failures;
}

/** Values of definitions in Go syntax, for messages. */
const definitionValues = goValuesOf('apiextensions', 'v1', [declaration]);
