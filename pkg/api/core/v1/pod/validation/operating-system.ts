/** Rules of which fields a pod may have on which operating system. */
import type { PodSpec } from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkEnum } from '#apimachinery/validation/checks.js';
import { forbiddenField, required } from '#apimachinery/validation/failure.js';
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
const containerLists = ['containers', 'initContainers', 'ephemeralContainers'] as const;

export function validateOS(spec: PodSpec, path: FieldPath): FieldFailure[] {
  if (spec.os === undefined) return [];
  const at = path.child('os', 'name');
  const name = spec.os.name ?? '';
  if (name === '') return [required(at, 'cannot be empty')];
  if (name === 'windows') return validateWindows(spec, path);
  return [...checkEnum(at, name, ['linux', 'windows']), ...(name === 'linux' ? validateLinux(spec, path) : [])];
}

function validateLinux(spec: PodSpec, path: FieldPath): FieldFailure[] {
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

function validateWindows(spec: PodSpec, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const refuse = (at: FieldPath): void => {
    failures.push(forbiddenField(at, 'cannot be set for a windows pod'));
  };
  for (const field of podContextFields) {
    if (spec.securityContext?.[field] !== undefined) refuse(path.child('securityContext', field));
  }
  for (const field of podFields) {
    // For the host's namespaces false is what everybody has.
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
