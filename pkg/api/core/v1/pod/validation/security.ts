/** Rules of security contexts. */

import type { PodOptions } from '#api/core/v1/pod/validation/options.js';
import { validateWindowsOptions } from '#api/core/v1/pod/validation/windows.js';
import { declaration as schema } from '#api/core/v1/securitycontext.js';
import type { PodSecurityContext, PodSpec, SeccompProfile, SecurityContext, Sysctl } from '#api/core/v1/types.gen.js';
import { coreValues } from '#api/core/v1/values/go-values.js';
import { relativeDescending } from '#api/core/v1/volume/file-paths.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkOptionalEnum, checkRequired } from '#apimachinery/validation/checks.js';
import {
  addAll,
  duplicate,
  forbiddenField,
  invalidEach,
  invalidValue,
  none,
  notSupported,
  required,
} from '#apimachinery/validation/failure.js';
import { userOrGroupErrors } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';

const checkUsers = rangesOf(schema.types.SecurityContext, 'runAsUser', 'runAsGroup');
const checkPodUsers = rangesOf(schema.types.PodSecurityContext, 'fsGroup', 'runAsUser', 'runAsGroup');
export const maxSysctlLength = 253;
const sysctlSegmentPattern = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const sysctlSegment = new RegExp(`^${sysctlSegmentPattern}$`);
const sysctlSeparators = { dots: { split: '.', shown: '\\.' }, slashes: { split: /[./]/, shown: '[\\./]' } };

export const procMounts = schema.enums.ProcMountType;

/** A container's security context. */
export function validateSecurityContext(
  context: SecurityContext | undefined,
  options: PodOptions,
  path: FieldPath,
): readonly FieldFailure[] {
  if (context === undefined) return none;
  const failures: FieldFailure[] = [];
  if (context.privileged === true && !options.privileged) {
    failures.push(forbiddenField(path.child('privileged'), 'disallowed by cluster policy'));
  }
  addAll(failures, checkUsers(context, path));
  addAll(failures, checkOptionalEnum(path.child('procMount'), context.procMount, procMounts));
  addAll(failures, validateSeccomp(context.seccompProfile, path.child('seccompProfile')));
  if (context.allowPrivilegeEscalation === false) {
    if (context.privileged === true) {
      const text = 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true';
      failures.push(invalidValue(path, coreValues.of('SecurityContext', context), text));
    }
    if (context.capabilities?.add?.includes('CAP_SYS_ADMIN')) {
      const text = 'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN';
      failures.push(invalidValue(path, coreValues.of('SecurityContext', context), text));
    }
  }
  addAll(failures, validateWindowsOptions(context.windowsOptions, path.child('windowsOptions')));
  return failures;
}

/** The pod's security context and related fields of its spec. */
export function validatePodSecurityContext(
  spec: PodSpec,
  options: PodOptions,
  specPath: FieldPath,
): readonly FieldFailure[] {
  const path = specPath.child('securityContext');
  const context: PodSecurityContext = spec.securityContext ?? {};
  const failures: FieldFailure[] = [];
  if (spec.hostNetwork === true) addAll(failures, hostPortsMatch(spec, specPath.child('containers')));
  addAll(failures, checkPodUsers(context, path));
  context.supplementalGroups?.forEach((group, i) => {
    addAll(failures, invalidEach(path.child('supplementalGroups').index(i), group, userOrGroupErrors(group)));
  });
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    const text = 'ShareProcessNamespace and HostPID cannot both be enabled';
    failures.push(invalidValue(path.child('shareProcessNamespace'), true, text));
  }
  addAll(failures, validateSysctls(context.sysctls, options, path.child('sysctls')));
  addAll(
    failures,
    checkOptionalEnum(
      path.child('fsGroupChangePolicy'),
      context.fsGroupChangePolicy,
      schema.enums.PodFSGroupChangePolicy,
    ),
  );
  addAll(failures, validateSeccomp(context.seccompProfile, path.child('seccompProfile')));
  addAll(failures, validateWindowsOptions(context.windowsOptions, path.child('windowsOptions')));
  return failures;
}

/** With host networking a container listens on the host's ports. */
function hostPortsMatch(spec: PodSpec, path: FieldPath): readonly FieldFailure[] {
  const text = 'must match `hostPort` when `hostNetwork` is true';
  return (spec.containers ?? []).flatMap((container, i) =>
    (container.ports ?? []).flatMap((port, j) => {
      if ((port.hostPort ?? 0) === (port.containerPort ?? 0)) return none;
      const at = path.index(i).child('ports').index(j).child('containerPort');
      return [invalidValue(at, port.containerPort ?? 0, text)];
    }),
  );
}

function validateSysctls(
  sysctls: readonly Sysctl[] | undefined,
  { slashedSysctls }: PodOptions,
  path: FieldPath,
): readonly FieldFailure[] {
  if (sysctls === undefined) return none;
  const separator = sysctlSeparators[slashedSysctls ? 'slashes' : 'dots'];
  const failures: FieldFailure[] = [];
  const names = new Set<string>();
  sysctls.forEach((sysctl, i) => {
    const at = path.index(i).child('name');
    const name = sysctl.name ?? '';
    if (name === '') addAll(failures, checkRequired(at, name));
    else if (name.length > maxSysctlLength || !name.split(separator.split).every((part) => sysctlSegment.test(part))) {
      const pattern = `(${sysctlSegmentPattern}${separator.shown})*${sysctlSegmentPattern}`;
      const text = `must have at most ${maxSysctlLength} characters and match regex ${pattern}`;
      failures.push(invalidValue(at, name, text));
    } else if (names.has(name)) failures.push(duplicate(at, name));
    names.add(name);
  });
  return failures;
}

function validateSeccomp(profile: SeccompProfile | undefined, path: FieldPath): readonly FieldFailure[] {
  if (profile === undefined) return none;
  const local = profile.localhostProfile;
  const failures: FieldFailure[] = [];
  if ((profile.type ?? '') === '') {
    failures.push(required(path.child('type'), 'type is required when seccompProfile is set'));
  } else if (!schema.enums.SeccompProfileType.includes(profile.type)) {
    failures.push(notSupported(path.child('type'), profile.type, schema.enums.SeccompProfileType));
  }
  if (profile.type === 'Localhost') {
    if (local === undefined) {
      failures.push(required(path.child('localhostProfile'), 'must be set when seccomp type is Localhost'));
    } else addAll(failures, relativeDescending(path.child('localhostProfile'), local));
  } else if (local !== undefined) {
    const text = 'can only be set when seccomp type is Localhost';
    failures.push(invalidValue(path.child('localhostProfile'), profile, text));
  }
  return failures;
}
