/** Rules of environment variables and of references into the pod itself. */
import type { PodOptions } from '#api/core/v1/pod/validation/options.js';
import type {
  EnvFromSource,
  EnvVar,
  EnvVarSource,
  ObjectFieldSelector,
  ResourceFieldSelector,
} from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { canonicalQuantity, isQuantity, quantitySign } from '#apimachinery/quantity.js';
import { checkDNSSubdomain, checkQualifiedName, checkRequired } from '#apimachinery/validation/checks.js';
import { invalidEach, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import { configKeyErrors, envVarNameErrors } from '#apimachinery/validation/identifiers.js';
import { dns1123SubdomainErrors, maskTrailingDash } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** What variables may be taken from. */
export const envFieldPaths = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.podIP',
  'status.podIPs',
] as const;

/** What files of a downward API volume may be taken from. */
export const volumeFieldPaths = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
] as const;

/** Fields of a pod that can be referred to at all. */
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

export function validateEnv(vars: EnvVar[] | undefined, options: PodOptions, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  vars?.forEach((variable, i) => {
    const at = path.index(i);
    const name = variable.name ?? '';
    failures.push(...checkRequired(at.child('name'), name));
    if (name !== '') failures.push(...invalidEach(at.child('name'), name, envVarNameErrors(name)));
    if (variable.valueFrom !== undefined) {
      failures.push(...validateEnvSource(variable, variable.valueFrom, options, at.child('valueFrom')));
    }
  });
  return failures;
}

function validateEnvSource(
  { value }: EnvVar,
  source: EnvVarSource,
  options: PodOptions,
  path: FieldPath,
): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = source;
  if (fieldRef !== undefined) failures.push(...validateFieldRef(fieldRef, envFieldPaths, path.child('fieldRef')));
  if (resourceFieldRef !== undefined) {
    failures.push(
      ...validateResourceFieldRef(resourceFieldRef, { inVolume: false, options }, path.child('resourceFieldRef')),
    );
  }
  for (const [field, ref] of [
    ['configMapKeyRef', configMapKeyRef],
    ['secretKeyRef', secretKeyRef],
  ] as const) {
    if (ref === undefined) continue;
    const at = path.child(field);
    failures.push(...checkDNSSubdomain(at.child('name'), ref.name ?? ''), ...checkRequired(at.child('key'), ref.key));
    if ((ref.key ?? '') !== '') failures.push(...invalidEach(at.child('key'), ref.key, configKeyErrors(ref.key)));
  }
  const sources = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef].filter((ref) => ref !== undefined).length;
  if (sources === 0) {
    const text = 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`';
    failures.push(invalidValue(path, '', text));
  } else if ((value ?? '') !== '') {
    failures.push(invalidValue(path, '', 'may not be specified when `value` is not empty'));
  } else if (sources > 1) {
    failures.push(invalidValue(path, '', 'may not have more than one field specified at a time'));
  }
  return failures;
}

/** A reference to one of the pod's own fields; `supported` lists the plain ones, labels and annotations go by key. */
export function validateFieldRef(
  ref: ObjectFieldSelector,
  supported: readonly string[],
  path: FieldPath,
): FieldFailure[] {
  const failures = checkRequired(path.child('apiVersion'), ref.apiVersion);
  const fieldPath = ref.fieldPath ?? '';
  const at = path.child('fieldPath');
  if (failures.length > 0 || fieldPath === '') return [...failures, ...checkRequired(at, fieldPath)];
  const wrong = (why: string): FieldFailure[] => [invalidValue(at, fieldPath, `error converting fieldPath: ${why}`)];
  if (ref.apiVersion !== 'v1') return wrong(`unsupported pod version: ${ref.apiVersion}`);
  const subscript = /^([^[]*)\['([^']*)'\]$/.exec(fieldPath);
  if (subscript !== null) {
    const [, field, key = ''] = subscript;
    if (field === 'metadata.labels') return checkQualifiedName(path, key);
    if (field === 'metadata.annotations') return checkQualifiedName(path, key.toLowerCase());
    return wrong(`field label does not support subscript: ${field}`);
  }
  if (!knownFieldPaths.includes(fieldPath)) return wrong(`field label not supported: ${fieldPath}`);
  return supported.includes(fieldPath) ? [] : [notSupported(at, fieldPath, supported)];
}

/** A reference to a container's own resources. */
export function validateResourceFieldRef(
  ref: ResourceFieldSelector,
  { inVolume, options }: { readonly inVolume: boolean; readonly options: PodOptions },
  path: FieldPath,
): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const { containerName = '', resource = '' } = ref;
  const known: readonly string[] = containerResources;
  if (inVolume && containerName === '') failures.push(required(path.child('containerName')));
  else if (resource === '') failures.push(required(path.child('resource')));
  else if (!known.includes(resource) && !(options.hugePagesInDownwardAPI && hugePages.test(resource))) {
    failures.push(notSupported(path.child('resource'), resource, containerResources));
  }
  return [...failures, ...validateDivisor(resource, ref.divisor, path.child('divisor'))];
}

const hugePages = /^(limits|requests)\.hugepages-/;

const byteDivisors = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

function validateDivisor(resource: string, divisor: string | undefined, path: FieldPath): FieldFailure[] {
  if (divisor === undefined || !isQuantity(divisor) || quantitySign(divisor) === 0) return [];
  const { shown, allowed } = divisorsOf(resource);
  if (shown === '' || allowed.includes(canonicalQuantity(divisor))) return [];
  const list = shown === 'cpu' ? allowed.join(' and ') : allowed.join(', ');
  // It is the resource that 1.24 shows as the bad value.
  return [invalidValue(path, resource, `only divisor's values ${list} are supported with the ${shown} resource`)];
}

/** Units in which a resource may be told, and its name in messages; nothing for unknown resources. */
function divisorsOf(resource: string): { shown: string; allowed: readonly string[] } {
  if (hugePages.test(resource)) return { shown: 'hugepages', allowed: byteDivisors };
  const known: readonly string[] = containerResources;
  const name = known.includes(resource) ? resource.slice(resource.indexOf('.') + 1) : '';
  if (name === 'cpu') return { shown: name, allowed: ['1m', '1'] };
  return { shown: name === 'ephemeral-storage' ? 'local ephemeral storage' : name, allowed: byteDivisors };
}

export function validateEnvFrom(sources: EnvFromSource[] | undefined, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  sources?.forEach((source, i) => {
    const at = path.index(i);
    const prefix = source.prefix ?? '';
    if (prefix !== '') failures.push(...invalidEach(at.child('prefix'), prefix, envVarNameErrors(prefix)));
    const { configMapRef, secretRef } = source;
    for (const [field, ref] of [
      ['configMapRef', configMapRef],
      ['secretRef', secretRef],
    ] as const) {
      if (ref === undefined) continue;
      const name = ref.name ?? '';
      const namePath = at.child(field, 'name');
      if (name === '') failures.push(required(namePath));
      else failures.push(...invalidEach(namePath, name, dns1123SubdomainErrors(maskTrailingDash(name))));
    }
    // The path is that of the list.
    if (configMapRef === undefined && secretRef === undefined) {
      failures.push(invalidValue(path, '', 'must specify one of: `configMapRef` or `secretRef`'));
    } else if (configMapRef !== undefined && secretRef !== undefined) {
      failures.push(invalidValue(path, '', 'may not have more than one field specified at a time'));
    }
  });
  return failures;
}
