/** Warnings about pods and templates: accepted fields that are deprecated, without effect, or probably mistakes. */
import { mentionsSeccomp, seccompContainerPrefix, seccompPodAnnotation } from '#api/core/v1/pod/parts/annotations.js';
import { containerLists } from '#api/core/v1/pod/parts/containers.js';
import type {
  Container,
  NodeAffinity,
  NodeSelectorTerm,
  PodSpec,
  PodTemplateSpec,
  SeccompProfile,
  Volume,
} from '#api/core/v1/types.gen.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { perDialect } from '#apimachinery/memo/once-per.js';
import { isWholeQuantity } from '#apimachinery/quantity.js';
import { type FieldPath, FieldPath as Path } from '#apimachinery/validation/path.js';

/** Deprecated node labels and their replacements. */
const replacements = perDialect(
  ({ labels, labelDomain }): ReadonlyMap<string, { readonly since: string; readonly instead: string }> =>
    new Map([
      [labels.betaArch, { since: 'v1.14', instead: labels.arch }],
      [labels.betaOS, { since: 'v1.14', instead: labels.os }],
      [`failure-domain.beta.${labelDomain}/region`, { since: 'v1.17', instead: labels.region }],
      [`failure-domain.beta.${labelDomain}/zone`, { since: 'v1.17', instead: labels.zone }],
      [`beta.${labelDomain}/instance-type`, { since: 'v1.17', instead: labels.instanceType }],
    ]),
);

/** `deprecated since …; use … instead`; undefined for other labels. */
function deprecatedNodeLabel(key: string, dialect: Dialect): string | undefined {
  const replacement = replacements(dialect).get(key);
  return replacement === undefined
    ? undefined
    : `deprecated since ${replacement.since}; use "${replacement.instead}" instead`;
}

/** Warnings about the keys of a label map. */
function nodeLabelWarnings(
  labels: Readonly<Record<string, string>> | undefined,
  dialect: Dialect,
  path: FieldPath,
): string[] {
  const warnings: string[] = [];
  for (const key in labels) {
    const text = deprecatedNodeLabel(key, dialect);
    if (text !== undefined) warnings.push(`${path.key(key)}: ${text}`);
  }
  return warnings;
}

/** Warning about a label key in a field. */
function nodeKeyWarnings(key: string | undefined, dialect: Dialect, path: FieldPath): string[] {
  const text = key === undefined ? undefined : deprecatedNodeLabel(key, dialect);
  return text === undefined ? [] : [`${path}: ${key} is ${text}`];
}

/** Warnings about the expressions of a node selector term. */
function nodeSelectorTermWarnings(term: NodeSelectorTerm | undefined, dialect: Dialect, path: FieldPath): string[] {
  return (term?.matchExpressions ?? []).flatMap(({ key }, i) =>
    nodeKeyWarnings(key, dialect, path.child('matchExpressions').index(i).child('key')),
  );
}

/** Warnings about a new pod. */
export function podWarnings(pod: { metadata?: ObjectMeta; spec?: PodSpec }, dialect: Dialect): string[] {
  return warningsOf(pod, dialect, undefined);
}

/** Warnings about a pod template, repeated on every change of it; `path` is its place. */
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
  const warnings: string[] = [];
  warnOfAnnotations(warnings, pod, dialect, at('metadata').child('annotations'));
  if (pod.spec !== undefined) warnOfSpec(warnings, pod.spec, dialect, at('spec'));
  return warnings;
}

const sysctls = 'non-functional in v1.11+; use the "sysctls" field instead';

/** Annotations without effect, with their warnings. */
const idleAnnotations = perDialect(({ labelDomain }): readonly (readonly [key: string, text: string])[] => [
  [
    `scheduler.alpha.${labelDomain}/critical-pod`,
    'non-functional in v1.16+; use the "priorityClassName" field instead',
  ],
  [`security.alpha.${labelDomain}/sysctls`, sysctls],
  [`security.alpha.${labelDomain}/unsafe-sysctls`, sysctls],
]);

function warnOfAnnotations(
  warnings: string[],
  { metadata, spec }: { metadata?: ObjectMeta; spec?: PodSpec },
  dialect: Dialect,
  path: FieldPath,
): void {
  const annotations = metadata?.annotations;
  if (annotations === undefined) return;
  for (const [key, text] of idleAnnotations(dialect)) {
    if (Object.hasOwn(annotations, key)) warnings.push(`${path.key(key)}: ${text}`);
  }
  if (!mentionsSeccomp(annotations, dialect)) return;
  // An annotation that accompanies the field is for old readers and intended.
  const warn = (key: string, holder: { securityContext?: { seccompProfile?: SeccompProfile } } | undefined): void => {
    if (holder?.securityContext?.seccompProfile !== undefined || !Object.hasOwn(annotations, key)) return;
    warnings.push(`${path.key(key)}: deprecated since v1.19; use the "seccompProfile" field instead`);
  };
  warn(seccompPodAnnotation(dialect), spec);
  for (const list of containerLists) {
    for (const container of spec?.[list] ?? []) warn(seccompContainerPrefix(dialect) + container.name, container);
  }
}

/** Deprecated and removed volume types. */
const planned = 'deprecated in v1.22, support removal is planned in v1.26';
const oldVolumes = {
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  gitRepo: 'deprecated in v1.11',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  flocker: planned,
  storageos: planned,
  quobyte: planned,
} as const;
const oldVolumeFields = Object.keys(oldVolumes) as (keyof typeof oldVolumes)[];

function warnOfSpec(warnings: string[], spec: PodSpec, dialect: Dialect, path: FieldPath): void {
  if (spec.nodeSelector !== undefined) {
    for (const text of nodeLabelWarnings(spec.nodeSelector, dialect, path.child('nodeSelector'))) warnings.push(text);
  }
  const nodeAffinity = spec.affinity?.nodeAffinity;
  if (nodeAffinity !== undefined) {
    warnOfNodeAffinity(warnings, nodeAffinity, dialect, path.child('affinity', 'nodeAffinity'));
  }
  spec.topologySpreadConstraints?.forEach(({ topologyKey }, i) => {
    const at = path.child('topologySpreadConstraints').index(i).child('topologyKey');
    warnings.push(...nodeKeyWarnings(topologyKey, dialect, at));
  });
  const volumes = path.child('volumes');
  spec.volumes?.forEach((volume, i) => {
    warnOfOldSources(warnings, volume, volumes.index(i));
  });
  const secrets = path.child('imagePullSecrets');
  warnOfRepeated(warnings, spec.hostAliases, 'ip', path.child('hostAliases'));
  warnOfRepeated(warnings, spec.imagePullSecrets, 'name', secrets);
  spec.imagePullSecrets?.forEach(({ name }, i) => {
    if ((name ?? '') === '') warnings.push(`${secrets.index(i).child('name')}: invalid empty name ""`);
  });
  warnOfRepeated(warnings, spec.volumes, 'name', volumes);
  const seconds = spec.terminationGracePeriodSeconds;
  if (seconds !== undefined && seconds < 0) {
    const text = 'must be >= 0; negative values are invalid and will be treated as 1';
    warnings.push(`${path.child('terminationGracePeriodSeconds')}: ${text}`);
  }
  warnOfFractions(warnings, spec.overhead, path.child('overhead'));
  for (const list of containerLists) {
    spec[list]?.forEach((container: Pick<Container, 'env' | 'resources'>, i) => {
      warnOfContainer(warnings, container, path.child(list).index(i));
    });
  }
}

function warnOfOldSources(warnings: string[], volume: Volume, path: FieldPath): void {
  for (const field of oldVolumeFields) {
    if (volume[field] === undefined) continue;
    warnings.push(`${path.child(field === 'storageos' ? 'storageOS' : field)}: ${oldVolumes[field]}`);
  }
}

/** Warns about elements with the key of an earlier element. */
function warnOfRepeated<K extends string>(
  warnings: string[],
  elements: readonly Partial<Record<K, string>>[] | undefined,
  key: K,
  path: FieldPath,
): void {
  if (elements === undefined || elements.length < 2) return;
  const seen = new Set<string>();
  elements.forEach((element, i) => {
    const value = element[key] ?? '';
    if (seen.has(value)) {
      warnings.push(`${path.index(i).child(key)}: duplicate ${key} ${JSON.stringify(value)}`);
    }
    seen.add(value);
  });
}

function warnOfNodeAffinity(warnings: string[], node: NodeAffinity, dialect: Dialect, path: FieldPath): void {
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
  node[required]?.nodeSelectorTerms?.forEach((term, i) => {
    const at = path.child(required, 'nodeSelectorTerms').index(i);
    for (const text of nodeSelectorTermWarnings(term, dialect, at)) warnings.push(text);
  });
  node[preferred]?.forEach(({ preference }, i) => {
    const at = path.child(preferred).index(i).child('preference');
    for (const text of nodeSelectorTermWarnings(preference, dialect, at)) warnings.push(text);
  });
}

function warnOfContainer(
  warnings: string[],
  { resources, env }: Pick<Container, 'env' | 'resources'>,
  path: FieldPath,
): void {
  warnOfFractions(warnings, resources?.limits, path.child('resources', 'limits'));
  warnOfFractions(warnings, resources?.requests, path.child('resources', 'requests'));
  warnOfRepeated(warnings, env, 'name', path.child('env'));
}

const wholeBytes = ['memory', 'ephemeral-storage'];

/** Warns about fractional bytes: `100m` of memory usually means `100M`. */
function warnOfFractions(
  warnings: string[],
  list: Readonly<Record<string, string>> | undefined,
  path: FieldPath,
): void {
  if (list === undefined) return;
  for (const name of wholeBytes) {
    const quantity = list[name];
    if (quantity === undefined || isWholeQuantity(quantity)) continue;
    warnings.push(`${path.key(name)}: fractional byte value "${quantity}" is invalid, must be an integer`);
  }
}
