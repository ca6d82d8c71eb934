/** Rules of pods on create and update. */

import {
  type AnnotationRules,
  validateAnnotationsUpdate,
  validatePodAnnotations,
  validateSeccompAgreement,
} from '#api/core/v1/pod/validation/annotations.js';
import { imagesWithoutBlanks } from '#api/core/v1/pod/validation/containers.js';
import { validateOnlyAddedTolerations } from '#api/core/v1/pod/validation/scheduling.js';
import { maxInt32, validatePodSpec } from '#api/core/v1/pod/validation/spec.js';
import type { Container, ContainerStatus, Pod, PodSpec } from '#api/core/v1/types.gen.js';
import { coreValues } from '#api/core/v1/values/go-values.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import { checkDNSSubdomain, checkQualifiedName, ipErrors, repeatedAt } from '#apimachinery/validation/checks.js';
import {
  addAll,
  duplicate,
  forbiddenField,
  internalFailure,
  invalidEach,
  invalidValue,
  joined,
  none,
  required,
} from '#apimachinery/validation/failure.js';
import { inclusiveRangeMessage } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const metadataPath = FieldPath.of('metadata');
const annotationsPath = metadataPath.child('annotations');
const specPath = FieldPath.of('spec');
const statusPath = FieldPath.of('status');

/** All rules except those of common metadata, on create and update. */
export function validatePod(pod: Pod, rules: AnnotationRules): readonly FieldFailure[] {
  const { metadata, spec } = pod;
  const { dialect, options } = rules;
  return joined(
    validatePodAnnotations(pod, rules, annotationsPath),
    validatePodSpec(spec, { dialect, options, podName: metadata.name ?? '' }, specPath),
    (spec.serviceAccountName ?? '') === '' ? noTokensWithoutAccount(spec) : none,
    imagesWithoutBlanks(spec.containers ?? [], specPath.child('containers')),
    imagesWithoutBlanks(spec.initContainers ?? [], specPath.child('initContainers')),
  );
}

function noTokensWithoutAccount(spec: PodSpec): readonly FieldFailure[] {
  const failures: FieldFailure[] = [];
  spec.volumes?.forEach((volume, i) => {
    volume.projected?.sources?.forEach((source, j) => {
      if (source.serviceAccountToken === undefined) return;
      const at = specPath.child('volumes').index(i).child('projected', 'sources').index(j).child('serviceAccountToken');
      failures.push(forbiddenField(at, 'must not be specified when serviceAccountName is not set'));
    });
  });
  return failures;
}

/** Rules on create only. */
export function validatePodCreate(pod: Pod, dialect: Dialect): readonly FieldFailure[] {
  const failures = validateSeccompAgreement(pod, dialect, specPath);
  if ((pod.spec.ephemeralContainers ?? []).length === 0) return failures;
  return [forbiddenField(specPath.child('ephemeralContainers'), 'cannot be set on create'), ...failures];
}

/** Allowed changes of annotations and spec. */
export function validatePodUpdate(pod: Pod, old: Pod, dialect: Dialect): readonly FieldFailure[] {
  const spec = pod.spec;
  const failures = [...annotationsUpdate(pod, old, dialect)];
  for (const field of ['containers', 'initContainers'] as const) {
    const after = spec[field] ?? [];
    if (after.length !== (old.spec[field] ?? []).length) {
      return [...failures, forbiddenField(specPath.child(field), 'pod updates may not add or remove containers')];
    }
    after.forEach((container, i) => {
      if ((container.image ?? '') === '') failures.push(required(specPath.child(field).index(i).child('image')));
    });
  }
  addAll(failures, deadlineMayOnlyShrink(spec.activeDeadlineSeconds, old.spec.activeDeadlineSeconds));
  addAll(failures, validateOnlyAddedTolerations(spec.tolerations, old.spec.tolerations, specPath.child('tolerations')));
  const changed = changedFields(spec, old.spec);
  if (changed.length > 0) failures.push(forbiddenField(specPath, `${immutableText}\nchanged: ${changed.join(', ')}\n`));
  return failures;
}

function annotationsUpdate(pod: Pod, old: Pod, dialect: Dialect): readonly FieldFailure[] {
  return validateAnnotationsUpdate(pod.metadata.annotations, old.metadata.annotations, dialect, annotationsPath);
}

const immutableText =
  'pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to existing tolerations) or `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

function deadlineMayOnlyShrink(
  seconds: number | bigint | undefined,
  old: number | bigint | undefined,
): readonly FieldFailure[] {
  const path = specPath.child('activeDeadlineSeconds');
  if (seconds === undefined) {
    return old === undefined
      ? none
      : [invalidValue(path, undefined, 'must not update from a positive integer to nil value')];
  }
  if (seconds < 0 || seconds > maxInt32) return [invalidValue(path, seconds, inclusiveRangeMessage(0, maxInt32))];
  if (old !== undefined && old < seconds) {
    return [invalidValue(path, seconds, 'must be less than or equal to previous value')];
  }
  return none;
}

/** The sorted names of changed fields that must not change. */
function changedFields(spec: PodSpec, old: PodSpec): string[] {
  if (spec === old) return [];
  const changed: string[] = [];
  for (const field of Object.keys({ ...old, ...spec }) as (keyof PodSpec)[]) {
    if (spec[field] !== old[field] && !mayDiffer(field, spec, old)) changed.push(field);
  }
  return changed.sort();
}

function mayDiffer(field: keyof PodSpec, spec: PodSpec, old: PodSpec): boolean {
  switch (field) {
    // These have their own rules.
    case 'activeDeadlineSeconds':
    case 'tolerations':
      return true;
    case 'terminationGracePeriodSeconds':
      return (spec[field] === 1 && (old[field] ?? 0) < 0) || semanticEqual(spec[field], old[field]);
    case 'containers':
    case 'initContainers':
      return sameButImages(spec[field] ?? [], old[field] ?? []);
    default:
      return semanticEqual(spec[field], old[field]);
  }
}

/** Both lists have the same length, because containers can be neither added nor removed. */
function sameButImages(containers: readonly Container[], old: readonly Container[]): boolean {
  return containers.every((container, i) => {
    const before = old[i];
    if (container === before || before?.image === undefined) return semanticEqual(container, before);
    return semanticEqual({ ...container, image: before.image }, before);
  });
}

/** System conditions, whose types need no validation. */
const systemConditions = ['PodScheduled', 'Ready', 'Initialized'];

/** Rules of a status update. */
export function validatePodStatusUpdate(pod: Pod, old: Pod, rules: AnnotationRules): readonly FieldFailure[] {
  const failures = [
    ...joined(annotationsUpdate(pod, old, rules.dialect), validatePodAnnotations(pod, rules, annotationsPath)),
  ];
  // 1.24 reports conditions of pods below the metadata.
  pod.status?.conditions?.forEach(({ type = '' }, i) => {
    if (systemConditions.includes(type)) return;
    addAll(failures, checkQualifiedName(metadataPath.child('conditions').index(i).child('Type'), type));
  });
  const nominated = pod.status?.nominatedNodeName ?? '';
  if (nominated !== '' && nominated !== old.status?.nominatedNodeName)
    addAll(failures, checkDNSSubdomain(statusPath.child('nominatedNodeName'), nominated));
  for (const field of ['containerStatuses', 'initContainerStatuses'] as const) {
    const at = statusPath.child(field);
    addAll(failures, endedStaysEnded(pod.status?.[field], old.status?.[field], old.spec.restartPolicy, at));
  }
  // Ephemeral containers are never restarted.
  const list = 'ephemeralContainerStatuses';
  addAll(failures, endedStaysEnded(pod.status?.[list], old.status?.[list], 'Never', statusPath.child(list)));
  return joined(failures, validatePodIPs(pod));
}

/** If the pod does not restart containers, an ended container must not run again. */
function endedStaysEnded(
  statuses: readonly ContainerStatus[] | undefined,
  old: readonly ContainerStatus[] | undefined,
  restartPolicy: string | undefined,
  path: FieldPath,
): readonly FieldFailure[] {
  if (restartPolicy === 'Always') return none;
  const failures: FieldFailure[] = [];
  const now = byName(statuses ?? []);
  old?.forEach((before, i) => {
    const ended = before.state?.terminated;
    if (ended === undefined || (ended.exitCode !== 0 && restartPolicy === 'OnFailure')) return;
    const after = now.get(before.name);
    if (after === undefined || after.state?.terminated !== undefined) return;
    failures.push(forbiddenField(path.index(i).child('state'), 'may not be transitioned to non-terminated state'));
  });
  return failures;
}

/** The first element of each name. */
function byName<T extends { name?: string }>(list: readonly T[]): ReadonlyMap<string | undefined, T> {
  return new Map(list.map((element): [string | undefined, T] => [element.name, element]).reverse());
}

function validatePodIPs(pod: Pod): readonly FieldFailure[] {
  const path = statusPath.child('podIPs');
  const ips = (pod.status?.podIPs ?? []).map((entry) => entry.ip ?? '');
  const failures = ips.flatMap((ip, i) => invalidEach(path.index(i), ip, ipErrors(ip)));
  if (ips.length <= 1) return failures;
  if (failures.length > 0) {
    failures.push(internalFailure(path, 'failed to check for dual stack with error:ip <nil> is invalid'));
  }
  if (failures.length > 0 || ips.length > 2 || new Set(ips.map(ipFamily)).size !== ips.length) {
    const shown = coreValues.member('PodStatus', 'podIPs', pod.status?.podIPs);
    failures.push(invalidValue(path, shown, 'may specify no more than one IP for each IP family'));
  }
  const repeated = repeatedAt(ips);
  ips.forEach((ip, i) => {
    if (repeated.has(i)) failures.push(duplicate(path.index(i), coreValues.of('PodIP', { ip })));
  });
  return failures;
}

/** Ephemeral containers can be added, but neither changed nor removed. */
export function validateEphemeralContainersUpdate(pod: Pod, old: Pod, rules: AnnotationRules): readonly FieldFailure[] {
  const path = specPath.child('ephemeralContainers');
  const failures = [...joined(validatePod(pod, rules), annotationsUpdate(pod, old, rules.dialect))];
  const after = pod.spec.ephemeralContainers ?? [];
  const before = old.spec.ephemeralContainers ?? [];
  const named = byName(after);
  for (const container of before) {
    const now = named.get(container.name);
    const name = JSON.stringify(container.name);
    if (now === undefined) {
      failures.push(forbiddenField(path, `existing ephemeral containers ${name} may not be removed\n`));
    } else if (!semanticEqual(now, container)) {
      failures.push(forbiddenField(path, `existing ephemeral containers ${name} may not be changed\n`));
    }
  }
  return failures;
}
