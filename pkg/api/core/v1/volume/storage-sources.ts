/** Rules of network file systems and other storage systems, the same in pods and persistent volumes. */

import { declaration as networkVolumes } from '#api/core/v1/network-volumes.js';
import type {
  AzureFilePersistentVolumeSource,
  CinderPersistentVolumeSource,
  CinderVolumeSource,
  CSIPersistentVolumeSource,
  CSIVolumeSource,
  FlockerVolumeSource,
  GlusterfsPersistentVolumeSource,
  HostPathVolumeSource,
  LocalVolumeSource,
  NFSVolumeSource,
  QuobyteVolumeSource,
  SecretReference,
  StorageOSPersistentVolumeSource,
  StorageOSVolumeSource,
} from '#api/core/v1/types.gen.js';
import { checkNoBacksteps } from '#api/core/v1/volume/file-paths.js';
import { declaration as schema } from '#api/core/v1/volume.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSLabel, checkDNSSubdomain, checkOptionalEnum, checkRequired } from '#apimachinery/validation/checks.js';
import {
  addAll,
  invalidEach,
  invalidValue,
  joined,
  none,
  required,
  tooLong,
} from '#apimachinery/validation/failure.js';
import { dns1123SubdomainErrors } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { oneMember, pairWording } from '#apimachinery/validation/unions.js';

/** Checks that these fields are not empty. */
export const must =
  <T extends object>(...fields: (keyof T & string)[]) =>
  (source: T, path: FieldPath): readonly FieldFailure[] => {
    const failures: FieldFailure[] = [];
    for (const field of fields) {
      const value = source[field];
      const empty = value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
      if (empty) failures.push(required(path.child(field)));
    }
    return failures;
  };

export function validateHostPath(source: HostPathVolumeSource, path: FieldPath): readonly FieldFailure[] {
  if ((source.path ?? '') === '') return [required(path.child('path'))];
  return joined(
    checkNoBacksteps(path.child('path'), source.path),
    checkOptionalEnum(path.child('type'), source.type, schema.enums.HostPathType),
  );
}

export function validateLocal(source: LocalVolumeSource, path: FieldPath): readonly FieldFailure[] {
  if ((source.path ?? '') === '') return [required(path.child('path'))];
  return checkNoBacksteps(path.child('path'), source.path);
}

export function validateNFS(source: NFSVolumeSource, path: FieldPath): readonly FieldFailure[] {
  const directory = source.path ?? '';
  const failures = must<NFSVolumeSource>('server', 'path')(source, path);
  if (directory.startsWith('/')) return failures;
  return [...failures, invalidValue(path.child('path'), directory, 'must be an absolute path')];
}

export function validateGlusterPersistent(
  source: GlusterfsPersistentVolumeSource,
  path: FieldPath,
): readonly FieldFailure[] {
  const failures = must<GlusterfsPersistentVolumeSource>('endpoints', 'path')(source, path);
  const namespace = source.endpointsNamespace;
  if (namespace === undefined) return failures;
  const at = path.child('endpointsNamespace');
  if (namespace !== '') return joined(failures, checkDNSLabel(at, namespace));
  const text = 'if the endpointnamespace is set, it must be a valid namespace name';
  return [...failures, invalidValue(at, namespace, text)];
}

const oneDataset = oneMember<FlockerVolumeSource>(networkVolumes.types.FlockerVolumeSource, pairWording);

export function validateFlocker(source: FlockerVolumeSource, path: FieldPath): readonly FieldFailure[] {
  const { datasetName = '' } = source;
  const failures = oneDataset(source, path);
  if (!datasetName.includes('/')) return failures;
  return [...failures, invalidValue(path.child('datasetName'), datasetName, "must not contain '/'")];
}

const maxTenantLength = 64;

export function validateQuobyte(source: QuobyteVolumeSource, path: FieldPath): readonly FieldFailure[] {
  const { registry = '', tenant = '' } = source;
  const at = path.child('registry');
  const pairs = 'must be a host:port pair or multiple pairs separated by commas';
  const failures: FieldFailure[] = [];
  if (registry === '') failures.push(required(at, pairs));
  else if (tenant.length > maxTenantLength) {
    const text = `must be a UUID and may not exceed a length of ${maxTenantLength} characters`;
    failures.push(required(path.child('tenant'), text));
  } else {
    for (const pair of registry.split(',')) if (!isHostPort(pair)) failures.push(invalidValue(at, registry, pairs));
  }
  return joined(failures, checkRequired(path.child('volume'), source.volume));
}

/** `host:port` or `[host]:port`; either part may be empty. */
function isHostPort(text: string): boolean {
  return /^(\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/.test(text);
}

export function validateCinder(source: CinderVolumeSource, path: FieldPath): readonly FieldFailure[] {
  const failures = checkRequired(path.child('volumeID'), source.volumeID);
  if (source.secretRef === undefined) return failures;
  return joined(failures, checkRequired(path.child('secretRef', 'name'), source.secretRef.name));
}

export function validateCinderPersistent(
  source: CinderPersistentVolumeSource,
  path: FieldPath,
): readonly FieldFailure[] {
  return joined(checkRequired(path.child('volumeID'), source.volumeID), namedSecret(source.secretRef, path));
}

function namedSecret(
  secret: { name?: string; namespace?: string } | undefined,
  path: FieldPath,
): readonly FieldFailure[] {
  return secret === undefined
    ? []
    : must<SecretReference>('name', 'namespace')(secret as SecretReference, path.child('secretRef'));
}

export function validateAzureFilePersistent(
  source: AzureFilePersistentVolumeSource,
  path: FieldPath,
): readonly FieldFailure[] {
  const failures = must<AzureFilePersistentVolumeSource>('secretName', 'shareName')(source, path);
  return source.secretNamespace === '' ? [...failures, required(path.child('secretNamespace'))] : failures;
}

export function validateStorageOS(source: StorageOSVolumeSource, path: FieldPath): readonly FieldFailure[] {
  const failures = storageOSNames(source, path);
  if (source.secretRef === undefined) return failures;
  return joined(failures, checkRequired(path.child('secretRef', 'name'), source.secretRef.name));
}

export function validateStorageOSPersistent(
  source: StorageOSPersistentVolumeSource,
  path: FieldPath,
): readonly FieldFailure[] {
  return joined(storageOSNames(source, path), namedSecret(source.secretRef, path));
}

function storageOSNames(
  { volumeName = '', volumeNamespace = '' }: { volumeName?: string; volumeNamespace?: string },
  path: FieldPath,
): readonly FieldFailure[] {
  const at = path.child('volumeName');
  const failures = [...(volumeName === '' ? [required(at)] : checkDNSLabel(at, volumeName))];
  if (volumeNamespace !== '') addAll(failures, checkDNSLabel(path.child('volumeNamespace'), volumeNamespace));
  return failures;
}

/** A driver's options must not use the system's domains. */
export function validateFlex(
  source: { driver?: string; options?: Record<string, string> },
  path: FieldPath,
  dialect: Dialect,
): readonly FieldFailure[] {
  const failures = [...checkRequired(path.child('driver'), source.driver)];
  for (const key of Object.keys(source.options ?? {})) {
    const domain = `.${(key.split('/')[0] ?? '').toLowerCase()}`;
    const reserved = [...new Set([dialect.labelDomain, dialect.apiDomain])];
    if (!reserved.some((own) => domain.endsWith(`.${own}`))) continue;
    const text = `${reserved.join(' and ')} namespaces are reserved`;
    failures.push(invalidValue(path.child('options').key(key), key, text));
  }
  return failures;
}

const maxDriverNameLength = 63;

/** Name of a CSI driver: a DNS subdomain in any case, as short as a label. */
export function validateDriverName(name: string | undefined, path: FieldPath): readonly FieldFailure[] {
  const driver = name ?? '';
  if (driver === '') return [required(path), ...checkDNSSubdomain(path, driver)];
  const failures = driver.length > maxDriverNameLength ? [tooLong(path, maxDriverNameLength)] : none;
  return joined(failures, invalidEach(path, driver, dns1123SubdomainErrors(driver.toLowerCase())));
}

export function validateCSI(source: CSIVolumeSource, path: FieldPath): readonly FieldFailure[] {
  const failures = validateDriverName(source.driver, path.child('driver'));
  const secret = source.nodePublishSecretRef;
  if (secret === undefined) return failures;
  if ((secret.name ?? '') === '') return [...failures, required(path.child('nodePublishSecretRef', 'name'))];
  return joined(failures, checkDNSSubdomain(path.child('name'), secret.name ?? ''));
}

export function validateCSIPersistent(source: CSIPersistentVolumeSource, path: FieldPath): readonly FieldFailure[] {
  const failures = [
    ...joined(
      validateDriverName(source.driver, path.child('driver')),
      checkRequired(path.child('volumeHandle'), source.volumeHandle),
    ),
  ];
  for (const field of ['controllerPublishSecretRef', 'controllerExpandSecretRef', 'nodePublishSecretRef'] as const) {
    const secret = source[field];
    if (secret === undefined) continue;
    for (const part of ['name', 'namespace'] as const) {
      const at = path.child(field, part);
      const value = secret[part] ?? '';
      addAll(failures, value === '' ? [required(at)] : checkDNSLabel(at, value));
    }
  }
  return failures;
}
