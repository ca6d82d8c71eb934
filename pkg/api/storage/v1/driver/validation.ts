/** Rules of CSI drivers, CSI nodes and volume attachments. */

import { validateVolumeSpec } from '#api/core/v1/persistentvolume/validation.js';
import { tokenWording } from '#api/core/v1/pod/validation/projected-volume.js';
import { allowedAccessModes } from '#api/core/v1/volume/access-modes.js';
import { validateDriverName } from '#api/core/v1/volume/storage-sources.js';
import { goValuesOf } from '#api/go/go-values.js';
import { declaration as schema } from '#api/storage/v1/csidriver.js';
import { declaration as nodeSchema } from '#api/storage/v1/csinode.js';
import type {
  CSIDriver,
  CSINode,
  CSINodeDriver,
  TokenRequest,
  VolumeAttachment,
  VolumeAttachmentSource,
  VolumeError,
} from '#api/storage/v1/types.gen.js';
import { declaration as attachment } from '#api/storage/v1/volumeattachment.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSSubdomain, checkOptionalEnum, checkRequired, repeatedAt } from '#apimachinery/validation/checks.js';
import {
  addAll,
  duplicate,
  forbiddenField,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  tooLong,
} from '#apimachinery/validation/failure.js';
import { qualifiedNameErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf, wordedRangesOf } from '#apimachinery/validation/ranges.js';
import { membersOf } from '#apimachinery/validation/unions.js';

export const specPath = FieldPath.of('spec');
/** The path in 1.24's spelling. */
export const attachPath = specPath.child('attachedRequired');
const statusPath = FieldPath.of('status');

const checkLifetime = wordedRangesOf(schema.types.TokenRequest, tokenWording, 'expirationSeconds');
const checkCount = rangesOf(nodeSchema.types.VolumeNodeResources, 'count');

const nodeValues = goValuesOf('storage', 'v1', [nodeSchema]);

export function validateDriver({ spec }: CSIDriver): FieldFailure[] {
  return [
    ...(spec.attachRequired === undefined ? [required(attachPath)] : []),
    ...(['podInfoOnMount', 'storageCapacity'] as const).flatMap((field) =>
      spec[field] === undefined ? [required(specPath.child(field))] : [],
    ),
    ...checkOptionalEnum(specPath.child('fsGroupPolicy'), spec.fsGroupPolicy, schema.enums.FSGroupPolicy),
    ...validateTokenRequests(spec.tokenRequests ?? [], specPath.child('tokenRequests')),
    ...(spec.volumeLifecycleModes ?? [])
      .filter((mode) => !schema.enums.VolumeLifecycleMode.includes(mode))
      .map((mode) => notSupported(specPath.child('volumeLifecycleModes'), mode, schema.enums.VolumeLifecycleMode)),
  ];
}

/** Audiences must be unique, and durations in range. */
function validateTokenRequests(requests: readonly TokenRequest[], path: FieldPath): FieldFailure[] {
  const audiences = new Set<string>();
  return requests.flatMap((request, i) => {
    const { audience = '' } = request;
    const at = path.index(i);
    if (audiences.has(audience)) return [duplicate(at.child('audience'), audience)];
    audiences.add(audience);
    return checkLifetime(request, at);
  });
}

const maxNodeIDLength = 256;

export function validateNodeDrivers(drivers: readonly CSINodeDriver[]): FieldFailure[] {
  const names = new Set<string>();
  return drivers.flatMap((driver, i) => {
    const at = specPath.child('drivers').index(i);
    const { name = '', nodeID = '', topologyKeys = [] } = driver;
    const failures = [...validateDriverName(name, at.child('name')), ...checkRequired(at.child('nodeID'), nodeID)];
    if (nodeID.length > maxNodeIDLength) {
      failures.push(invalidValue(at.child('nodeID'), nodeID, `must be ${maxNodeIDLength} characters or less`));
    }
    addAll(failures, checkCount(driver.allocatable, at.child('allocatable')));
    if (names.has(name)) failures.push(duplicate(at.child('name'), name));
    names.add(name);
    const repeated = repeatedAt(topologyKeys);
    topologyKeys.forEach((key, j) => {
      if (key === '') failures.push(required(at));
      if (repeated.has(j)) failures.push(duplicate(at, key));
      addAll(failures, invalidEach(at, key, qualifiedNameErrors(key)));
    });
    return failures;
  });
}

/** Drivers may be added and removed, but not changed. */
export function validateSameDrivers(node: CSINode, old: CSINode): FieldFailure[] {
  return (old.spec.drivers ?? []).flatMap((before) =>
    (node.spec.drivers ?? [])
      .filter((driver) => driver.name === before.name && !semanticEqual(driver, before))
      .map((driver) =>
        invalidValue(FieldPath.of('CSINodeDriver'), nodeValues.of('CSINodeDriver', driver), 'field is immutable'),
      ),
  );
}

const maxMetadataBytes = 256 * 1024;
const maxMessageBytes = 1024;

/** Spec and status; the spec never changes. A new attachment has one more rule. */
export function validateAttachment(
  { spec, status }: VolumeAttachment,
  context: Pick<StrategyContext, 'dialect' | 'gate'>,
  isNew: boolean,
): FieldFailure[] {
  const sourcePath = specPath.child('source');
  const failures = [
    ...checkRequired(specPath.child('attacher'), spec.attacher),
    ...validateSource(spec.source ?? {}, context, sourcePath),
    ...checkDNSSubdomain(specPath.child('nodeName'), spec.nodeName ?? ''),
    ...validateMetadata(status?.attachmentMetadata, statusPath.child('attachmentMetadata')),
    ...validateError(status?.attachError, statusPath.child('attachError')),
    ...validateError(status?.detachError, statusPath.child('detachError')),
  ];
  if (!isNew) return failures;
  addAll(failures, validateDriverName(spec.attacher, specPath.child('attacher')));
  const volume = spec.source?.persistentVolumeName;
  if (volume !== undefined) addAll(failures, checkDNSSubdomain(sourcePath.child('persistentVolumeName'), volume));
  return failures;
}

const sourcesOf = membersOf<VolumeAttachmentSource>(attachment.types.VolumeAttachmentSource);

function validateSource(
  source: VolumeAttachmentSource,
  { dialect, gate }: Pick<StrategyContext, 'dialect' | 'gate'>,
  path: FieldPath,
): FieldFailure[] {
  const { persistentVolumeName, inlineVolumeSpec } = source;
  const one = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
  if (sourcesOf(source).length > 1) return [forbiddenField(path, one)];
  if (persistentVolumeName !== undefined) {
    const at = path.child('persistentVolumeName');
    return persistentVolumeName === '' ? [required(at, 'must specify non empty persistentVolumeName')] : [];
  }
  if (inlineVolumeSpec !== undefined) {
    const rules = { dialect, modes: allowedAccessModes(gate, undefined), name: '', inline: true };
    return validateVolumeSpec(inlineVolumeSpec, rules, path.child('inlineVolumeSpec'));
  }
  const only = 'must specify persistentVolumeName when CSIMigration feature is disabled';
  return [required(path, gate('CSIMigration') ? one : only)];
}

function validateMetadata(metadata: Readonly<Record<string, string>> | undefined, path: FieldPath): FieldFailure[] {
  let bytes = 0;
  for (const [key, value] of Object.entries(metadata ?? {})) bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  return bytes > maxMetadataBytes ? [tooLong(path, maxMetadataBytes)] : [];
}

/** 1.24's message names the limit of the metadata. */
function validateError(error: VolumeError | undefined, path: FieldPath): FieldFailure[] {
  const message = error?.message ?? '';
  return Buffer.byteLength(message) > maxMessageBytes ? [tooLong(path.child('message'), maxMetadataBytes)] : [];
}
