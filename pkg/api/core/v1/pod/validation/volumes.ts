/** Rules of volumes. Sources that 1.24 delegates to CSI drivers are checked for what identifies them. */
import { validateFieldRef, validateResourceFieldRef, volumeFieldPaths } from '#api/core/v1/pod/validation/env.js';
import { checkFileMode, checkNoBacksteps, relativeFile } from '#api/core/v1/pod/validation/file-paths.js';
import { validateProjected } from '#api/core/v1/pod/validation/projected-volume.js';
import type {
  CSIVolumeSource,
  DownwardAPIVolumeFile,
  EmptyDirVolumeSource,
  HostPathVolumeSource,
  KeyToPath,
  NFSVolumeSource,
  Volume,
  VolumeSource,
} from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { quantitySign } from '#apimachinery/quantity.js';
import { checkDNSLabel, checkDNSSubdomain, checkOptionalEnum, checkRequired } from '#apimachinery/validation/checks.js';
import { duplicate, forbiddenField, invalidValue, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** The failures, and the volumes that are well formed, by name. */
export function validateVolumes(
  volumes: Volume[],
  path: FieldPath,
): { failures: FieldFailure[]; known: Map<string, Volume> } {
  const failures: FieldFailure[] = [];
  const known = new Map<string, Volume>();
  const names = new Set<string>();
  volumes.forEach((volume, i) => {
    const at = path.index(i);
    const name = volume.name ?? '';
    const own = validateSource(volume, at);
    if (name === '') own.push(required(at.child('name')));
    else own.push(...checkDNSLabel(at.child('name'), name));
    if (names.has(name)) own.push(duplicate(at.child('name'), name));
    names.add(name);
    if (own.length === 0) known.set(name, volume);
    failures.push(...own);
  });
  return { failures, known };
}

type Check<K extends keyof VolumeSource> = (source: NonNullable<VolumeSource[K]>, path: FieldPath) => FieldFailure[];
type Checks = { readonly [K in keyof VolumeSource]-?: Check<K> };

const must =
  <T extends object>(...fields: (keyof T & string)[]) =>
  (source: T, path: FieldPath): FieldFailure[] =>
    fields.flatMap((field) => {
      const value = source[field];
      const empty = value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
      return empty ? [required(path.child(field))] : [];
    });

/** In the order in which 1.24 looks at them: of two sources, the later one is reported. */
const checks: Checks = {
  emptyDir: validateEmptyDir,
  hostPath: validateHostPath,
  gitRepo: must('repository'),
  gcePersistentDisk: must('pdName'),
  awsElasticBlockStore: must('volumeID'),
  secret: (source, path) => [
    ...checkRequired(path.child('secretName'), source.secretName),
    ...checkFileMode(path.child('defaultMode'), source.defaultMode),
    ...validateKeysToPaths(source.items, path.child('items')),
  ],
  nfs: validateNFS,
  iscsi: must('targetPortal', 'iqn'),
  glusterfs: must('endpoints', 'path'),
  flocker: () => [],
  persistentVolumeClaim: must('claimName'),
  rbd: must('monitors', 'image'),
  cinder: must('volumeID'),
  cephfs: must('monitors'),
  quobyte: must('registry', 'volume'),
  downwardAPI: (source, path) => [
    ...checkFileMode(path.child('defaultMode'), source.defaultMode),
    ...validateDownwardFiles(source.items, path),
  ],
  fc: () => [],
  flexVolume: must('driver'),
  configMap: (source, path) => [
    ...checkRequired(path.child('name'), source.name),
    ...checkFileMode(path.child('defaultMode'), source.defaultMode),
    ...validateKeysToPaths(source.items, path.child('items')),
  ],
  azureFile: must('secretName', 'shareName'),
  vsphereVolume: must('volumePath'),
  photonPersistentDisk: must('pdID'),
  portworxVolume: must('volumeID'),
  azureDisk: must('diskName', 'diskURI'),
  storageos: must('volumeName'),
  projected: (source, path) => validateProjected(source, path, validateKeysToPaths, validateDownwardFiles),
  scaleIO: must('gateway', 'system', 'volumeName'),
  csi: validateCSI,
  ephemeral: (source, path) =>
    source.volumeClaimTemplate === undefined ? [required(path.child('volumeClaimTemplate'))] : [],
};

function validateSource(volume: VolumeSource, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  let found = 0;
  for (const field of Object.keys(checks) as (keyof VolumeSource)[]) {
    if (volume[field] === undefined) continue;
    found++;
    if (found > 1) failures.push(forbiddenField(path.child(field), 'may not specify more than 1 volume type'));
    else failures.push(...checkOne(volume, field, path.child(field)));
  }
  if (found === 0) failures.push(required(path, 'must specify a volume type'));
  return failures;
}

function checkOne<K extends keyof VolumeSource>(volume: VolumeSource, field: K, path: FieldPath): FieldFailure[] {
  const source = volume[field];
  const check = checks[field] as Check<K>;
  return source === undefined ? [] : check(source, path);
}

function validateEmptyDir(source: EmptyDirVolumeSource, path: FieldPath): FieldFailure[] {
  if (source.sizeLimit === undefined || quantitySign(source.sizeLimit) >= 0) return [];
  return [forbiddenField(path.child('sizeLimit'), 'SizeLimit field must be a valid resource quantity')];
}

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];

/** A place of the node, which pods and persistent volumes may name. */
export function validateHostPath(source: HostPathVolumeSource, path: FieldPath): FieldFailure[] {
  if ((source.path ?? '') === '') return [required(path.child('path'))];
  return [
    ...checkNoBacksteps(path.child('path'), source.path),
    ...checkOptionalEnum(path.child('type'), source.type, hostPathTypes),
  ];
}

function validateNFS(source: NFSVolumeSource, path: FieldPath): FieldFailure[] {
  const failures = [
    ...checkRequired(path.child('server'), source.server),
    ...checkRequired(path.child('path'), source.path),
  ];
  if (!(source.path ?? '').startsWith('/')) {
    failures.push(invalidValue(path.child('path'), source.path ?? '', 'must be an absolute path'));
  }
  return failures;
}

function validateCSI(source: CSIVolumeSource, path: FieldPath): FieldFailure[] {
  const driver = source.driver ?? '';
  const failures =
    driver === '' ? [required(path.child('driver'))] : checkDNSSubdomain(path.child('driver'), driver.toLowerCase());
  const secret = source.nodePublishSecretRef;
  return secret === undefined
    ? failures
    : [...failures, ...checkRequired(path.child('nodePublishSecretRef', 'name'), secret.name)];
}

function validateKeysToPaths(items: KeyToPath[] | undefined, path: FieldPath): FieldFailure[] {
  return (items ?? []).flatMap((item, i) => {
    const at = path.index(i);
    return [
      ...checkRequired(at.child('key'), item.key),
      ...checkRequired(at.child('path'), item.path),
      ...relativeFile(at.child('path'), item.path ?? ''),
      ...checkFileMode(at.child('mode'), item.mode),
    ];
  });
}

function validateDownwardFiles(files: DownwardAPIVolumeFile[] | undefined, path: FieldPath): FieldFailure[] {
  return (files ?? []).flatMap((file) => {
    const failures = [
      ...checkRequired(path.child('path'), file.path),
      ...relativeFile(path.child('path'), file.path ?? ''),
    ];
    if (file.fieldRef !== undefined) {
      failures.push(...validateFieldRef(file.fieldRef, volumeFieldPaths, path.child('fieldRef')));
      if (file.resourceFieldRef !== undefined) {
        const text = 'fieldRef and resourceFieldRef can not be specified simultaneously';
        failures.push(invalidValue(path, 'resource', text));
      }
    } else if (file.resourceFieldRef !== undefined) {
      failures.push(...validateResourceFieldRef(file.resourceFieldRef, true, path.child('resourceFieldRef')));
    } else failures.push(required(path, 'one of fieldRef and resourceFieldRef is required'));
    return [...failures, ...checkFileMode(path.child('mode'), file.mode)];
  });
}
