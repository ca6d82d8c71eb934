/** Rules of fields that depend on the pod's operating system. */
import { containerLists } from '#api/core/v1/pod/parts/containers.js';
import { declaration as schema } from '#api/core/v1/pod.js';
import type { PodSpec } from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { forbiddenField, none, notSupported, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

const podFields = ['hostPID', 'hostIPC', 'shareProcessNamespace'] as const;
const podContextFields = [
  'seLinuxOptions',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'sysctls',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
] as const;
const containerContextFields = [
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
] as const;

export function validateOS(spec: PodSpec, path: FieldPath): readonly FieldFailure[] {
  if (spec.os === undefined) return none;
  const at = path.child('os');
  const name = spec.os.name ?? '';
  switch (name) {
    case '':
      return [required(at.child('name'), 'cannot be empty')];
    case 'linux':
      return validateLinux(spec, path);
    case 'windows':
      return validateWindows(spec, path);
    default:
      return [notSupported(at, name, schema.enums.OSName)];
  }
}

function validateLinux(spec: PodSpec, path: FieldPath): readonly FieldFailure[] {
  const refuse = (context: FieldPath): FieldFailure =>
    forbiddenField(context.child('windowsOptions'), 'windows options cannot be set for a linux pod');
  const failures: FieldFailure[] = [];
  if (spec.securityContext?.windowsOptions !== undefined) failures.push(refuse(path.child('securityContext')));
  for (const list of containerLists) {
    spec[list]?.forEach((container, i) => {
      if (container.securityContext?.windowsOptions === undefined) return;
      failures.push(refuse(path.child(list).index(i).child('securityContext')));
    });
  }
  return failures;
}

function validateWindows(spec: PodSpec, path: FieldPath): readonly FieldFailure[] {
  const failures: FieldFailure[] = [];
  const refuse = (at: FieldPath): void => {
    failures.push(forbiddenField(at, 'cannot be set for a windows pod'));
  };
  for (const field of podContextFields) {
    const value = spec.securityContext?.[field];
    if (value === undefined || (field === 'sysctls' && Array.isArray(value) && value.length === 0)) continue;
    refuse(path.child('securityContext', field));
  }
  for (const field of podFields) {
    // For host namespaces, false is the default.
    if (field === 'shareProcessNamespace' ? spec[field] !== undefined : spec[field] === true) refuse(path.child(field));
  }
  for (const list of containerLists) {
    spec[list]?.forEach((container, i) => {
      for (const field of containerContextFields) {
        if (container.securityContext?.[field] === undefined) continue;
        refuse(path.child(list).index(i).child('securityContext', field));
      }
    });
  }
  return failures;
}
