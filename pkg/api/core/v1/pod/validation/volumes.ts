/** Rules of a pod's volumes. */

import { knownAccessModes } from '#api/core/v1/persistentvolume/access-modes.js';
import { validateClaimTemplate } from '#api/core/v1/persistentvolumeclaim/spec-validation.js';
import {
  validateAzureDisk,
  validateEBSDisk,
  validateFC,
  validateGCEDisk,
  validateISCSI,
} from '#api/core/v1/pod/validation/disk-sources.js';
import { checkFileMode, relativeDescending } from '#api/core/v1/pod/validation/file-paths.js';
import type { PodOptions } from '#api/core/v1/pod/validation/options.js';
import {
  validateDownwardFiles,
  validateKeysToPaths,
  validateProjected,
} from '#api/core/v1/pod/validation/projected-volume.js';
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
} from '#api/core/v1/pod/validation/storage-sources.js';
import type { EmptyDirVolumeSource, Volume, VolumeSource } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { quantitySign } from '#apimachinery/quantity.js';
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

/** What the rules of a volume need to know besides the volume. */
export interface VolumeFacts {
  readonly dialect: Dialect;
  readonly options: PodOptions;
  /** Name of the pod; empty in templates, whose pods' names nobody knows yet. */
  readonly podName: string;
}

/** The failures, and the volumes that are well formed, by name. */
export function validateVolumes(
  volumes: Volume[],
  facts: VolumeFacts,
  path: FieldPath,
): { failures: FieldFailure[]; known: Map<string, Volume> } {
  const failures: FieldFailure[] = [];
  const known = new Map<string, Volume>();
  const claims = madeClaims(volumes, facts.podName);
  volumes.forEach((volume, i) => {
    const at = path.index(i);
    const name = volume.name ?? '';
    const before = failures.length;
    addAll(failures, validateSource(volume, facts, at));
    if (name === '') failures.push(required(at.child('name')));
    else addAll(failures, checkDNSLabel(at.child('name'), name));
    if (known.has(name)) failures.push(duplicate(at.child('name'), name));
    if (failures.length === before) known.set(name, volume);
    const claim = volume.persistentVolumeClaim?.claimName ?? '';
    if (claims === undefined || !claims.has(claim)) return;
    const text = 'must not reference a PVC that gets created for an ephemeral volume';
    failures.push(invalidValue(at.child('persistentVolumeClaim', 'claimName'), claim, text));
  });
  return { failures, known };
}

/** Names of the claims that the pod's ephemeral volumes will make; undefined when it has no such volume, or no name. */
function madeClaims(volumes: readonly Volume[], podName: string): ReadonlySet<string> | undefined {
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
  /** Of the volume itself. */
  readonly volumePath: FieldPath;
  readonly name: string;
}

interface Rule<K extends keyof VolumeSource> {
  check(source: Source<K>, path: FieldPath, place: Place): readonly FieldFailure[];
  /** What 1.24 calls the source inside and beside of it, where that is not the field's name. */
  readonly inside?: string;
  readonly tooMany?: string;
}

type Rules = { readonly [K in keyof VolumeSource]-?: Rule<K> };

/** In the order in which 1.24 looks at them: of two sources, the later one is reported. */
const rules: Rules = {
  emptyDir: { check: validateEmptyDir },
  hostPath: { check: validateHostPath },
  gitRepo: {
    check: (source, path) =>
      joined(
        checkRequired(path.child('repository'), source.repository),
        relativeDescending(path.child('directory'), source.directory ?? ''),
      ),
  },
  gcePersistentDisk: { check: validateGCEDisk, inside: 'persistentDisk' },
  awsElasticBlockStore: { check: validateEBSDisk },
  secret: {
    check: (source, path) =>
      joined(
        checkRequired(path.child('secretName'), source.secretName),
        checkFileMode(path.child('defaultMode'), source.defaultMode),
        validateKeysToPaths(source.items, path.child('items')),
      ),
  },
  nfs: { check: validateNFS },
  iscsi: { check: (source, path, { volumePath, name }) => validateISCSI(source, path, volumePath, name) },
  glusterfs: { check: must('endpoints', 'path') },
  flocker: { check: validateFlocker },
  persistentVolumeClaim: { check: must('claimName') },
  rbd: { check: must('monitors', 'image') },
  cinder: { check: validateCinder },
  cephfs: { check: must('monitors'), tooMany: 'cephFS' },
  quobyte: { check: validateQuobyte },
  downwardAPI: {
    check: (source, path, { options }) =>
      joined(
        checkFileMode(path.child('defaultMode'), source.defaultMode),
        validateDownwardFiles(source.items, options, path),
      ),
    tooMany: 'downwarAPI',
  },
  fc: { check: validateFC },
  flexVolume: { check: (source, path, { dialect }) => validateFlex(source, path, dialect) },
  configMap: {
    check: (source, path) =>
      joined(
        checkRequired(path.child('name'), source.name),
        checkFileMode(path.child('defaultMode'), source.defaultMode),
        validateKeysToPaths(source.items, path.child('items')),
      ),
  },
  azureFile: { check: must('secretName', 'shareName') },
  vsphereVolume: { check: must('volumePath') },
  photonPersistentDisk: { check: must('pdID') },
  portworxVolume: { check: must('volumeID') },
  azureDisk: { check: validateAzureDisk },
  storageos: { check: validateStorageOS },
  projected: { check: (source, path, { options }) => validateProjected(source, options, path) },
  scaleIO: { check: must('gateway', 'system', 'volumeName') },
  csi: { check: validateCSI },
  ephemeral: { check: validateEphemeral },
};

function validateSource(volume: Volume, facts: VolumeFacts, path: FieldPath): readonly FieldFailure[] {
  const [first, ...others] = sourcesOf(volume);
  if (first === undefined) return [required(path, 'must specify a volume type')];
  const { dialect, options, podName } = facts;
  const failures = checkOne(volume, first, { dialect, options, podName, volumePath: path, name: volume.name ?? '' });
  if (others.length === 0) return failures;
  const text = 'may not specify more than 1 volume type';
  return [...failures, ...others.map((field) => forbiddenField(path.child(rules[field].tooMany ?? field), text))];
}

/** The sources that are set, in the order of their rules. Looks at what a volume has, which is little. */
function sourcesOf(volume: Volume): (keyof VolumeSource)[] {
  const set: (keyof VolumeSource)[] = [];
  for (const field of Object.keys(volume) as (keyof Volume)[]) {
    if (field !== 'name' && field in rules && volume[field] !== undefined) set.push(field);
  }
  if (set.length < 2) return set;
  return (Object.keys(rules) as (keyof VolumeSource)[]).filter((field) => set.includes(field));
}

function checkOne<K extends keyof VolumeSource>(volume: VolumeSource, field: K, place: Place): readonly FieldFailure[] {
  const source = volume[field];
  const rule = rules[field] as Rule<K>;
  return source === undefined ? none : rule.check(source, place.volumePath.child(rule.inside ?? field), place);
}

function validateEmptyDir(source: EmptyDirVolumeSource, path: FieldPath): readonly FieldFailure[] {
  if (source.sizeLimit === undefined || quantitySign(source.sizeLimit) >= 0) return none;
  return [forbiddenField(path.child('sizeLimit'), 'SizeLimit field must be a valid resource quantity')];
}

/** The claim that the volume's pod will make: what it says, and the name that it will have. */
function validateEphemeral(source: Source<'ephemeral'>, path: FieldPath, place: Place): readonly FieldFailure[] {
  const at = path.child('volumeClaimTemplate');
  const template = source.volumeClaimTemplate;
  const modes = knownAccessModes(() => place.options.singlePodVolumes, undefined);
  const failures = template === undefined ? [required(at)] : validateClaimTemplate(template, at, modes);
  if (place.podName === '' || place.name === '') return failures;
  const claim = `${place.podName}-${place.name}`;
  const wrong = dns1123SubdomainErrors(claim).map((message) => `PVC name "${claim}": ${message}`);
  return joined(failures, invalidEach(place.volumePath.child('name'), place.name, wrong));
}
