/**
 * The Pod Security Standards: which checks a level has at a version, and what a pod violates. The checks and their versions
 * are those of 1.24; a version beyond the last change of a check means the last change.
 */

import type { Check, CheckedPod, Violation } from '#apiserver/admission/podsecurity/standards/check.js';
import {
  hostNamespaces,
  hostPathVolumes,
  hostPorts,
  privileged,
  windowsHostProcess,
} from '#apiserver/admission/podsecurity/standards/host-checks.js';
import {
  appArmorProfile,
  defaultCapabilitiesOnly,
  procMount,
  seLinuxOptions,
  sysctls,
} from '#apiserver/admission/podsecurity/standards/kernel-checks.js';
import type { LevelVersion } from '#apiserver/admission/podsecurity/standards/level.js';
import {
  allowedVolumeTypes,
  allowPrivilegeEscalation,
  dropAllCapabilities,
  runAsNonRoot,
  runAsUser,
} from '#apiserver/admission/podsecurity/standards/restricted-checks.js';
import {
  seccompAnnotations,
  seccompFields,
  seccompRequired,
} from '#apiserver/admission/podsecurity/standards/seccomp-checks.js';

/** A check, in the order of messages. */
interface Row {
  readonly check: Check;
  /** The first minor version with the check. */
  readonly since: number;
  /** The first minor version without it. */
  readonly until?: number;
}

interface BaselineRow extends Row {
  /** The first minor version in which level `restricted` has a stricter check instead. */
  readonly replacedSince?: number;
}

const baseline: readonly BaselineRow[] = [
  { check: appArmorProfile, since: 0 },
  { check: defaultCapabilitiesOnly, since: 0, replacedSince: 22 },
  { check: hostNamespaces, since: 0 },
  { check: hostPathVolumes, since: 0, replacedSince: 0 },
  { check: hostPorts, since: 0 },
  { check: privileged, since: 0 },
  { check: procMount, since: 0 },
  { check: seLinuxOptions, since: 0 },
  { check: seccompAnnotations, since: 0, until: 19 },
  { check: seccompFields, since: 19, replacedSince: 19 },
  { check: sysctls, since: 0 },
  { check: windowsHostProcess, since: 0 },
];

const restricted: readonly Row[] = [
  { check: allowPrivilegeEscalation, since: 8 },
  { check: dropAllCapabilities, since: 22 },
  { check: allowedVolumeTypes, since: 0 },
  { check: runAsNonRoot, since: 0 },
  { check: runAsUser, since: 23 },
  { check: seccompRequired, since: 19 },
];

/** The last minor version that changes a check. */
const lastChange = 23;

const checks = { baseline: checksByMinor(atBaseline), restricted: checksByMinor(atRestricted) };

function checksByMinor(at: (minor: number) => readonly Row[]): readonly (readonly Check[])[] {
  return Array.from({ length: lastChange + 1 }, (_, minor) => at(minor).map(({ check }) => check));
}

function atBaseline(minor: number): readonly Row[] {
  return baseline.filter((row) => applies(row, minor));
}

function atRestricted(minor: number): readonly Row[] {
  const kept = baseline.filter((row) => applies(row, minor) && !(minor >= (row.replacedSince ?? lastChange + 1)));
  return [...kept, ...restricted.filter((row) => applies(row, minor))];
}

function applies({ since, until = lastChange + 1 }: Row, minor: number): boolean {
  return minor >= since && minor < until;
}

/** What the pod violates, in 1.24's order; empty if it keeps all rules of the level. */
export function violationsOf(pod: CheckedPod, { level, version }: LevelVersion): readonly Violation[] {
  if (level === 'privileged') return [];
  const violations: Violation[] = [];
  for (const check of checks[level][Math.min(version.minor, lastChange)] ?? []) {
    const violation = check(pod);
    if (violation !== undefined) violations.push(violation);
  }
  return violations;
}

/** `host namespaces (hostPID=true), privileged (container "a" must not set securityContext.privileged=true)`. */
export function shownViolations(violations: readonly Violation[]): string {
  return violations.map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`)).join(', ');
}

/** Without the details, for summaries of several pods: `host namespaces, privileged`. */
export function shownReasons(violations: readonly Violation[]): string {
  return violations.map(({ reason }) => reason).join(', ');
}
