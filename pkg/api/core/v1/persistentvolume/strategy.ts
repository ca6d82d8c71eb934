/** What is particular to persistent volumes. */
import { formatAccessModes, knownAccessModes } from '#api/core/v1/persistentvolume/access-modes.js';
import { checkNonNegativeQuantity } from '#api/core/v1/pod/validation/resources.js';
import { validateNodeSelector } from '#api/core/v1/pod/validation/scheduling.js';
import { validateHostPath } from '#api/core/v1/pod/validation/volumes.js';
import { persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, PersistentVolumeSpec } from '#api/core/v1/types.gen.js';
import { validateImmutable } from '#api/meta/v1/objectmeta/validation.js';
import type { TableRowCells } from '#api/object.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy.js';
import { age } from '#api/table/age.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSSubdomain, checkOptionalEnum } from '#apimachinery/validation/checks.js';
import { forbiddenField, notSupported, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');
const rootRecycled = "may not be 'recycle' for a hostPath mount of '/'";

/** Fields of the spec that every volume has; whatever else is set is where the volume is. */
const commonFields = new Set([
  'capacity',
  'accessModes',
  'claimRef',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'mountOptions',
  'volumeMode',
  'nodeAffinity',
]);

export const persistentVolumeStrategy: Strategy<PersistentVolume> = kindStrategy<PersistentVolume>(persistentvolumes, {
  defaults(volume) {
    volume.status = { ...volume.status, phase: volume.status?.phase || 'Pending' };
    volume.spec.persistentVolumeReclaimPolicy ||= 'Retain';
    volume.spec.volumeMode ??= 'Filesystem';
    if (volume.spec.hostPath !== undefined) volume.spec.hostPath.type ??= '';
  },
  prepareForCreate(volume) {
    volume.status = { phase: 'Pending' };
  },
  validate: (volume, context, old) =>
    validateVolume(volume.spec, knownAccessModes(context.gate, old?.spec.accessModes)),
  validateUpdate: (volume, old) => validateFixedFields(volume.spec, old.spec),
  cells: (volume, context) => volumeCells(volume, context.now),
});

function sourcesOf(spec: PersistentVolumeSpec): string[] {
  return Object.keys(spec).filter((field) => !commonFields.has(field) && Reflect.get(spec, field) !== undefined);
}

function validateVolume(spec: PersistentVolumeSpec, known: readonly string[]): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const modes = spec.accessModes ?? [];
  if (modes.length === 0) failures.push(required(specPath.child('accessModes')));
  for (const mode of modes) {
    if (!known.includes(mode)) failures.push(notSupported(specPath.child('accessModes'), mode, known));
  }
  if (modes.includes('ReadWriteOncePod') && modes.length > 1) {
    const text = 'may not use ReadWriteOncePod with other access modes';
    failures.push(forbiddenField(specPath.child('accessModes'), text));
  }
  if (Object.keys(spec.capacity ?? {}).length === 0) failures.push(required(specPath.child('capacity')));
  for (const [name, quantity] of Object.entries(spec.capacity ?? {})) {
    const at = specPath.child('capacity').key(name);
    if (name !== 'storage') failures.push(notSupported(at, name, ['storage']));
    failures.push(...checkNonNegativeQuantity(at, quantity));
  }
  const policies = ['Delete', 'Recycle', 'Retain'];
  const policyPath = specPath.child('persistentVolumeReclaimPolicy');
  failures.push(...checkOptionalEnum(policyPath, spec.persistentVolumeReclaimPolicy, policies));
  const [source, ...others] = sourcesOf(spec);
  if (source === undefined) failures.push(required(specPath, 'must specify a volume type'));
  const { hostPath } = spec;
  if (hostPath !== undefined) failures.push(...validateHostPath(hostPath, specPath.child('hostPath')));
  if (hostPath?.path === '/' && spec.persistentVolumeReclaimPolicy === 'Recycle') {
    failures.push(forbiddenField(specPath.child('persistentVolumeReclaimPolicy'), rootRecycled));
  }
  for (const other of others) {
    failures.push(forbiddenField(specPath.child(other), 'may not specify more than 1 volume type'));
  }
  const storageClass = spec.storageClassName ?? '';
  if (storageClass !== '') failures.push(...checkDNSSubdomain(specPath.child('storageClassName'), storageClass));
  const affinity = specPath.child('nodeAffinity');
  if (spec.nodeAffinity?.required !== undefined) {
    failures.push(...validateNodeSelector(spec.nodeAffinity.required, affinity.child('required')));
  } else if (spec.nodeAffinity !== undefined) {
    failures.push(required(affinity.child('required'), 'must specify required node constraints'));
  } else if (spec.local !== undefined) failures.push(required(affinity, 'Local volume requires node affinity'));
  return [...failures, ...checkOptionalEnum(specPath.child('volumeMode'), spec.volumeMode, ['Block', 'Filesystem'])];
}

function validateFixedFields(spec: PersistentVolumeSpec, old: PersistentVolumeSpec): FieldFailure[] {
  const pick = (from: PersistentVolumeSpec): object =>
    Object.fromEntries(sourcesOf(from).map((field) => [field, Reflect.get(from, field)]));
  const failures: FieldFailure[] = [];
  if (!semanticEqual(pick(spec), pick(old))) {
    const text = 'spec.persistentvolumesource is immutable after creation';
    failures.push(forbiddenField(specPath.child('persistentvolumesource'), text));
  }
  failures.push(...validateImmutable(spec.volumeMode, old.volumeMode, specPath.child('volumeMode')));
  if (old.nodeAffinity !== undefined) {
    failures.push(...validateImmutable(spec.nodeAffinity, old.nodeAffinity, specPath.child('nodeAffinity')));
  }
  return failures;
}

function volumeCells(volume: PersistentVolume, now: number): TableRowCells {
  const { metadata, spec, status } = volume;
  const claim = spec.claimRef;
  return [
    metadata.name ?? '',
    spec.capacity?.['storage'] ?? '',
    formatAccessModes(spec.accessModes),
    spec.persistentVolumeReclaimPolicy ?? '',
    metadata.deletionTimestamp === undefined ? (status?.phase ?? '') : 'Terminating',
    claim === undefined ? '' : `${claim.namespace ?? ''}/${claim.name ?? ''}`,
    spec.storageClassName ?? '',
    status?.reason ?? '',
    age(metadata.creationTimestamp, now),
    spec.volumeMode ?? '<unset>',
  ];
}
