/** Rules of a pod spec, the same in pods and templates. */

import {
  validateContainers,
  validateEphemeralContainers,
  validateInitContainers,
} from '#api/core/v1/pod/validation/containers.js';
import { validateOS } from '#api/core/v1/pod/validation/operating-system.js';
import { type PodOptions, searchLimits } from '#api/core/v1/pod/validation/options.js';
import { validateResourceRequirements } from '#api/core/v1/pod/validation/resources.js';
import {
  validateAffinity,
  validateTolerations,
  validateTopologySpread,
} from '#api/core/v1/pod/validation/scheduling.js';
import { validatePodSecurityContext } from '#api/core/v1/pod/validation/security.js';
import { validateVolumes } from '#api/core/v1/pod/validation/volumes.js';
import { validateHostProcesses } from '#api/core/v1/pod/validation/windows.js';
import { declaration as schema } from '#api/core/v1/pod.js';
import type { HostAlias, PodDNSConfig, PodReadinessGate, PodSpec } from '#api/core/v1/types.gen.js';
import { validateLabels } from '#api/meta/v1/objectmeta/validation.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import { checkDNSLabel, checkDNSSubdomain, checkEnum, checkQualifiedName } from '#apimachinery/validation/checks.js';
import { addAll, invalidValue, joined, none, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';

const checkDeadline = rangesOf(schema.types.PodSpec, 'activeDeadlineSeconds');

export const maxInt32 = 2147483647;

export interface PodSpecRules {
  readonly dialect: Dialect;
  readonly options: PodOptions;
  /** Name of the pod; empty in templates. */
  readonly podName: string;
}

const subdomainFields = ['serviceAccountName', 'nodeName', 'priorityClassName'] as const;
const labelFields = ['hostname', 'subdomain'] as const;

export function validatePodSpec(spec: PodSpec, rules: PodSpecRules, path: FieldPath): readonly FieldFailure[] {
  const { dialect, options } = rules;
  const { failures, validVolumes } = validateVolumes(spec.volumes ?? [], rules, path.child('volumes'));
  const facts = { dialect, options, volumes: validVolumes };
  const containers = spec.containers ?? [];
  const initContainers = spec.initContainers ?? [];
  return joined(
    failures,
    validateContainers(containers, facts, path.child('containers')),
    validateInitContainers(initContainers, containers, facts, path.child('initContainers')),
    validateEphemeralContainers(
      spec.ephemeralContainers ?? [],
      containers,
      initContainers,
      facts,
      path.child('ephemeralContainers'),
    ),
    checkEnum(path.child('restartPolicy'), spec.restartPolicy, schema.enums.RestartPolicy),
    checkEnum(path.child('dnsPolicy'), spec.dnsPolicy, dnsPolicies),
    validateLabels(spec.nodeSelector, path.child('nodeSelector')),
    validatePodSecurityContext(spec, options, path),
    validateAffinity(spec.affinity, path.child('affinity')),
    validateDNSConfig(spec, options, path.child('dnsConfig')),
    validateReadinessGates(spec.readinessGates, path.child('readinessGates')),
    validateTopologySpread(spec.topologySpreadConstraints, path.child('topologySpreadConstraints')),
    validateHostProcesses(spec, options, path),
    validateNames(spec, path),
    checkDeadline(spec, path),
    validateTolerations(spec.tolerations, path.child('tolerations')),
    validateHostAliases(spec.hostAliases, path.child('hostAliases')),
    validatePriority(spec, path),
    spec.overhead === undefined
      ? none
      : validateResourceRequirements({ limits: spec.overhead }, dialect, path.child('overhead'), options),
    validateOS(spec, path),
  );
}

function validateReadinessGates(
  gates: readonly PodReadinessGate[] | undefined,
  path: FieldPath,
): readonly FieldFailure[] {
  if (gates === undefined) return none;
  const failures: FieldFailure[] = [];
  gates.forEach(({ conditionType = '' }, i) => {
    addAll(failures, checkQualifiedName(path.index(i).child('conditionType'), conditionType));
  });
  return failures;
}

function validateNames(spec: PodSpec, path: FieldPath): readonly FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const field of subdomainFields) {
    const value = spec[field] ?? '';
    if (value !== '') addAll(failures, checkDNSSubdomain(path.child(field), value));
  }
  for (const field of labelFields) {
    const value = spec[field] ?? '';
    if (value !== '') addAll(failures, checkDNSLabel(path.child(field), value));
  }
  if (spec.runtimeClassName !== undefined) {
    addAll(failures, checkDNSSubdomain(path.child('runtimeClassName'), spec.runtimeClassName));
  }
  return failures;
}

function validatePriority(spec: PodSpec, path: FieldPath): readonly FieldFailure[] {
  if (spec.preemptionPolicy === undefined) return none;
  return checkEnum(path.child('preemptionPolicy'), spec.preemptionPolicy, schema.enums.PreemptionPolicy);
}

/** Limit of the resolver library. */
const maxNameservers = 3;
/** Limits of newer resolvers. */
const expandedSearchLimits = { paths: 32, characters: 2048 } as const;

const dnsPolicies = schema.enums.DNSPolicy;

/** DNS servers and search domains; required with the DNS policy None. */
function validateDNSConfig(spec: PodSpec, options: PodOptions, path: FieldPath): readonly FieldFailure[] {
  const config = spec.dnsConfig;
  if (spec.dnsPolicy === 'None') {
    if (config === undefined) return [required(path, 'must provide `dnsConfig` when `dnsPolicy` is None')];
    if ((config.nameservers ?? []).length === 0) {
      const text = 'must provide at least one DNS nameserver when `dnsPolicy` is None';
      return [required(path.child('nameservers'), text)];
    }
  }
  return config === undefined ? none : validateConfig(config, options, path);
}

function validateConfig(config: PodDNSConfig, options: PodOptions, path: FieldPath): readonly FieldFailure[] {
  const { nameservers = [], searches = [] } = config;
  const { paths, characters } = options.expandedDNS ? expandedSearchLimits : searchLimits;
  const failures: FieldFailure[] = [];
  if (nameservers.length > maxNameservers) {
    const text = `must not have more than ${maxNameservers} nameservers`;
    failures.push(invalidValue(path.child('nameservers'), nameservers, text));
  }
  nameservers.forEach((address, i) => {
    if (ipFamily(address) !== 0) return;
    failures.push(invalidValue(path.child('nameservers').index(i), address, 'must be valid IP address'));
  });
  if (searches.length > paths) {
    failures.push(invalidValue(path.child('searches'), searches, `must not have more than ${paths} search paths`));
  }
  if (searches.join(' ').length > characters) {
    const text = `must not have more than ${characters} characters (including spaces) in the search list`;
    failures.push(invalidValue(path.child('searches'), searches, text));
  }
  searches.forEach((search, i) => {
    addAll(failures, checkDNSSubdomain(path.child('searches').index(i), search.replace(/\.$/, '')));
  });
  config.options?.forEach((option, i) => {
    if ((option.name ?? '') === '') failures.push(required(path.child('options').index(i), 'must not be empty'));
  });
  return failures;
}

function validateHostAliases(aliases: readonly HostAlias[] | undefined, path: FieldPath): readonly FieldFailure[] {
  if (aliases === undefined) return none;
  const failures: FieldFailure[] = [];
  for (const { ip = '', hostnames } of aliases) {
    if (ipFamily(ip) === 0) failures.push(invalidValue(path.child('ip'), ip, 'must be valid IP address'));
    for (const name of hostnames ?? []) addAll(failures, checkDNSSubdomain(path.child('hostnames'), name));
  }
  return failures;
}
