/** What clients are warned of in pods and their templates: it is accepted, but old, without effect, or a mistake. */
import { nodeKeyWarnings, nodeLabelWarnings, nodeSelectorTermWarnings } from '#api/core/v1/node/deprecated-labels.js';
import type { Container, PodSpec, PodTemplateSpec } from '#api/core/v1/types.gen.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { parseQuantity } from '#apimachinery/quantity.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { FieldPath as Path } from '#apimachinery/validation/path.js';

/** Warnings of a pod. An update repeats none that the stored pod gave as well. */
export function podWarnings(
  pod: { metadata?: ObjectMeta; spec?: PodSpec },
  old: { metadata?: ObjectMeta; spec?: PodSpec } | undefined,
  dialect: Dialect,
): string[] {
  return onlyNew(warningsOf(pod, dialect, undefined), old && warningsOf(old, dialect, undefined));
}

/** Warnings of a template of pods; `path` is where it stands. */
export function podTemplateWarnings(
  template: PodTemplateSpec | undefined,
  old: PodTemplateSpec | undefined,
  dialect: Dialect,
  path: FieldPath = Path.of('spec', 'template'),
): string[] {
  if (template === undefined) return [];
  return onlyNew(warningsOf(template, dialect, path), old && warningsOf(old, dialect, path));
}

function onlyNew(warnings: string[], before: string[] | undefined): string[] {
  return before === undefined ? warnings : warnings.filter((text) => !before.includes(text));
}

function warningsOf(
  pod: { metadata?: ObjectMeta; spec?: PodSpec },
  dialect: Dialect,
  path: FieldPath | undefined,
): string[] {
  const at = (name: string): FieldPath => path?.child(name) ?? Path.of(name);
  const annotations = annotationWarnings(pod.metadata?.annotations, dialect, at('metadata').child('annotations'));
  return pod.spec === undefined ? annotations : [...annotations, ...specWarnings(pod.spec, dialect, at('spec'))];
}

function annotationWarnings(
  annotations: Readonly<Record<string, string>> | undefined,
  dialect: Dialect,
  path: FieldPath,
): string[] {
  const domain = dialect.labelDomain;
  const seccomp = 'deprecated since v1.19; use the "seccompProfile" field instead';
  const sysctls = 'non-functional in v1.11+; use the "sysctls" field instead';
  const known: Readonly<Record<string, string>> = {
    [`seccomp.security.alpha.${domain}/pod`]: seccomp,
    [`security.alpha.${domain}/sysctls`]: sysctls,
    [`security.alpha.${domain}/unsafe-sysctls`]: sysctls,
    [`scheduler.alpha.${domain}/critical-pod`]: 'non-functional in v1.16+; use the "priorityClassName" field instead',
  };
  return Object.keys(annotations ?? {}).flatMap((key) => {
    const text = key.startsWith(`container.seccomp.security.alpha.${domain}/`)
      ? seccomp
      : Object.hasOwn(known, key)
        ? known[key]
        : undefined;
    return text === undefined ? [] : [`${path.key(key)}: ${text}`];
  });
}

/** Sources of volumes that are on their way out, or gone. */
const oldVolumes = {
  gitRepo: 'deprecated in v1.11',
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  flocker: 'deprecated in v1.22, non-functional in v1.25+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
  quobyte: 'deprecated in v1.22, non-functional in v1.25+',
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
      warnings.push(`${path.child('volumes').index(i).child(field)}: ${text}`);
    }
  });
  spec.imagePullSecrets?.forEach(({ name }, i) => {
    if ((name ?? '') !== '') return;
    warnings.push(`${path.child('imagePullSecrets').index(i).child('name')}: invalid empty name ""`);
  });
  const seconds = spec.terminationGracePeriodSeconds;
  if (seconds !== undefined && seconds < 0) {
    const text = 'must be >= 0; negative values are invalid and will be treated as 1';
    warnings.push(`${path.child('terminationGracePeriodSeconds')}: ${text}`);
  }
  warnings.push(...fractionWarnings(spec.overhead, path.child('overhead')));
  for (const field of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    spec[field]?.forEach((container, i) => {
      warnings.push(...containerWarnings(container, path.child(field).index(i)));
    });
  }
  return warnings;
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
  const warnings: string[] = [];
  const names = new Set<string>();
  container.env?.forEach(({ name = '' }, i) => {
    if (names.has(name)) {
      warnings.push(`${path.child('env').index(i).child('name')}: duplicate name ${JSON.stringify(name)}`);
    }
    names.add(name);
  });
  return [
    ...warnings,
    ...fractionWarnings(container.resources?.limits, path.child('resources', 'limits')),
    ...fractionWarnings(container.resources?.requests, path.child('resources', 'requests')),
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
