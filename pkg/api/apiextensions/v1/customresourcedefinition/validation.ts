/** Rules of definitions of custom resources, and of what may change in them. */
import { validateConversion } from '#api/apiextensions/v1/customresourcedefinition/conversion-validation.js';
import { checkLabel, validateRequiredNames } from '#api/apiextensions/v1/customresourcedefinition/names-validation.js';
import { validateVersion } from '#api/apiextensions/v1/customresourcedefinition/version-validation.js';
import type { CustomResourceDefinition, CustomResourceDefinitionSpec } from '#api/apiextensions/v1/types.gen.js';
import { isConditionTrue } from '#api/meta/v1/condition/conditions.js';
import { validateImmutable } from '#api/meta/v1/objectmeta/validation.js';
import type { StrategyContext } from '#api/strategy.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSSubdomain, checkEnum } from '#apimachinery/validation/checks.js';
import { invalidValue, required } from '#apimachinery/validation/failure.js';
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
  if (object.metadata.name !== wanted) {
    const text = 'must be spec.names.plural+"."+spec.group';
    failures.push(invalidValue(FieldPath.of('metadata', 'name'), object.metadata.name ?? '', text));
  }
  failures.push(...validateGroup(spec.group ?? ''));
  failures.push(...checkEnum(specPath.child('scope'), spec.scope, ['Cluster', 'Namespaced']));
  failures.push(...validateVersions(spec, context));
  failures.push(...validateRequiredNames(spec.names ?? {}, specPath.child('names')));
  failures.push(...validateConversion(spec.conversion, specPath.child('conversion')));
  if (spec.preserveUnknownFields === true && old?.spec.preserveUnknownFields !== true) {
    const extension = `${context.dialect.extensionPrefix}preserve-unknown-fields`;
    const text = `cannot set to true, set ${extension} to true in spec.versions[*].schema instead`;
    failures.push(invalidValue(specPath.child('preserveUnknownFields'), true, text));
  }
  if (old === undefined) failures.push(...validateApproval(object, context.dialect));
  return [...failures, ...validateStoredVersions(object)];
}

function validateGroup(group: string): FieldFailure[] {
  const path = specPath.child('group');
  if (group === '') return [required(path)];
  const failures = checkDNSSubdomain(path, group);
  if (failures.length > 0 || group.includes('.')) return failures;
  return [invalidValue(path, group, 'should be a domain with at least one dot')];
}

function validateVersions(spec: CustomResourceDefinitionSpec, context: StrategyContext): FieldFailure[] {
  const versions = spec.versions ?? [];
  const path = specPath.child('versions');
  const failures: FieldFailure[] = [];
  versions.forEach((version, i) => {
    const at = path.index(i);
    failures.push(...checkLabel(at.child('name'), version.name ?? ''));
    failures.push(...validateVersion(version, context, at));
  });
  const names = versions.map((version) => version.name);
  if (new Set(names).size < names.length) {
    failures.push(invalidValue(path, names, 'must contain unique version names'));
  }
  if (versions.filter((version) => version.storage).length !== 1) {
    failures.push(invalidValue(path, names, 'must have exactly one version marked as storage version'));
  }
  return failures;
}

/** Groups of the product's own domains are for resources whose design has been approved, or openly not. */
function validateApproval(object: CustomResourceDefinition, dialect: Dialect): FieldFailure[] {
  const { group = '' } = object.spec;
  const domains = new Set([dialect.apiDomain, dialect.labelDomain]);
  if (![...domains].some((domain) => group === domain || group.endsWith(`.${domain}`))) return [];
  const key = `api-approved.${dialect.labelDomain}`;
  const path = FieldPath.of('metadata', 'annotations').key(key);
  const value = object.metadata.annotations?.[key] ?? '';
  if (value === '') return [required(path, `protected groups must have approval annotation "${key}"`)];
  if (value.startsWith('unapproved') || URL.canParse(value)) return [];
  return [
    invalidValue(
      path,
      value,
      'protected groups must have approval annotation with either a URL or a reason starting with "unapproved"',
    ),
  ];
}

/** No version may go while objects may still be stored in it. */
function validateStoredVersions(object: CustomResourceDefinition): FieldFailure[] {
  const stored = object.status?.storedVersions ?? [];
  const path = statusPath.child('storedVersions');
  const versions = object.spec.versions ?? [];
  const failures: FieldFailure[] = [];
  stored.forEach((name, i) => {
    if (versions.some((version) => version.name === name)) return;
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
    failures.push(...validateImmutable(spec.scope, old.spec.scope, specPath.child('scope')));
    failures.push(...validateImmutable(spec.names?.kind, old.spec.names?.kind, specPath.child('names', 'kind')));
  }
  return [
    ...failures,
    ...validateImmutable(spec.group, old.spec.group, specPath.child('group')),
    ...validateImmutable(spec.names?.plural, old.spec.names?.plural, specPath.child('names', 'plural')),
  ];
}
