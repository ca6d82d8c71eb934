/** Rules of environment variables and references to the pod's own fields. */
import { declaration as schema } from '#api/core/v1/environment.js';
import type { PodOptions } from '#api/core/v1/pod/validation/options.js';
import type {
  ConfigMapKeySelector,
  EnvFromSource,
  EnvVar,
  EnvVarSource,
  ObjectFieldSelector,
  ResourceFieldSelector,
  SecretKeySelector,
} from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { canonicalQuantity, isQuantity, quantitySign } from '#apimachinery/quantity.js';
import { checkDNSSubdomain, checkQualifiedName, checkRequired } from '#apimachinery/validation/checks.js';
import {
  addAll,
  invalidEach,
  invalidValue,
  joined,
  none,
  notSupported,
  required,
} from '#apimachinery/validation/failure.js';
import {
  configKeyErrors,
  dns1123SubdomainErrors,
  envVarNameErrors,
  maskTrailingDash,
} from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { listWording, membersOf, oneMember } from '#apimachinery/validation/unions.js';

const sourcesOf = membersOf<EnvVarSource>(schema.types.EnvVarSource);
const oneSource = oneMember<EnvVarSource>(schema.types.EnvVarSource, listWording);
const oneMap = oneMember<EnvFromSource>(schema.types.EnvFromSource, listWording);

/** Fields for environment variables. */
const envFieldPaths = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.podIP',
  'status.podIPs',
] as const;

/** Fields for files of downward API volumes. */
export const volumeFieldPaths = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
] as const;

/** All fields of a pod that can be referenced. */
const knownFieldPaths: readonly string[] = [
  ...volumeFieldPaths,
  ...envFieldPaths,
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
];

const containerResources = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
] as const;

export function addEnv(failures: FieldFailure[], vars: readonly EnvVar[], options: PodOptions, path: FieldPath): void {
  vars.forEach((variable, i) => {
    const at = path.index(i);
    const name = variable.name ?? '';
    addAll(failures, checkRequired(at.child('name'), name));
    if (name !== '') addAll(failures, invalidEach(at.child('name'), name, envVarNameErrors(name)));
    if (variable.valueFrom !== undefined) {
      addEnvSource(failures, variable, variable.valueFrom, options, at.child('valueFrom'));
    }
  });
}

function addEnvSource(
  failures: FieldFailure[],
  { value }: EnvVar,
  source: EnvVarSource,
  options: PodOptions,
  path: FieldPath,
): void {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = source;
  if (fieldRef !== undefined) addAll(failures, validateFieldRef(fieldRef, envFieldPaths, path.child('fieldRef')));
  if (resourceFieldRef !== undefined) {
    const at = path.child('resourceFieldRef');
    addAll(failures, validateResourceFieldRef(resourceFieldRef, { inVolume: false, options }, at));
  }
  if (configMapKeyRef !== undefined) addKeyRef(failures, configMapKeyRef, path.child('configMapKeyRef'));
  if (secretKeyRef !== undefined) addKeyRef(failures, secretKeyRef, path.child('secretKeyRef'));
  if ((value ?? '') !== '' && sourcesOf(source).length > 0) {
    failures.push(invalidValue(path, '', 'may not be specified when `value` is not empty'));
  } else addAll(failures, oneSource(source, path));
}

/** A key of a config map or secret. */
function addKeyRef(failures: FieldFailure[], ref: ConfigMapKeySelector | SecretKeySelector, path: FieldPath): void {
  const { name = '', key = '' } = ref;
  addAll(failures, checkDNSSubdomain(path.child('name'), name));
  if (key === '') failures.push(required(path.child('key')));
  else addAll(failures, invalidEach(path.child('key'), key, configKeyErrors(key)));
}

/** A reference to a field of the pod; `supported` lists the plain ones, labels and annotations have keys. */
export function validateFieldRef(
  ref: ObjectFieldSelector,
  supported: readonly string[],
  path: FieldPath,
): readonly FieldFailure[] {
  const failures = checkRequired(path.child('apiVersion'), ref.apiVersion);
  const fieldPath = ref.fieldPath ?? '';
  const at = path.child('fieldPath');
  if (failures.length > 0 || fieldPath === '') return joined(failures, checkRequired(at, fieldPath));
  const wrong = (why: string): FieldFailure[] => [invalidValue(at, fieldPath, `error converting fieldPath: ${why}`)];
  if (ref.apiVersion !== 'v1') return wrong(`unsupported pod version: ${ref.apiVersion}`);
  if (supported.includes(fieldPath)) return none;
  const subscript = /^([^[]*)\['([^']*)'\]$/.exec(fieldPath);
  if (subscript !== null) {
    const [, field, key = ''] = subscript;
    if (field === 'metadata.labels') return checkQualifiedName(path, key);
    if (field === 'metadata.annotations') return checkQualifiedName(path, key.toLowerCase());
    return wrong(`field label does not support subscript: ${field}`);
  }
  if (!knownFieldPaths.includes(fieldPath)) return wrong(`field label not supported: ${fieldPath}`);
  return [notSupported(at, fieldPath, supported)];
}

/** A reference to a container's own resources. */
export function validateResourceFieldRef(
  ref: ResourceFieldSelector,
  { inVolume, options }: { readonly inVolume: boolean; readonly options: PodOptions },
  path: FieldPath,
): readonly FieldFailure[] {
  const failures: FieldFailure[] = [];
  const { containerName = '', resource = '' } = ref;
  const names: readonly string[] = containerResources;
  if (inVolume && containerName === '') failures.push(required(path.child('containerName')));
  else if (resource === '') failures.push(required(path.child('resource')));
  else if (!names.includes(resource) && !(options.hugePagesInDownwardAPI && hugePages.test(resource))) {
    failures.push(notSupported(path.child('resource'), resource, containerResources));
  }
  return joined(failures, validateDivisor(resource, ref.divisor, path.child('divisor')));
}

const hugePages = /^(limits|requests)\.hugepages-/;

const byteDivisors = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

function validateDivisor(resource: string, divisor: string | undefined, path: FieldPath): readonly FieldFailure[] {
  if (divisor === undefined || !isQuantity(divisor) || quantitySign(divisor) === 0) return none;
  const { shown, allowed } = divisorsOf(resource);
  if (shown === '' || allowed.includes(canonicalQuantity(divisor))) return none;
  const list = shown === 'cpu' ? allowed.join(' and ') : allowed.join(', ');
  // 1.24 reports the resource as the invalid value.
  return [invalidValue(path, resource, `only divisor's values ${list} are supported with the ${shown} resource`)];
}

/** Allowed divisors of a resource, and its name in messages; empty for unknown resources. */
function divisorsOf(resource: string): { shown: string; allowed: readonly string[] } {
  if (hugePages.test(resource)) return { shown: 'hugepages', allowed: byteDivisors };
  const names: readonly string[] = containerResources;
  const name = names.includes(resource) ? resource.slice(resource.indexOf('.') + 1) : '';
  if (name === 'cpu') return { shown: name, allowed: ['1m', '1'] };
  return { shown: name === 'ephemeral-storage' ? 'local ephemeral storage' : name, allowed: byteDivisors };
}

export function validateEnvFrom(
  sources: readonly EnvFromSource[] | undefined,
  path: FieldPath,
): readonly FieldFailure[] {
  if (sources === undefined) return none;
  const failures: FieldFailure[] = [];
  sources.forEach((source, i) => {
    const at = path.index(i);
    const prefix = source.prefix ?? '';
    if (prefix !== '') addAll(failures, invalidEach(at.child('prefix'), prefix, envVarNameErrors(prefix)));
    const { configMapRef, secretRef } = source;
    for (const [field, ref] of [
      ['configMapRef', configMapRef],
      ['secretRef', secretRef],
    ] as const) {
      if (ref === undefined) continue;
      const name = ref.name ?? '';
      const namePath = at.child(field, 'name');
      if (name === '') failures.push(required(namePath));
      else addAll(failures, invalidEach(namePath, name, dns1123SubdomainErrors(maskTrailingDash(name))));
    }
    // The path is that of the list.
    addAll(failures, oneMap(source, path));
  });
  return failures;
}
