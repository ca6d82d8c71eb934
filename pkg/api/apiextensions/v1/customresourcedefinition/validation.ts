/** Rules of definitions of custom resources, and of what may change in them. */
import { isReviewVersion } from '#api/admissionregistration/v1/webhook/review-versions.js';
import { validateConversion } from '#api/apiextensions/v1/customresourcedefinition/conversion-validation.js';
import { checkLabel, validateRequiredNames } from '#api/apiextensions/v1/customresourcedefinition/names-validation.js';
import {
  type SharedParts,
  type VersionRules,
  validateColumns,
  validateSubresources,
  validateVersion,
  validateVersionSchema,
} from '#api/apiextensions/v1/customresourcedefinition/version-validation.js';
import { declaration as declared } from '#api/apiextensions/v1/customresourcedefinition.js';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
} from '#api/apiextensions/v1/types.gen.js';
import { PatternMatcher } from '#api/apiextensions/v1/values/pattern.js';
import { isConditionTrue } from '#api/meta/v1/condition/conditions.js';
import { validateImmutable } from '#api/meta/v1/objectmeta/validation.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { Patterns } from '#apimachinery/patterns/pattern.js';
import { checkEnum } from '#apimachinery/validation/checks.js';
import { addAll, invalidValue, required } from '#apimachinery/validation/failure.js';
import { dns1123SubdomainErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');
const statusPath = FieldPath.of('status');

/** `old` is what an update replaces: what it already breaks may stay broken where 1.24 allows it. */
export function validateDefinition(
  object: CustomResourceDefinition,
  context: StrategyContext,
  old?: CustomResourceDefinition,
): FieldFailure[] {
  const { spec } = object;
  const { plural = '' } = spec.names ?? {};
  const failures: FieldFailure[] = [];
  const wanted = `${plural}.${spec.group ?? ''}`;
  const { name } = object.metadata;
  if (name !== undefined && name !== '' && name !== wanted && old === undefined) {
    const text = 'must be spec.names.plural+"."+spec.group';
    failures.push(invalidValue(FieldPath.of('metadata', 'name'), object.metadata.name ?? '', text));
  }
  addAll(failures, validateGroup(spec.group ?? ''));
  addAll(failures, checkEnum(specPath.child('scope'), spec.scope, declared.enums.ResourceScope));
  const { dialect, gate } = context;
  const patterns = new PatternMatcher(new Patterns());
  addAll(failures, validateVersions(spec, { dialect, gate, patterns }));
  addAll(failures, validateRequiredNames(spec.names ?? {}, specPath.child('names')));
  const strategy = spec.conversion?.strategy;
  if (strategy !== undefined && strategy !== 'None' && spec.preserveUnknownFields === true) {
    const text = 'must be None if spec.preserveUnknownFields is true';
    failures.push(invalidValue(specPath.child('conversion', 'strategy'), strategy, text));
  }
  const { conversionReviewVersions: reviews = [] } = old?.spec.conversion?.webhook ?? {};
  const anyReview = reviews.length > 0 && !reviews.some(isReviewVersion);
  addAll(failures, validateConversion(spec.conversion, anyReview, specPath.child('conversion')));
  if (spec.preserveUnknownFields === true && old?.spec.preserveUnknownFields !== true) {
    const extension = `${context.dialect.extensionPrefix}preserve-unknown-fields`;
    const text = `cannot set to true, set ${extension} to true in spec.versions[*].schema instead`;
    failures.push(invalidValue(specPath.child('preserveUnknownFields'), true, text));
  }
  addAll(failures, validateApproval(object, context.dialect, old));
  return [...failures, ...validateStoredVersions(object)];
}

function validateGroup(group: string): FieldFailure[] {
  const path = specPath.child('group');
  if (group === '') return [required(path)];
  const errors = dns1123SubdomainErrors(group);
  if (errors.length > 0) return [invalidValue(path, group, errors.join(','))];
  if (group.includes('.')) return [];
  return [invalidValue(path, group, 'should be a domain with at least one dot')];
}

function validateVersions(spec: CustomResourceDefinitionSpec, rules: VersionRules): FieldFailure[] {
  const versions = spec.versions ?? [];
  const path = specPath.child('versions');
  const failures: FieldFailure[] = [];
  const shared = sharedParts(versions);
  versions.forEach((version, i) => {
    const at = path.index(i);
    addAll(failures, checkLabel(at.child('name'), version.name ?? ''));
    addAll(failures, validateVersion(version, rules, shared, at));
  });
  const names = versions.map((version) => version.name);
  if (new Set(names).size < names.length) {
    failures.push(invalidValue(path, names, 'must contain unique version names'));
  }
  if (versions.filter((version) => version.storage).length !== 1) {
    failures.push(invalidValue(path, names, 'must have exactly one version marked as storage version'));
  }
  const [first] = versions;
  if (first === undefined) return failures;
  addAll(failures, checkLabel(specPath.child('version'), first.name ?? ''));
  if (shared.schema) {
    // With the status of any version, the schema must suit it.
    const subresources = versions.find((version) => version.subresources?.status !== undefined)?.subresources;
    const common = subresources === undefined ? first : { ...first, subresources };
    addAll(failures, validateVersionSchema(common, rules, specPath.child('validation')));
  }
  if (shared.subresources) addAll(failures, validateSubresources(first, specPath.child('subresources')));
  if (shared.columns) addAll(failures, validateColumns(first, specPath.child('additionalPrinterColumns')));
  return failures;
}

/** What is the same in all versions; a schema that no version has is each version's own fault. */
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

/** Groups of the product's own domains are for resources whose design has been approved, or openly not. */
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
  // Whoever changes something else need not mend what was let in.
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

/** No version may go while objects may still be stored in it. */
function validateStoredVersions(object: CustomResourceDefinition): FieldFailure[] {
  const stored = object.status?.storedVersions ?? [];
  const path = statusPath.child('storedVersions');
  const versions = object.spec.versions ?? [];
  if (stored.length === 0) return [invalidValue(path, stored, 'must have at least one stored version')];
  const failures: FieldFailure[] = [];
  const names = new Set(versions.map((version) => version.name));
  stored.forEach((name, i) => {
    if (names.has(name)) return;
    failures.push(invalidValue(path.index(i), name, 'must appear in spec.versions'));
  });
  const storage = versions.find((version) => version.storage)?.name;
  if (storage !== undefined && !stored.includes(storage)) {
    failures.push(invalidValue(path, stored, `must have the storage version ${storage}`));
  }
  return failures;
}

/** Where objects are stored and what they are called does not change. */
export function validateDefinitionUpdate(
  object: CustomResourceDefinition,
  old: CustomResourceDefinition,
): FieldFailure[] {
  const { spec } = object;
  const failures: FieldFailure[] = [];
  if (isConditionTrue(old.status?.conditions, 'Established')) {
    addAll(failures, validateImmutable(spec.scope, old.spec.scope, specPath.child('scope')));
    addAll(failures, validateImmutable(spec.names?.kind, old.spec.names?.kind, specPath.child('names', 'kind')));
  }
  return [
    ...failures,
    ...validateImmutable(spec.group, old.spec.group, specPath.child('group')),
    ...validateImmutable(spec.names?.plural, old.spec.names?.plural, specPath.child('names', 'plural')),
  ];
}
