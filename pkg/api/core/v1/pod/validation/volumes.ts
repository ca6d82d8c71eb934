/** Rules of a pod's volumes. */

import type { PodOptions } from '#api/core/v1/pod/validation/options.js';
import {
  validateDownwardFiles,
  validateKeysToPaths,
  validateProjected,
} from '#api/core/v1/pod/validation/projected-volume.js';
import { declaration as fileSchema } from '#api/core/v1/projected-volumes.js';
import type { EmptyDirVolumeSource, Volume, VolumeSource } from '#api/core/v1/types.gen.js';
import { allowedAccessModes } from '#api/core/v1/volume/access-modes.js';
import { validateClaimTemplate } from '#api/core/v1/volume/claim-validation.js';
import {
  validateAzureDisk,
  validateEBSDisk,
  validateFC,
  validateGCEDisk,
  validateISCSI,
} from '#api/core/v1/volume/disk-sources.js';
import { modeWording, relativeDescending } from '#api/core/v1/volume/file-paths.js';
import {
  must,
  validateCinder,
  validateCSI,
  validateFlex,
  validateFlocker,
  validateHostPath,
  validateNFS,
  validateQuobyte,
  validateStorageOS,
} from '#api/core/v1/volume/storage-sources.js';
import { declaration as schema } from '#api/core/v1/volume.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { quantitySign } from '#apimachinery/quantity.js';
import type { MessageDeclaration } from '#apimachinery/schema/schema.js';
import { checkDNSLabel, checkRequired } from '#apimachinery/validation/checks.js';
import {
  addAll,
  duplicate,
  forbiddenField,
  invalidEach,
  invalidValue,
  joined,
  none,
  required,
} from '#apimachinery/validation/failure.js';
import { dns1123SubdomainErrors } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { wordedRangesOf } from '#apimachinery/validation/ranges.js';
import { exactlyOne } from '#apimachinery/validation/unions.js';

/** Context of volume rules. */
export interface VolumeFacts {
  readonly dialect: Dialect;
  readonly options: PodOptions;
  /** Name of the pod; empty in templates, whose pods have no name yet. */
  readonly podName: string;
}

/** The failures, and the valid volumes by name. */
export function validateVolumes(
  volumes: readonly Volume[],
  facts: VolumeFacts,
  path: FieldPath,
): { failures: FieldFailure[]; validVolumes: Map<string, Volume> } {
  const failures: FieldFailure[] = [];
  const validVolumes = new Map<string, Volume>();
  const claims = ephemeralClaimNames(volumes, facts.podName);
  volumes.forEach((volume, i) => {
    const at = path.index(i);
    const name = volume.name ?? '';
    const before = failures.length;
    addAll(failures, validateSource(volume, facts, at));
    if (name === '') failures.push(required(at.child('name')));
    else addAll(failures, checkDNSLabel(at.child('name'), name));
    if (validVolumes.has(name)) failures.push(duplicate(at.child('name'), name));
    if (failures.length === before) validVolumes.set(name, volume);
    const claim = volume.persistentVolumeClaim?.claimName ?? '';
    if (claims === undefined || !claims.has(claim)) return;
    const text = 'must not reference a PVC that gets created for an ephemeral volume';
    failures.push(invalidValue(at.child('persistentVolumeClaim', 'claimName'), claim, text));
  });
  return { failures, validVolumes };
}

/** Names of the claims for the pod's ephemeral volumes; undefined without such volumes or without pod name. */
function ephemeralClaimNames(volumes: readonly Volume[], podName: string): ReadonlySet<string> | undefined {
  if (podName === '') return undefined;
  let claims: Set<string> | undefined;
  for (const { name, ephemeral } of volumes) {
    if (ephemeral === undefined) continue;
    claims ??= new Set();
    claims.add(`${podName}-${name}`);
  }
  return claims;
}

type Source<K extends keyof VolumeSource> = NonNullable<VolumeSource[K]>;

interface Place extends VolumeFacts {
  /** Path of the volume. */
  readonly volumePath: FieldPath;
  readonly name: string;
}

const modeOf = (type: MessageDeclaration) => wordedRangesOf(type, modeWording, 'defaultMode');
const checkSecretMode = modeOf(fileSchema.types.SecretVolumeSource);
const checkMapMode = modeOf(fileSchema.types.ConfigMapVolumeSource);
const checkFactsMode = modeOf(fileSchema.types.DownwardAPIVolumeSource);

const checkSource = exactlyOne<VolumeSource, Place>(
  schema.types.VolumeSource,
  'volume type',
  {
    emptyDir: validateEmptyDir,
    hostPath: validateHostPath,
    gitRepo: (source, path) =>
      joined(
        checkRequired(path.child('repository'), source.repository),
        relativeDescending(path.child('directory'), source.directory ?? ''),
      ),
    gcePersistentDisk: validateGCEDisk,
    awsElasticBlockStore: validateEBSDisk,
    secret: (source, path) =>
      joined(
        checkRequired(path.child('secretName'), source.secretName),
        checkSecretMode(source, path),
        validateKeysToPaths(source.items, path.child('items')),
      ),
    nfs: validateNFS,
    iscsi: (source, path, { volumePath, name }) => validateISCSI(source, path, volumePath, name),
    glusterfs: must('endpoints', 'path'),
    flocker: validateFlocker,
    persistentVolumeClaim: must('claimName'),
    rbd: must('monitors', 'image'),
    cinder: validateCinder,
    cephfs: must('monitors'),
    quobyte: validateQuobyte,
    downwardAPI: (source, path, { options }) =>
      joined(checkFactsMode(source, path), validateDownwardFiles(source.items, options, path)),
    fc: validateFC,
    flexVolume: (source, path, { dialect }) => validateFlex(source, path, dialect),
    configMap: (source, path) =>
      joined(
        checkRequired(path.child('name'), source.name),
        checkMapMode(source, path),
        validateKeysToPaths(source.items, path.child('items')),
      ),
    azureFile: must('secretName', 'shareName'),
    vsphereVolume: must('volumePath'),
    photonPersistentDisk: must('pdID'),
    portworxVolume: must('volumeID'),
    azureDisk: validateAzureDisk,
    storageos: validateStorageOS,
    projected: (source, path, { options }) => validateProjected(source, options, path),
    scaleIO: must('gateway', 'system', 'volumeName'),
    csi: validateCSI,
    ephemeral: validateEphemeral,
  },
  { inside: { gcePersistentDisk: 'persistentDisk' }, beside: { cephfs: 'cephFS', downwardAPI: 'downwarAPI' } },
);

function validateSource(volume: Volume, facts: VolumeFacts, path: FieldPath): readonly FieldFailure[] {
  const { dialect, options, podName } = facts;
  return checkSource(volume, path, { dialect, options, podName, volumePath: path, name: volume.name ?? '' });
}

function validateEmptyDir(source: EmptyDirVolumeSource, path: FieldPath): readonly FieldFailure[] {
  if (source.sizeLimit === undefined || quantitySign(source.sizeLimit) >= 0) return none;
  return [forbiddenField(path.child('sizeLimit'), 'SizeLimit field must be a valid resource quantity')];
}

/** The claim template of an ephemeral volume, and the resulting name of the claim. */
function validateEphemeral(source: Source<'ephemeral'>, path: FieldPath, place: Place): readonly FieldFailure[] {
  const at = path.child('volumeClaimTemplate');
  const template = source.volumeClaimTemplate;
  const modes = allowedAccessModes(() => place.options.singlePodVolumes, undefined);
  const failures = template === undefined ? [required(at)] : validateClaimTemplate(template, at, modes);
  if (place.podName === '' || place.name === '') return failures;
  const claim = `${place.podName}-${place.name}`;
  const wrong = dns1123SubdomainErrors(claim).map((message) => `PVC name "${claim}": ${message}`);
  return joined(failures, invalidEach(place.volumePath.child('name'), place.name, wrong));
}
