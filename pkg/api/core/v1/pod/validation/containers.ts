/** Rules of containers of all three types. */

import { declaration as schema } from '#api/core/v1/container.js';
import { addEnv, validateEnvFrom } from '#api/core/v1/pod/validation/env.js';
import type { PodOptions } from '#api/core/v1/pod/validation/options.js';
import { validateProbes } from '#api/core/v1/pod/validation/probes.js';
import { validateResourceRequirements } from '#api/core/v1/pod/validation/resources.js';
import { validateSecurityContext } from '#api/core/v1/pod/validation/security.js';
import type {
  Container,
  ContainerPort,
  EphemeralContainer,
  Volume,
  VolumeDevice,
  VolumeMount,
} from '#api/core/v1/types.gen.js';
import { coreValues } from '#api/core/v1/values/go-values.js';
import { relativeDescending } from '#api/core/v1/volume/file-paths.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSLabel, checkEnum, checkRequired } from '#apimachinery/validation/checks.js';
import {
  addAll,
  duplicate,
  forbiddenField,
  invalidEach,
  invalidValue,
  none,
  notFoundField,
  notSupported,
  required,
} from '#apimachinery/validation/failure.js';
import { portNameErrors } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';
import { clashOf } from '#apimachinery/validation/unions.js';

const checkContainerPort = rangesOf(schema.types.ContainerPort, 'containerPort');
const pathsClash = clashOf<VolumeMount>(schema.types.VolumeMount, 'subPathExpr');
const checkHostPort = rangesOf(schema.types.ContainerPort, 'hostPort');

/** The properties of a pod that container rules need. */
export interface PodFacts {
  readonly dialect: Dialect;
  readonly options: PodOptions;
  /** Valid volumes by name. */
  readonly volumes: ReadonlyMap<string, Volume>;
}

export function validateContainers(
  containers: readonly Container[],
  facts: PodFacts,
  path: FieldPath,
): readonly FieldFailure[] {
  if (containers.length === 0) return [required(path)];
  const failures: FieldFailure[] = [];
  const names = new Set<string>();
  containers.forEach((container, i) => {
    const at = path.index(i);
    addContainer(failures, container, facts, at);
    if (names.has(container.name)) failures.push(duplicate(at.child('name'), container.name));
    names.add(container.name);
  });
  addHostPortConflicts(failures, containers, path);
  return failures;
}

export function validateInitContainers(
  containers: readonly Container[],
  others: readonly Container[],
  facts: PodFacts,
  path: FieldPath,
): readonly FieldFailure[] {
  if (containers.length === 0) return none;
  const failures: FieldFailure[] = [];
  const names = new Set(others.map((container) => container.name));
  containers.forEach((container, i) => {
    const at = path.index(i);
    addContainer(failures, container, facts, at);
    if (names.has(container.name)) failures.push(duplicate(at.child('name'), container.name));
    if ((container.name ?? '') !== '') names.add(container.name);
    for (const field of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
      const value = container[field];
      if (value === undefined) continue;
      const shown = coreValues.of(field === 'lifecycle' ? 'Lifecycle' : 'Probe', value);
      failures.push(invalidValue(at.child(field), shown, 'must not be set for init containers'));
    }
    addHostPortConflicts(failures, [container], path);
  });
  return failures;
}

const ephemeralForbidden = [
  'ports',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
  'resources',
] as const;

export function validateEphemeralContainers(
  containers: readonly EphemeralContainer[],
  others: readonly Container[],
  initContainers: readonly Container[],
  facts: PodFacts,
  path: FieldPath,
): readonly FieldFailure[] {
  if (containers.length === 0) return none;
  const failures: FieldFailure[] = [];
  const names = new Set([...others, ...initContainers].map((container) => container.name));
  containers.forEach((container, i) => {
    const at = path.index(i);
    const target = container.targetContainerName ?? '';
    if (target !== '' && !names.has(target)) failures.push(notFoundField(at.child('targetContainerName'), target));
    if ((container.name ?? '') === '') {
      failures.push(required(at, 'ephemeralContainer requires a name'));
      return;
    }
    // Like 1.24, validates each as a list of one.
    addAll(failures, validateContainers([container], facts, at));
    addAll(failures, imagesWithoutBlanks([container], at));
    if (names.has(container.name)) failures.push(duplicate(at.child('name'), container.name));
    names.add(container.name);
    addAll(failures, onlyEphemeralFields(container, at));
  });
  return failures;
}

/** An ephemeral container inspects its pod, so fields of regular operation are refused. */
function onlyEphemeralFields(container: EphemeralContainer, path: FieldPath): readonly FieldFailure[] {
  const text = 'cannot be set for an Ephemeral Container';
  const failures: FieldFailure[] = [];
  for (const field of ephemeralForbidden) {
    const value: unknown = container[field];
    if (value !== undefined && !(field === 'resources' && isEmptyObject(value)))
      failures.push(forbiddenField(path.child(field), text));
  }
  // Sub-paths could not be cleaned up afterwards.
  container.volumeMounts?.forEach((mount, i) => {
    const at = path.child('volumeMounts').index(i);
    for (const field of ['subPath', 'subPathExpr'] as const) {
      if ((mount[field] ?? '') !== '') failures.push(forbiddenField(at.child(field), text));
    }
  });
  return failures;
}

/** Rules of images in pods, but not in templates. */
export function imagesWithoutBlanks(
  containers: readonly Pick<Container, 'image'>[],
  path: FieldPath,
): readonly FieldFailure[] {
  const failures: FieldFailure[] = [];
  containers.forEach(({ image = '' }, i) => {
    if (image === image.trim()) return;
    failures.push(invalidValue(path.index(i).child('image'), image, 'must not have leading or trailing whitespace'));
  });
  return failures;
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function addContainer(failures: FieldFailure[], container: Container, facts: PodFacts, path: FieldPath): void {
  const { name = '', ports, env, envFrom, volumeMounts: mounts, volumeDevices: devices, resources } = container;
  const context = container.securityContext;
  addAll(failures, name === '' ? [required(path.child('name'))] : checkDNSLabel(path.child('name'), name));
  addAll(failures, checkRequired(path.child('image'), container.image));
  addAll(failures, validateProbes(container, path));
  addAll(failures, validateMessagePolicy(container.terminationMessagePolicy, path.child('terminationMessagePolicy')));
  if (ports !== undefined) addPorts(failures, ports, path.child('ports'));
  if (env !== undefined) addEnv(failures, env, facts.options, path.child('env'));
  addAll(failures, validateEnvFrom(envFrom, path.child('envFrom')));
  if (mounts !== undefined) addVolumeMounts(failures, container, mounts, facts, path.child('volumeMounts'));
  if (devices !== undefined) {
    addAll(failures, validateVolumeDevices(devices, mounts ?? [], facts, path.child('volumeDevices')));
  }
  addAll(failures, checkEnum(path.child('imagePullPolicy'), container.imagePullPolicy, schema.enums.PullPolicy));
  addAll(failures, validateResourceRequirements(resources, facts.dialect, path.child('resources'), facts.options));
  addAll(failures, validateSecurityContext(context, facts.options, path.child('securityContext')));
}

function validateMessagePolicy(policy: string | undefined, path: FieldPath): readonly FieldFailure[] {
  const text = "must be 'File' or 'FallbackToLogsOnError'";
  if (policy === 'File' || policy === 'FallbackToLogsOnError') return none;
  return (policy ?? '') === '' ? [required(path, text)] : [invalidValue(path, policy, text)];
}

function addPorts(failures: FieldFailure[], ports: readonly ContainerPort[], path: FieldPath): void {
  const names = new Set<string>();
  ports.forEach((port, i) => {
    const at = path.index(i);
    const { name = '', containerPort = 0 } = port;
    if (name !== '') {
      const messages = portNameErrors(name);
      addAll(failures, invalidEach(at.child('name'), name, messages));
      if (messages.length === 0 && names.has(name)) failures.push(duplicate(at.child('name'), name));
      if (messages.length === 0) names.add(name);
    }
    if (containerPort === 0) failures.push(required(at.child('containerPort')));
    else addAll(failures, checkContainerPort(port, at));
    addAll(failures, checkHostPort(port, at));
    addAll(failures, checkEnum(at.child('protocol'), port.protocol, schema.enums.Protocol));
  });
}

/** Two containers must not use the same host port. */
function addHostPortConflicts(failures: FieldFailure[], containers: readonly Container[], path: FieldPath): void {
  let claimed: Set<string> | undefined;
  containers.forEach((container, i) => {
    container.ports?.forEach((port, j) => {
      if ((port.hostPort ?? 0) === 0) return;
      const claim = `${port.protocol ?? ''}/${port.hostIP ?? ''}/${port.hostPort}`;
      claimed ??= new Set();
      if (claimed.has(claim)) {
        failures.push(duplicate(path.index(i).child('ports').index(j).child('hostPort'), claim));
      }
      claimed.add(claim);
    });
  });
}

function addVolumeMounts(
  failures: FieldFailure[],
  { volumeDevices: devices, securityContext }: Container,
  mounts: readonly VolumeMount[],
  facts: PodFacts,
  path: FieldPath,
): void {
  const privileged = securityContext?.privileged === true;
  const mountPaths = new Set<string>();
  const deviceNames = new Set(devices?.map((device) => device.name));
  const devicePaths = new Set(devices?.map((device) => device.devicePath));
  mounts.forEach((mount, i) => {
    const at = path.index(i);
    const { name = '', mountPath = '', subPath = '', subPathExpr = '', mountPropagation } = mount;
    addAll(failures, checkRequired(at.child('name'), name));
    if (!facts.volumes.has(name)) failures.push(notFoundField(at.child('name'), name));
    addAll(failures, checkRequired(at.child('mountPath'), mountPath));
    if (mountPaths.has(mountPath)) failures.push(invalidValue(at.child('mountPath'), mountPath, 'must be unique'));
    mountPaths.add(mountPath);
    if (deviceNames.has(name)) {
      failures.push(invalidValue(at.child('name'), name, 'must not already exist in volumeDevices'));
    }
    if (devicePaths.has(mountPath)) {
      const text = 'must not already exist as a path in volumeDevices';
      failures.push(invalidValue(at.child('mountPath'), mountPath, text));
    }
    // 1.24 reports sub-paths without the mount's index.
    if (subPath !== '') addAll(failures, relativeDescending(path.child('subPath'), subPath));
    if (subPathExpr !== '') {
      if (pathsClash(mount)) {
        const text = 'subPathExpr and subPath are mutually exclusive';
        failures.push(invalidValue(at.child('subPathExpr'), subPathExpr, text));
      }
      addAll(failures, relativeDescending(path.child('subPathExpr'), subPathExpr));
    }
    addAll(failures, validatePropagation(mountPropagation, privileged, path.child('mountPropagation')));
  });
}

function validatePropagation(mode: string | undefined, privileged: boolean, path: FieldPath): readonly FieldFailure[] {
  if (mode === undefined) return none;
  if (!schema.enums.MountPropagationMode.includes(mode))
    return [notSupported(path, mode, schema.enums.MountPropagationMode)];
  if (mode !== 'Bidirectional' || privileged) return none;
  return [forbiddenField(path, 'Bidirectional mount propagation is available only to privileged containers')];
}

function validateVolumeDevices(
  devices: readonly VolumeDevice[],
  mounts: readonly VolumeMount[],
  facts: PodFacts,
  path: FieldPath,
): readonly FieldFailure[] {
  const failures: FieldFailure[] = [];
  const names = new Set<string>();
  const paths = new Set<string>();
  const mountNames = new Set(mounts.map((mount) => mount.name));
  const mountPaths = new Set(mounts.map((mount) => mount.mountPath));
  devices.forEach((device, i) => {
    const at = path.index(i);
    const { name = '', devicePath = '' } = device;
    addAll(failures, checkRequired(at.child('name'), name));
    if (names.has(name)) failures.push(invalidValue(at.child('name'), name, 'must be unique'));
    const volume = facts.volumes.get(name);
    if (volume === undefined) failures.push(notFoundField(at.child('name'), name));
    else if (volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined) {
      const text = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode';
      failures.push(invalidValue(at.child('name'), name, text));
    }
    addAll(failures, checkRequired(at.child('devicePath'), devicePath));
    if (paths.has(devicePath)) failures.push(invalidValue(at.child('devicePath'), devicePath, 'must be unique'));
    if (devicePath.split('/').includes('..')) {
      failures.push(invalidValue(at.child('devicePath'), devicePath, "can not contain backsteps ('..')"));
    } else paths.add(devicePath);
    if (mountNames.has(name)) {
      failures.push(invalidValue(at.child('name'), name, 'must not already exist in volumeMounts'));
    }
    if (mountPaths.has(devicePath)) {
      const text = 'must not already exist as a path in volumeMounts';
      failures.push(invalidValue(at.child('devicePath'), devicePath, text));
    }
    if (name !== '') names.add(name);
  });
  return failures;
}
