/** Rules of a pod's spec, the same in pods and in templates of pods. */
import {
  validateContainers,
  validateEphemeralContainers,
  validateInitContainers,
} from '#api/core/v1/pod/validation/containers.js';
import { dnsPolicies, validateDNSConfig, validateHostAliases } from '#api/core/v1/pod/validation/dns.js';
import { validateOS } from '#api/core/v1/pod/validation/operating-system.js';
import type { PodOptions } from '#api/core/v1/pod/validation/options.js';
import { validateResourceRequirements } from '#api/core/v1/pod/validation/resources.js';
import {
  validateAffinity,
  validateTolerations,
  validateTopologySpread,
} from '#api/core/v1/pod/validation/scheduling.js';
import { validatePodSecurityContext } from '#api/core/v1/pod/validation/security.js';
import { validateVolumes } from '#api/core/v1/pod/validation/volumes.js';
import { validateHostProcesses } from '#api/core/v1/pod/validation/windows.js';
import type { PodSpec } from '#api/core/v1/types.gen.js';
import { validateLabels } from '#api/meta/v1/objectmeta/validation.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSLabel, checkDNSSubdomain, checkEnum, checkQualifiedName } from '#apimachinery/validation/checks.js';
import { invalidValue } from '#apimachinery/validation/failure.js';
import { inclusiveRangeMessage } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

export const maxInt32 = 2147483647;

export interface PodSpecRules {
  readonly dialect: Dialect;
  readonly options: PodOptions;
  /** Of the pod whose spec it is; empty in templates. */
  readonly podName: string;
}

export function validatePodSpec(spec: PodSpec, rules: PodSpecRules, path: FieldPath): FieldFailure[] {
  const { dialect, options } = rules;
  const { failures, known } = validateVolumes(spec.volumes ?? [], rules, path.child('volumes'));
  const facts = { dialect, options, volumes: known };
  const containers = spec.containers ?? [];
  const initContainers = spec.initContainers ?? [];
  return [
    ...failures,
    ...validateContainers(containers, facts, path.child('containers')),
    ...validateInitContainers(initContainers, containers, facts, path.child('initContainers')),
    ...validateEphemeralContainers(
      spec.ephemeralContainers ?? [],
      containers,
      initContainers,
      facts,
      path.child('ephemeralContainers'),
    ),
    ...checkEnum(path.child('restartPolicy'), spec.restartPolicy, ['Always', 'OnFailure', 'Never']),
    ...checkEnum(path.child('dnsPolicy'), spec.dnsPolicy, dnsPolicies),
    ...validateLabels(spec.nodeSelector, path.child('nodeSelector')),
    ...validatePodSecurityContext(spec, path),
    ...validateAffinity(spec.affinity, path.child('affinity')),
    ...validateDNSConfig(spec, options, path.child('dnsConfig')),
    ...(spec.readinessGates ?? []).flatMap((gate, i) =>
      checkQualifiedName(path.child('readinessGates').index(i).child('conditionType'), gate.conditionType ?? ''),
    ),
    ...validateTopologySpread(spec.topologySpreadConstraints, path.child('topologySpreadConstraints')),
    ...validateHostProcesses(spec, options, path),
    ...validateNames(spec, path),
    ...validateActiveDeadline(spec.activeDeadlineSeconds, path.child('activeDeadlineSeconds')),
    ...validateTolerations(spec.tolerations, path.child('tolerations')),
    ...validateHostAliases(spec.hostAliases, path.child('hostAliases')),
    ...validatePriority(spec, path),
    ...validateResourceRequirements(
      spec.overhead === undefined ? undefined : { limits: spec.overhead },
      dialect,
      path.child('overhead'),
      options,
    ),
    ...validateOS(spec, path),
  ];
}

function validateNames(spec: PodSpec, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const field of ['serviceAccountName', 'nodeName', 'priorityClassName'] as const) {
    const value = spec[field] ?? '';
    if (value !== '') failures.push(...checkDNSSubdomain(path.child(field), value));
  }
  for (const field of ['hostname', 'subdomain'] as const) {
    const value = spec[field] ?? '';
    if (value !== '') failures.push(...checkDNSLabel(path.child(field), value));
  }
  if (spec.runtimeClassName !== undefined) {
    failures.push(...checkDNSSubdomain(path.child('runtimeClassName'), spec.runtimeClassName));
  }
  return failures;
}

function validateActiveDeadline(seconds: number | undefined, path: FieldPath): FieldFailure[] {
  if (seconds === undefined || (seconds >= 1 && seconds <= maxInt32)) return [];
  return [invalidValue(path, seconds, inclusiveRangeMessage(1, maxInt32))];
}

function validatePriority(spec: PodSpec, path: FieldPath): FieldFailure[] {
  if (spec.preemptionPolicy === undefined) return [];
  return checkEnum(path.child('preemptionPolicy'), spec.preemptionPolicy, ['PreemptLowerPriority', 'Never']);
}
