/** Rules of cloud and SAN disks, the same in pods and persistent volumes. */
import { declaration as schema } from '#api/core/v1/cloud-volumes.js';
import { declaration as networkVolumes } from '#api/core/v1/network-volumes.js';
import type {
  AWSElasticBlockStoreVolumeSource,
  AzureDiskVolumeSource,
  FCVolumeSource,
  GCEPersistentDiskVolumeSource,
  ISCSIPersistentVolumeSource,
  ISCSIVolumeSource,
} from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkOptionalEnum, checkRequired } from '#apimachinery/validation/checks.js';
import { addAll, invalidValue, joined, none, notSupported, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';
import { membersOf } from '#apimachinery/validation/unions.js';

const checkGCEPartition = rangesOf(schema.types.GCEPersistentDiskVolumeSource, 'partition');
const checkEBSPartition = rangesOf(schema.types.AWSElasticBlockStoreVolumeSource, 'partition');

export function validateGCEDisk(source: GCEPersistentDiskVolumeSource, path: FieldPath): readonly FieldFailure[] {
  return joined(checkRequired(path.child('pdName'), source.pdName), checkGCEPartition(source, path));
}

export function validateEBSDisk(source: AWSElasticBlockStoreVolumeSource, path: FieldPath): readonly FieldFailure[] {
  return joined(checkRequired(path.child('volumeID'), source.volumeID), checkEBSPartition(source, path));
}

const checkFCLun = rangesOf(networkVolumes.types.FCVolumeSource, 'lun');
const checkISCSILun = rangesOf(networkVolumes.types.ISCSIVolumeSource, 'lun');
const identitiesOf = membersOf<FCVolumeSource>(networkVolumes.types.FCVolumeSource);

export function validateFC(source: FCVolumeSource, path: FieldPath): readonly FieldFailure[] {
  const { targetWWNs = [], lun } = source;
  const at = path.child('targetWWNs');
  const [first, second] = identitiesOf(source);
  if (first === undefined) return [required(at, 'must specify either targetWWNs or wwids, but not both')];
  if (first === 'wwids') return none;
  const failures: FieldFailure[] = [];
  if (second !== undefined) {
    failures.push(invalidValue(at, targetWWNs, 'targetWWNs and wwids can not be specified simultaneously'));
  }
  if (lun === undefined) failures.push(required(path.child('lun'), 'lun is required if targetWWNs is specified'));
  else addAll(failures, checkFCLun(source, path));
  return failures;
}

/** Names of initiators and targets: iSCSI qualified names, EUI-64 and NAA identifiers. */
const iscsiNames: Readonly<Record<string, RegExp>> = {
  iqn: /iqn\.\d{4}-\d{2}\.([a-zA-Z0-9\-.]+)(:[^,;*&$|\s]+)$/,
  eui: /^eui.[a-zA-Z0-9]{16}$/,
  naa: /^naa.[a-zA-Z0-9]{32}$/,
};

function checkISCSIName(name: string, unknown: string, path: FieldPath): readonly FieldFailure[] {
  const pattern = iscsiNames[name.slice(0, 3)];
  if (pattern === undefined) return [invalidValue(path, name, unknown)];
  return pattern.test(name) ? none : [invalidValue(path, name, 'must be valid format')];
}

const startsWith = 'must be valid format starting with iqn, eui, or naa';
/** A custom initiator gets an interface name made of these two. */
const maxInterfaceLength = 64;
const interfaceTooLong =
  'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';

function validateISCSICommon(
  source: ISCSIVolumeSource | ISCSIPersistentVolumeSource,
  unknownName: string,
  path: FieldPath,
): readonly FieldFailure[] {
  const { iqn = '', initiatorName } = source;
  const failures = [
    ...(iqn === '' ? [required(path.child('iqn'))] : checkISCSIName(iqn, unknownName, path.child('iqn'))),
  ];
  addAll(failures, checkISCSILun(source, path));
  if ((source.chapAuthDiscovery === true || source.chapAuthSession === true) && source.secretRef === undefined) {
    failures.push(required(path.child('secretRef')));
  }
  if (initiatorName !== undefined) {
    addAll(failures, checkISCSIName(initiatorName, unknownName, path.child('initiatorname')));
  }
  return failures;
}

/** In a pod; `volumePath` is the volume, `name` its name. */
export function validateISCSI(
  source: ISCSIVolumeSource,
  path: FieldPath,
  volumePath: FieldPath,
  name: string,
): readonly FieldFailure[] {
  const portal = source.targetPortal ?? '';
  const failures = [
    ...joined(checkRequired(path.child('targetPortal'), portal), validateISCSICommon(source, startsWith, path)),
  ];
  if (source.initiatorName !== undefined && `${name}:${portal}`.length > maxInterfaceLength) {
    failures.push(invalidValue(volumePath.child('name'), name, interfaceTooLong));
  }
  return failures;
}

/** In a persistent volume with that name. */
export function validateISCSIPersistent(
  source: ISCSIPersistentVolumeSource,
  path: FieldPath,
  name: string,
): readonly FieldFailure[] {
  const portal = source.targetPortal ?? '';
  const failures = [...checkRequired(path.child('targetPortal'), portal)];
  if (source.initiatorName !== undefined && `${name}:${portal}`.length > maxInterfaceLength) {
    failures.push(invalidValue(path.child('targetportal'), portal, interfaceTooLong));
  }
  addAll(failures, validateISCSICommon(source, 'must be valid format', path));
  if (source.secretRef !== undefined) {
    addAll(failures, checkRequired(path.child('secretRef', 'name'), source.secretRef.name));
  }
  return failures;
}

const managedURI = '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}';
const blobURI = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd';

export function validateAzureDisk(source: AzureDiskVolumeSource, path: FieldPath): readonly FieldFailure[] {
  const { diskURI = '', cachingMode, kind } = source;
  const at = path.child('diskURI');
  const failures = [
    ...joined(
      checkRequired(path.child('diskName'), source.diskName),
      checkRequired(at, diskURI),
      checkOptionalEnum(path.child('cachingMode'), cachingMode, schema.enums.AzureDataDiskCachingMode),
      checkOptionalEnum(path.child('kind'), kind, schema.enums.AzureDataDiskKind),
    ),
  ];
  if (kind === 'Managed') {
    if (!diskURI.startsWith('/subscriptions/')) failures.push(notSupported(at, diskURI, [managedURI]));
  } else if (kind !== undefined && !diskURI.startsWith('https://')) {
    failures.push(notSupported(at, diskURI, [blobURI]));
  }
  return failures;
}
