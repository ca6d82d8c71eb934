/** Rules of pod annotations with meaning to the system. */
import {
  appArmorPrefix,
  mentionsSeccomp,
  seccompContainerPrefix,
  seccompPodAnnotation,
  tolerationsAnnotation,
} from '#api/core/v1/pod/parts/annotations.js';
import { containerLists, someContainer } from '#api/core/v1/pod/parts/containers.js';
import {
  localhostPrefix,
  oldDefaultProfile,
  runtimeDefaultProfile,
  unconfinedProfile,
} from '#api/core/v1/pod/parts/seccomp.js';
import { isDeletionCost, type PodLike, type PodOptions } from '#api/core/v1/pod/validation/options.js';
import { validateTolerations } from '#api/core/v1/pod/validation/scheduling.js';
import type { Container, PodSpec, SeccompProfile, Toleration } from '#api/core/v1/types.gen.js';
import { relativeDescending } from '#api/core/v1/volume/file-paths.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { addAll, forbiddenField, invalidValue, none } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

type Annotations = Readonly<Record<string, string>>;

export interface AnnotationRules {
  readonly dialect: Dialect;
  readonly options: PodOptions;
}

/** Annotations of a pod or template; `path` is theirs. */
export function validatePodAnnotations(pod: PodLike, rules: AnnotationRules, path: FieldPath): readonly FieldFailure[] {
  const annotations = pod.metadata?.annotations;
  if (annotations === undefined) return none;
  const { dialect, options } = rules;
  const failures: FieldFailure[] = [];
  const mirror = annotations[dialect.annotations.configMirror];
  if (mirror !== undefined && (pod.spec?.nodeName ?? '') === '') {
    const text = 'must set spec.nodeName if mirror pod annotation is set';
    failures.push(invalidValue(path.key(dialect.annotations.configMirror), mirror, text));
  }
  addAll(failures, validateTolerationsText(annotations, dialect, path));
  const cost = annotations[dialect.annotations.podDeletionCost];
  if (cost !== undefined && !options.anyDeletionCost && !isDeletionCost(cost)) {
    failures.push(invalidValue(path.key(dialect.annotations.podDeletionCost), cost, 'must be a 32bit integer'));
  }
  if (mentionsSeccomp(annotations, dialect)) addAll(failures, validateSeccompTexts(annotations, dialect, path));
  const prefix = appArmorPrefix(dialect);
  for (const key in annotations) {
    if (!key.startsWith(prefix)) continue;
    addAll(failures, validateAppArmor(annotations[key] ?? '', key.slice(prefix.length), pod.spec, path.key(key)));
  }
  return failures;
}

function validateTolerationsText(annotations: Annotations, dialect: Dialect, path: FieldPath): readonly FieldFailure[] {
  const key = tolerationsAnnotation(dialect);
  const text = annotations[key] ?? '';
  if (text === '') return none;
  const tolerations = parseList<Toleration>(text);
  if (tolerations === undefined) return [invalidValue(path, key, 'must be a list in JSON')];
  return validateTolerations(tolerations, path.child(key));
}

/** A JSON list of objects; undefined for other text. */
export function parseList<T extends object>(text: string): T[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
  if (!Array.isArray(value)) return undefined;
  return value.every((element) => typeof element === 'object' && element !== null) ? (value as T[]) : undefined;
}

function validateSeccompTexts(annotations: Annotations, dialect: Dialect, path: FieldPath): readonly FieldFailure[] {
  const prefix = seccompContainerPrefix(dialect);
  const ofPod = seccompPodAnnotation(dialect);
  return Object.entries(annotations).flatMap(([key, profile]) => {
    if (key !== ofPod && !key.startsWith(prefix)) return none;
    return validateSeccompProfile(profile, path.child(key));
  });
}

const knownSeccompProfiles: readonly string[] = [runtimeDefaultProfile, oldDefaultProfile, unconfinedProfile];

/** A profile in an annotation. */
export function validateSeccompProfile(profile: string, path: FieldPath): readonly FieldFailure[] {
  if (knownSeccompProfiles.includes(profile)) return none;
  if (profile.startsWith(localhostPrefix)) return relativeDescending(path, profile.slice(localhostPrefix.length));
  return [invalidValue(path, profile, 'must be a valid seccomp profile')];
}

/** The annotation at `path`, whose key ends with the container's name. */
function validateAppArmor(
  profile: string,
  name: string,
  spec: PodSpec | undefined,
  path: FieldPath,
): readonly FieldFailure[] {
  const failures: FieldFailure[] = [];
  if (spec === undefined || !someContainer(spec, (container) => container.name === name)) {
    failures.push(invalidValue(path, name, 'container not found'));
  }
  return [...failures, ...validateAppArmorProfile(profile, profile, path)];
}

/** A profile in an annotation; `value` is the whole annotation. */
export function validateAppArmorProfile(profile: string, value: string, path: FieldPath): readonly FieldFailure[] {
  if (['', 'runtime/default', 'unconfined'].includes(profile) || profile.startsWith('localhost/')) return none;
  return [invalidValue(path, value, `invalid AppArmor profile name: ${JSON.stringify(profile)}`)];
}

/** Annotations that the node agent uses after the pod started must not change. */
export function validateAnnotationsUpdate(
  annotations: Annotations = {},
  old: Annotations = {},
  dialect: Dialect,
  path: FieldPath,
): readonly FieldFailure[] {
  if (annotations === old) return none;
  const prefix = appArmorPrefix(dialect);
  const { configMirror } = dialect.annotations;
  const fixed = (key: string): string | undefined => {
    if (key.startsWith(prefix)) return 'AppArmor annotations';
    return key === configMirror ? 'mirror pod annotation' : undefined;
  };
  const failures: FieldFailure[] = [];
  for (const key in old) {
    const what = fixed(key);
    if (what === undefined || annotations[key] === old[key]) continue;
    failures.push(forbiddenField(path.key(key), `may not remove or update ${what}`));
  }
  for (const key in annotations) {
    const what = fixed(key);
    if (what === undefined || Object.hasOwn(old, key)) continue;
    failures.push(forbiddenField(path.key(key), `may not add ${what}`));
  }
  return failures;
}

/** A profile that is both an annotation and a field must be the same in both. */
export function validateSeccompAgreement(pod: PodLike, dialect: Dialect, specPath: FieldPath): readonly FieldFailure[] {
  const annotations = pod.metadata?.annotations;
  if (annotations === undefined || pod.spec === undefined) return none;
  if (!mentionsSeccomp(annotations, dialect)) return none;
  const at = specPath.child('securityContext', 'seccompProfile');
  const failures = [...agree(annotations[seccompPodAnnotation(dialect)], pod.spec.securityContext?.seccompProfile, at)];
  for (const list of containerLists) {
    pod.spec[list]?.forEach(({ name, securityContext }: Pick<Container, 'name' | 'securityContext'>, i) => {
      const text = annotations[seccompContainerPrefix(dialect) + name];
      const here = specPath.child(list).index(i).child('securityContext', 'seccompProfile');
      addAll(failures, agree(text, securityContext?.seccompProfile, here));
    });
  }
  return failures;
}

function agree(
  text: string | undefined,
  profile: SeccompProfile | undefined,
  path: FieldPath,
): readonly FieldFailure[] {
  if (text === undefined || profile === undefined) return none;
  const differ = [forbiddenField(path.child('type'), 'seccomp type in annotation and field must match')];
  switch (profile.type) {
    case 'Unconfined':
      return text === unconfinedProfile ? none : differ;
    case 'RuntimeDefault':
      return text === runtimeDefaultProfile || text === oldDefaultProfile ? none : differ;
    case 'Localhost':
      if (!text.startsWith(localhostPrefix)) return differ;
      if (text === localhostPrefix + (profile.localhostProfile ?? '') && profile.localhostProfile !== undefined)
        return none;
      return [forbiddenField(path.child('localhostProfile'), 'seccomp profile in annotation and field must match')];
    default:
      return none;
  }
}
