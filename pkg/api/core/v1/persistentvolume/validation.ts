/** Rules of persistent volumes, including those inlined in attachments. */

import { declaration as schema } from '#api/core/v1/persistentvolume.js';
import { validateNodeSelector } from '#api/core/v1/pod/validation/scheduling.js';
import type { PersistentVolume, PersistentVolumeSource, PersistentVolumeSpec } from '#api/core/v1/types.gen.js';
import { coreValues } from '#api/core/v1/values/go-values.js';
import { checkPositiveQuantity, validateAccessModes } from '#api/core/v1/volume/claim-validation.js';
import {
  validateAzureDisk,
  validateEBSDisk,
  validateFC,
  validateGCEDisk,
  validateISCSIPersistent,
} from '#api/core/v1/volume/disk-sources.js';
import { mountOptionsAnnotation } from '#api/core/v1/volume/storage-class.js';
import {
  must,
  validateAzureFilePersistent,
  validateCinderPersistent,
  validateCSIPersistent,
  validateFlex,
  validateFlocker,
  validateGlusterPersistent,
  validateHostPath,
  validateLocal,
  validateNFS,
  validateQuobyte,
  validateStorageOSPersistent,
} from '#api/core/v1/volume/storage-sources.js';
import { validateImmutable } from '#api/meta/v1/objectmeta/validation.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { quantitySign, value } from '#apimachinery/quantity.js';
import { checkDNSSubdomain, checkOptionalEnum } from '#apimachinery/validation/checks.js';
import { addAll, forbiddenField, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { exactlyOne, memberNames } from '#apimachinery/validation/unions.js';

const specPath = FieldPath.of('spec');
const sources = memberNames<PersistentVolumeSource>(schema.types.PersistentVolumeSource);

export interface VolumeRules {
  readonly dialect: Dialect;
  /** Allowed access modes. */
  readonly modes: readonly string[];
}

export function validateVolume(volume: PersistentVolume, rules: VolumeRules): FieldFailure[] {
  const { spec, metadata } = volume;
  return [
    ...validateVolumeSpec(spec, { ...rules, name: metadata.name ?? '', inline: false }, specPath),
    ...validateMountOptions(volume, rules.dialect),
  ];
}

/** Volume types that support the older mount options annotation. */
const mountable = [
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'nfs',
  'rbd',
  'quobyte',
  'iscsi',
  'cinder',
  'cephfs',
  'azureFile',
  'vsphereVolume',
  'azureDisk',
  'photonPersistentDisk',
] as const;

function validateMountOptions({ spec, metadata }: PersistentVolume, dialect: Dialect): FieldFailure[] {
  const key = mountOptionsAnnotation(dialect);
  if (metadata.annotations?.[key] === undefined || mountable.some((field) => spec[field] !== undefined)) return [];
  const at = FieldPath.of('metadata', 'annotations', key);
  return [forbiddenField(at, 'may not specify mount options for this volume type')];
}

export interface SpecRules extends VolumeRules {
  readonly name: string;
  /** Inlined in a pod: fields for provisioning are refused. */
  readonly inline: boolean;
}

export function validateVolumeSpec(spec: PersistentVolumeSpec, rules: SpecRules, path: FieldPath): FieldFailure[] {
  const modes = spec.accessModes ?? [];
  const modesPath = path.child('accessModes');
  const policyPath = path.child('persistentVolumeReclaimPolicy');
  const storageClass = spec.storageClassName ?? '';
  const failures = [
    ...(rules.inline ? inlineFields(spec, path) : []),
    ...(modes.length === 0 ? [required(modesPath)] : []),
    ...validateAccessModes(modes, rules.modes, modesPath),
    ...(rules.inline ? [] : validateCapacity(spec.capacity, path.child('capacity'))),
    ...(rules.inline
      ? inlinePolicies(spec, path)
      : [
          ...checkOptionalEnum(
            policyPath,
            spec.persistentVolumeReclaimPolicy,
            schema.enums.PersistentVolumeReclaimPolicy,
          ),
          ...validateNodeAffinity(spec, path.child('nodeAffinity')),
        ]),
    ...checkSource(spec, path, { ...rules, spec, specPath: path }),
  ];
  if (spec.hostPath !== undefined && isRoot(spec.hostPath.path) && spec.persistentVolumeReclaimPolicy === 'Recycle') {
    failures.push(forbiddenField(policyPath, "may not be 'recycle' for a hostPath mount of '/'"));
  }
  if (rules.inline) return [...failures, ...inlineClass(spec, path)];
  if (storageClass !== '') addAll(failures, checkDNSSubdomain(path.child('storageClassName'), storageClass));
  return [
    ...failures,
    ...checkOptionalEnum(path.child('volumeMode'), spec.volumeMode, schema.enums.PersistentVolumeMode),
  ];
}

/** `/`, in any spelling. */
function isRoot(path: string | undefined): boolean {
  if (!path?.startsWith('/')) return false;
  let depth = 0;
  for (const step of path.split('/')) {
    if (step === '..') depth = Math.max(0, depth - 1);
    else if (step !== '' && step !== '.') depth++;
  }
  return depth === 0;
}

function notInline(at: FieldPath, text = 'may not be specified'): FieldFailure {
  return forbiddenField(at, `${text} in the context of inline volumes`);
}

function inlineFields(spec: PersistentVolumeSpec, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  if (spec.claimRef !== undefined) failures.push(notInline(path.child('claimRef')));
  if (Object.keys(spec.capacity ?? {}).length > 0) failures.push(notInline(path.child('capacity')));
  if (spec.csi === undefined) {
    failures.push(required(path.child('csi'), 'has to be specified in the context of inline volumes'));
  }
  return failures;
}

function inlinePolicies(spec: PersistentVolumeSpec, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  if (!['', 'Retain'].includes(spec.persistentVolumeReclaimPolicy ?? '')) {
    failures.push(notInline(path.child('persistentVolumeReclaimPolicy'), 'may only be Retain'));
  }
  if (spec.nodeAffinity !== undefined) failures.push(notInline(path.child('nodeAffinity')));
  return failures;
}

function inlineClass(spec: PersistentVolumeSpec, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  if ((spec.storageClassName ?? '') !== '') failures.push(notInline(path.child('storageClassName')));
  if (spec.volumeMode !== undefined && spec.volumeMode !== 'Filesystem') {
    failures.push(notInline(path.child('volumeMode'), 'may not specify volumeMode other than Filesystem'));
  }
  return failures;
}

function validateCapacity(capacity: Readonly<Record<string, string>> | undefined, path: FieldPath): FieldFailure[] {
  const entries = Object.entries(capacity ?? {});
  const failures: FieldFailure[] = entries.length === 0 ? [required(path)] : [];
  if (entries.length !== 1 || capacity?.['storage'] === undefined) {
    failures.push(notSupported(path, coreValues.member('PersistentVolumeSpec', 'capacity', capacity), ['storage']));
  }
  for (const [name, quantity] of entries) {
    const at = path.key(name);
    addAll(failures, checkBasicQuantity(at, quantity));
    addAll(failures, checkPositiveQuantity(at, quantity));
  }
  return failures;
}

/** Must not be negative, with the message for volume capacities. */
export function checkBasicQuantity(path: FieldPath, quantity: string): FieldFailure[] {
  if (quantitySign(quantity) >= 0) return [];
  return [invalidValue(path, value(quantity), 'must be a valid resource quantity')];
}

function validateNodeAffinity({ nodeAffinity }: PersistentVolumeSpec, path: FieldPath): readonly FieldFailure[] {
  if (nodeAffinity === undefined) return [];
  const at = path.child('required');
  if (nodeAffinity.required === undefined) return [required(at, 'must specify required node constraints')];
  return validateNodeSelector(nodeAffinity.required, at);
}

type Source<K extends keyof PersistentVolumeSource> = NonNullable<PersistentVolumeSource[K]>;

interface Place extends SpecRules {
  readonly spec: PersistentVolumeSpec;
  readonly specPath: FieldPath;
}

const checkSource = exactlyOne<PersistentVolumeSource, Place>(
  schema.types.PersistentVolumeSource,
  'volume type',
  {
    hostPath: validateHostPath,
    gcePersistentDisk: validateGCEDisk,
    awsElasticBlockStore: validateEBSDisk,
    glusterfs: validateGlusterPersistent,
    flocker: validateFlocker,
    nfs: validateNFS,
    rbd: must('monitors', 'image'),
    quobyte: validateQuobyte,
    cephfs: must('monitors'),
    iscsi: (source, path, { name }) => validateISCSIPersistent(source, path, name),
    cinder: validateCinderPersistent,
    fc: validateFC,
    flexVolume: (source, path, { dialect }) => validateFlex(source, path, dialect),
    azureFile: validateAzureFilePersistent,
    vsphereVolume: must('volumePath'),
    photonPersistentDisk: must('pdID'),
    portworxVolume: must('volumeID'),
    azureDisk: validateAzureDisk,
    scaleIO: must('gateway', 'system', 'volumeName'),
    local: validateLocalVolume,
    storageos: validateStorageOSPersistent,
    csi: validateCSIPersistent,
  },
  { inside: { gcePersistentDisk: 'persistentDisk' }, beside: { cephfs: 'cephFS' }, tolerated: ['flexVolume'] },
);

function validateLocalVolume(
  source: Source<'local'>,
  path: FieldPath,
  { spec, specPath: at }: Place,
): readonly FieldFailure[] {
  const failures = validateLocal(source, path);
  if (spec.nodeAffinity !== undefined) return failures;
  return [...failures, required(at.child('nodeAffinity'), 'Local volume requires node affinity')];
}

/** The source must not change; a missing node affinity may be added. */
export function validateVolumeUpdate(spec: PersistentVolumeSpec, old: PersistentVolumeSpec): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const addsSecret = old.csi !== undefined && old.csi.controllerExpandSecretRef === undefined;
  const same = sources.every((field) => {
    if (field !== 'csi' || !addsSecret || spec.csi === undefined) return semanticEqual(spec[field], old[field]);
    const { controllerExpandSecretRef: _, ...csi } = spec.csi;
    return semanticEqual(csi, old.csi);
  });
  if (!same) {
    const text = 'spec.persistentvolumesource is immutable after creation';
    failures.push(forbiddenField(specPath.child('persistentvolumesource'), text));
  }
  // In 1.24 both paths lack `spec`.
  addAll(failures, validateImmutable(spec.volumeMode, old.volumeMode, FieldPath.of('volumeMode')));
  if (old.nodeAffinity !== undefined) {
    const { nodeAffinity } = spec;
    if (!semanticEqual(nodeAffinity, old.nodeAffinity)) {
      const shown = nodeAffinity && coreValues.of('VolumeNodeAffinity', nodeAffinity);
      failures.push(invalidValue(FieldPath.of('nodeAffinity'), shown, 'field is immutable'));
    }
  }
  return failures;
}
