/** Rules of projected volumes: several sources in one directory, so their file names must not collide. */
import { checkFileMode } from '#api/core/v1/pod/validation/file-paths.js';
import type {
  DownwardAPIVolumeFile,
  KeyToPath,
  ProjectedVolumeSource,
  VolumeProjection,
} from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkRequired } from '#apimachinery/validation/checks.js';
import { duplicate, forbiddenField, invalidValue, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

const minTokenSeconds = 600;
const maxTokenSeconds = 2 ** 32;

type Files<T> = (items: T[] | undefined, path: FieldPath) => FieldFailure[];

/** The rules of the two lists of files are those of the volumes that are not projected, hence passed in. */
export function validateProjected(
  source: ProjectedVolumeSource,
  path: FieldPath,
  keysToPaths: Files<KeyToPath>,
  downwardFiles: Files<DownwardAPIVolumeFile>,
): FieldFailure[] {
  const failures = checkFileMode(path.child('defaultMode'), source.defaultMode);
  const paths = new Set<string>();
  source.sources?.forEach((projection, i) => {
    const at = path.child('sources').index(i);
    failures.push(...validateProjection(projection, at));
    failures.push(...keysToPaths(projection.secret?.items, at.child('secret', 'items')));
    failures.push(...keysToPaths(projection.configMap?.items, at.child('configMap', 'items')));
    failures.push(...downwardFiles(projection.downwardAPI?.items, at.child('downwardAPI')));
    for (const [field, file] of filesOf(projection)) {
      if (file !== '' && paths.has(file)) failures.push(conflict(projection, at.child(field), file));
      paths.add(file);
    }
  });
  return failures;
}

function conflict(projection: VolumeProjection, path: FieldPath, file: string): FieldFailure {
  const name = projection.secret?.name ?? projection.configMap?.name;
  if (name === undefined) return duplicate(path.child('path'), file);
  return invalidValue(path, name, `conflicting duplicate paths`);
}

function* filesOf(projection: VolumeProjection): Generator<[string, string]> {
  for (const field of ['secret', 'configMap', 'downwardAPI'] as const) {
    for (const item of projection[field]?.items ?? []) yield [field, item.path ?? ''];
  }
  const token = projection.serviceAccountToken;
  if (token !== undefined) yield ['serviceAccountToken', token.path ?? ''];
}

function validateProjection(projection: VolumeProjection, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const set = (['secret', 'configMap', 'downwardAPI', 'serviceAccountToken'] as const).filter(
    (field) => projection[field] !== undefined,
  );
  if (set.length === 0) failures.push(required(path, 'must specify a volume type'));
  for (const field of set.slice(1)) {
    failures.push(forbiddenField(path.child(field), 'may not specify more than 1 volume type'));
  }
  const { secret, configMap, serviceAccountToken: token } = projection;
  if (secret !== undefined) failures.push(...checkRequired(path.child('secret', 'name'), secret.name));
  if (configMap !== undefined) failures.push(...checkRequired(path.child('configMap', 'name'), configMap.name));
  if (token === undefined) return failures;
  const at = path.child('serviceAccountToken');
  const seconds = token.expirationSeconds ?? 0;
  if (seconds < minTokenSeconds) {
    failures.push(
      invalidValue(at.child('expirationSeconds'), seconds, 'may not specify a duration less than 10 minutes'),
    );
  }
  if (seconds > maxTokenSeconds) {
    failures.push(
      invalidValue(at.child('expirationSeconds'), seconds, 'may not specify a duration larger than 2^32 seconds'),
    );
  }
  return [...failures, ...checkRequired(at.child('path'), token.path)];
}
