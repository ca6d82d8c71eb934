/** Rules of volumes with generated files: from keys, from the pod's fields, and from several sources. */
import { validateFieldRef, validateResourceFieldRef, volumeFieldPaths } from '#api/core/v1/pod/validation/env.js';
import type { PodOptions } from '#api/core/v1/pod/validation/options.js';
import { declaration as schema } from '#api/core/v1/projected-volumes.js';
import type {
  DownwardAPIVolumeFile,
  KeyToPath,
  ProjectedVolumeSource,
  VolumeProjection,
} from '#api/core/v1/types.gen.js';
import { modeWording, relativeFile } from '#api/core/v1/volume/file-paths.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkRequired } from '#apimachinery/validation/checks.js';
import { addAll, forbiddenField, invalidValue, none } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { type RangeWording, wordedRangesOf } from '#apimachinery/validation/ranges.js';
import { membersOf, oneMember, pairWording } from '#apimachinery/validation/unions.js';

/** The message of 1.24 for the validity of tokens in seconds. */
export const tokenWording: RangeWording = ({ minimum }, seconds) =>
  seconds < minimum
    ? 'may not specify a duration less than 10 minutes'
    : 'may not specify a duration larger than 2^32 seconds';

const sourcesOf = membersOf<VolumeProjection>(schema.types.VolumeProjection);
const oneFact = oneMember<DownwardAPIVolumeFile>(schema.types.DownwardAPIVolumeFile, pairWording);
const checkKeyMode = wordedRangesOf(schema.types.KeyToPath, modeWording, 'mode');
const checkFactMode = wordedRangesOf(schema.types.DownwardAPIVolumeFile, modeWording, 'mode');
const checkDefaultMode = wordedRangesOf(schema.types.ProjectedVolumeSource, modeWording, 'defaultMode');
const checkToken = wordedRangesOf(schema.types.ServiceAccountTokenProjection, tokenWording, 'expirationSeconds');

export function validateKeysToPaths(items: readonly KeyToPath[] | undefined, path: FieldPath): readonly FieldFailure[] {
  if (items === undefined) return none;
  const failures: FieldFailure[] = [];
  items.forEach((item, i) => {
    const at = path.index(i);
    addAll(failures, checkRequired(at.child('key'), item.key));
    addAll(failures, checkRequired(at.child('path'), item.path));
    addAll(failures, relativeFile(at.child('path'), item.path ?? ''));
    addAll(failures, checkKeyMode(item, at));
  });
  return failures;
}

/** The path is that of the volume or projection: 1.24 does not report the file's index. */
export function validateDownwardFiles(
  files: readonly DownwardAPIVolumeFile[] | undefined,
  options: PodOptions,
  path: FieldPath,
): readonly FieldFailure[] {
  if (files === undefined) return none;
  const failures: FieldFailure[] = [];
  for (const file of files) {
    addAll(failures, checkRequired(path.child('path'), file.path));
    addAll(failures, relativeFile(path.child('path'), file.path ?? ''));
    if (file.fieldRef !== undefined) {
      addAll(failures, validateFieldRef(file.fieldRef, volumeFieldPaths, path.child('fieldRef')));
    } else if (file.resourceFieldRef !== undefined) {
      const at = path.child('resourceFieldRef');
      addAll(failures, validateResourceFieldRef(file.resourceFieldRef, { inVolume: true, options }, at));
    }
    addAll(failures, oneFact(file, path));
    addAll(failures, checkFactMode(file, path));
  }
  return failures;
}

/** Several sources share a directory, so their file names must not collide. */
export function validateProjected(
  source: ProjectedVolumeSource,
  options: PodOptions,
  path: FieldPath,
): readonly FieldFailure[] {
  const failures = [...checkDefaultMode(source, path)];
  const files = new Set<string>();
  /** `name` replaces the file's own name in the message. */
  const addCollisions = (items: readonly { path?: string }[] | undefined, name?: string): void => {
    for (const { path: file = '' } of items ?? []) {
      if (files.has(file)) failures.push(invalidValue(path, name ?? file, 'conflicting duplicate paths'));
      if (file !== '') files.add(file);
    }
  };
  source.sources?.forEach((projection, i) => {
    const at = path.child('sources').index(i);
    const { downwardAPI, serviceAccountToken } = projection;
    for (const field of ['secret', 'configMap'] as const) {
      const map = projection[field];
      if (map === undefined) continue;
      addAll(failures, checkRequired(at.child(field, 'name'), map.name));
      addAll(failures, validateKeysToPaths(map.items, at.child(field, 'items')));
      addCollisions(map.items, map.name ?? '');
    }
    addAll(failures, validateDownwardFiles(downwardAPI?.items, options, at.child('downwardAPI')));
    addCollisions(downwardAPI?.items);
    if (serviceAccountToken !== undefined) {
      addAll(failures, checkToken(serviceAccountToken, at.child('serviceAccountToken')));
      addAll(failures, checkRequired(path.child('path'), serviceAccountToken.path));
    }
    if (sourcesOf(projection).length > 1) failures.push(forbiddenField(at, 'may not specify more than 1 volume type'));
  });
  return failures;
}
