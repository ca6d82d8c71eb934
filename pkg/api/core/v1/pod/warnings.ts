/** What clients are warned of in pods and their templates: it is accepted, but old, without effect, or a mistake. */
import { nodeKeyWarnings, nodeLabelWarnings, nodeSelectorTermWarnings } from '#api/core/v1/node/deprecated-labels.js';
import { seccompContainerPrefix, seccompPodAnnotation } from '#api/core/v1/pod/annotations.js';
import { containersOf } from '#api/core/v1/pod/containers.js';
import type { Container, PodSpec, PodTemplateSpec, SeccompProfile } from '#api/core/v1/types.gen.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { parseQuantity } from '#apimachinery/quantity.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { FieldPath as Path } from '#apimachinery/validation/path.js';

/** Warnings of a new pod. */
export function podWarnings(pod: { metadata?: ObjectMeta; spec?: PodSpec }, dialect: Dialect): string[] {
  return warningsOf(pod, dialect, undefined);
}

/** Warnings of a template of pods, all over again whenever it changes; `path` is where it stands. */
export function podTemplateWarnings(
  template: PodTemplateSpec | undefined,
  old: PodTemplateSpec | undefined,
  dialect: Dialect,
  path: FieldPath = Path.of('spec', 'template'),
): string[] {
  if (template === undefined || (old !== undefined && semanticEqual(template, old))) return [];
  return warningsOf(template, dialect, path);
}

function warningsOf(
  pod: { metadata?: ObjectMeta; spec?: PodSpec },
  dialect: Dialect,
  path: FieldPath | undefined,
): string[] {
  const at = (name: string): FieldPath => path?.child(name) ?? Path.of(name);
  const annotations = annotationWarnings(pod, dialect, at('metadata').child('annotations'));
  return pod.spec === undefined ? annotations : [...annotations, ...specWarnings(pod.spec, dialect, at('spec'))];
}

function annotationWarnings(
  { metadata, spec }: { metadata?: ObjectMeta; spec?: PodSpec },
  dialect: Dialect,
  path: FieldPath,
): string[] {
  const annotations = metadata?.annotations;
  if (annotations === undefined) return [];
  const domain = dialect.labelDomain;
  const sysctls = 'non-functional in v1.11+; use the "sysctls" field instead';
  const old: Readonly<Record<string, string>> = {
    [`scheduler.alpha.${domain}/critical-pod`]: 'non-functional in v1.16+; use the "priorityClassName" field instead',
    [`security.alpha.${domain}/sysctls`]: sysctls,
    [`security.alpha.${domain}/unsafe-sysctls`]: sysctls,
  };
  const warnings = Object.entries(old).filter(([key]) => Object.hasOwn(annotations, key));
  // Those with the field beside them are for old readers, and mean no harm.
  const holders: [string, { securityContext?: { seccompProfile?: SeccompProfile } } | undefined][] = [
    [seccompPodAnnotation(dialect), spec],
    ...(spec === undefined ? [] : containersOf(spec)).map(({ container }): [string, typeof container] => [
      seccompContainerPrefix(dialect) + container.name,
      container,
    ]),
  ];
  const seccomp = 'deprecated since v1.19; use the "seccompProfile" field instead';
  for (const [key, holder] of holders) {
    if (holder?.securityContext?.seccompProfile !== undefined || !Object.hasOwn(annotations, key)) continue;
    warnings.push([key, seccomp]);
  }
  return warnings.map(([key, text]) => `${path.key(key)}: ${text}`);
}

/** Sources of volumes that are on their way out, or gone. */
const planned = 'deprecated in v1.22, support removal is planned in v1.26';
const oldVolumes = {
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  gitRepo: 'deprecated in v1.11',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  flocker: planned,
  storageos: planned,
  quobyte: planned,
} as const;

function specWarnings(spec: PodSpec, dialect: Dialect, path: FieldPath): string[] {
  const warnings = [
    ...nodeLabelWarnings(spec.nodeSelector, dialect, path.child('nodeSelector')),
    ...affinityWarnings(spec, dialect, path.child('affinity', 'nodeAffinity')),
    ...(spec.topologySpreadConstraints ?? []).flatMap(({ topologyKey }, i) =>
      nodeKeyWarnings(topologyKey, dialect, path.child('topologySpreadConstraints').index(i).child('topologyKey')),
    ),
  ];
  spec.volumes?.forEach((volume, i) => {
    for (const [field, text] of Object.entries(oldVolumes)) {
      if (Reflect.get(volume, field) === undefined) continue;
      const name = field === 'storageos' ? 'storageOS' : field;
      warnings.push(`${path.child('volumes').index(i).child(name)}: ${text}`);
    }
  });
  warnings.push(
    ...repeated(spec.hostAliases, 'ip', path.child('hostAliases')),
    ...repeated(spec.imagePullSecrets, 'name', path.child('imagePullSecrets')),
  );
  spec.imagePullSecrets?.forEach(({ name }, i) => {
    if ((name ?? '') !== '') return;
    warnings.push(`${path.child('imagePullSecrets').index(i).child('name')}: invalid empty name ""`);
  });
  warnings.push(...repeated(spec.volumes, 'name', path.child('volumes')));
  const seconds = spec.terminationGracePeriodSeconds;
  if (seconds !== undefined && seconds < 0) {
    const text = 'must be >= 0; negative values are invalid and will be treated as 1';
    warnings.push(`${path.child('terminationGracePeriodSeconds')}: ${text}`);
  }
  warnings.push(...fractionWarnings(spec.overhead, path.child('overhead')));
  for (const { list, index, container } of containersOf(spec)) {
    warnings.push(...containerWarnings(container, path.child(list).index(index)));
  }
  return warnings;
}

/** Elements whose key an earlier one has already. */
function repeated<K extends string>(
  elements: readonly Partial<Record<K, string>>[] | undefined,
  key: K,
  path: FieldPath,
): string[] {
  const seen = new Set<string>();
  return (elements ?? []).flatMap((element, i) => {
    const value = element[key] ?? '';
    if (seen.has(value)) return [`${path.index(i).child(key)}: duplicate ${key} ${JSON.stringify(value)}`];
    seen.add(value);
    return [];
  });
}

function affinityWarnings(spec: PodSpec, dialect: Dialect, path: FieldPath): string[] {
  const node = spec.affinity?.nodeAffinity;
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
  return [
    ...(node?.[required]?.nodeSelectorTerms ?? []).flatMap((term, i) =>
      nodeSelectorTermWarnings(term, dialect, path.child(required, 'nodeSelectorTerms').index(i)),
    ),
    ...(node?.[preferred] ?? []).flatMap(({ preference }, i) =>
      nodeSelectorTermWarnings(preference, dialect, path.child(preferred).index(i).child('preference')),
    ),
  ];
}

function containerWarnings(container: Pick<Container, 'env' | 'resources'>, path: FieldPath): string[] {
  return [
    ...fractionWarnings(container.resources?.limits, path.child('resources', 'limits')),
    ...fractionWarnings(container.resources?.requests, path.child('resources', 'requests')),
    ...repeated(container.env, 'name', path.child('env')),
  ];
}

const wholeBytes = ['memory', 'ephemeral-storage'];

/** There is no part of a byte: `100m` of memory is usually meant to be `100M`. */
function fractionWarnings(list: Readonly<Record<string, string>> | undefined, path: FieldPath): string[] {
  return wholeBytes.flatMap((name) => {
    const quantity = list?.[name];
    if (quantity === undefined || parseQuantity(quantity).nanos % 1_000_000_000n === 0n) return [];
    return [`${path.key(name)}: fractional byte value "${quantity}" is invalid, must be an integer`];
  });
}
