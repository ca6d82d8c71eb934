/** Rules of files that volumes make of data: of keys, of the pod's own fields, and of several sources at once. */
import { validateFieldRef, validateResourceFieldRef, volumeFieldPaths } from '#api/core/v1/pod/validation/env.js';
import { checkFileMode, relativeFile } from '#api/core/v1/pod/validation/file-paths.js';
import type { PodOptions } from '#api/core/v1/pod/validation/options.js';
import type {
  DownwardAPIVolumeFile,
  KeyToPath,
  ProjectedVolumeSource,
  ServiceAccountTokenProjection,
  VolumeProjection,
} from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkRequired } from '#apimachinery/validation/checks.js';
import { forbiddenField, invalidValue, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

const minTokenSeconds = 600;
const maxTokenSeconds = 2 ** 32;

export function validateKeysToPaths(items: KeyToPath[] | undefined, path: FieldPath): FieldFailure[] {
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

/** The path is that of the volume or projection: 1.24 does not say which of the files it means. */
export function validateDownwardFiles(
  files: DownwardAPIVolumeFile[] | undefined,
  options: PodOptions,
  path: FieldPath,
): FieldFailure[] {
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
      const at = path.child('resourceFieldRef');
      failures.push(...validateResourceFieldRef(file.resourceFieldRef, { inVolume: true, options }, at));
    } else failures.push(required(path, 'one of fieldRef and resourceFieldRef is required'));
    return [...failures, ...checkFileMode(path.child('mode'), file.mode)];
  });
}

/** Several sources in one directory, so their file names must not collide. */
export function validateProjected(source: ProjectedVolumeSource, options: PodOptions, path: FieldPath): FieldFailure[] {
  const failures = checkFileMode(path.child('defaultMode'), source.defaultMode);
  const files = new Set<string>();
  const collisions = (items: { path?: string }[] | undefined, name: (file: string) => string): FieldFailure[] =>
    (items ?? []).flatMap(({ path: file = '' }) => {
      if (file === '') return [];
      if (files.has(file)) return [invalidValue(path, name(file), 'conflicting duplicate paths')];
      files.add(file);
      return [];
    });
  source.sources?.forEach((projection, i) => {
    const at = path.child('sources').index(i);
    const { secret, configMap, downwardAPI, serviceAccountToken } = projection;
    for (const [field, map] of [
      ['secret', secret],
      ['configMap', configMap],
    ] as const) {
      if (map === undefined) continue;
      failures.push(...checkRequired(at.child(field, 'name'), map.name));
      failures.push(...validateKeysToPaths(map.items, at.child(field, 'items')));
      failures.push(...collisions(map.items, () => map.name ?? ''));
    }
    failures.push(...validateDownwardFiles(downwardAPI?.items, options, at.child('downwardAPI')));
    failures.push(...collisions(downwardAPI?.items, (file) => file));
    if (serviceAccountToken !== undefined) {
      failures.push(...validateToken(serviceAccountToken, at.child('serviceAccountToken')));
      failures.push(...checkRequired(path.child('path'), serviceAccountToken.path));
    }
    if (countSources(projection) > 1) failures.push(forbiddenField(at, 'may not specify more than 1 volume type'));
  });
  return failures;
}

function countSources({ secret, configMap, downwardAPI, serviceAccountToken }: VolumeProjection): number {
  return [secret, configMap, downwardAPI, serviceAccountToken].filter((source) => source !== undefined).length;
}

function validateToken(token: ServiceAccountTokenProjection, path: FieldPath): FieldFailure[] {
  const seconds = token.expirationSeconds ?? 0;
  const at = path.child('expirationSeconds');
  if (seconds < minTokenSeconds) {
    return [invalidValue(at, seconds, 'may not specify a duration less than 10 minutes')];
  }
  if (seconds <= maxTokenSeconds) return [];
  return [invalidValue(at, seconds, 'may not specify a duration larger than 2^32 seconds')];
}
