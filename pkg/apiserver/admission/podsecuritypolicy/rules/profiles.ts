/**
 * Which profiles of AppArmor and seccomp a policy allows, by its annotations. Source: 1.24,
 * pkg/security/podsecuritypolicy/{apparmor,seccomp}/strategy.go.
 */
import { appArmorPrefix, seccompContainerPrefix, seccompPodAnnotation } from '#api/core/v1/pod/parts/annotations.js';
import { oldDefaultProfile, profileAnnotation, runtimeDefaultProfile } from '#api/core/v1/pod/parts/seccomp.js';
import type { Pod, SeccompProfile } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { forbiddenField } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { profileAnnotations } from '#apiserver/admission/podsecuritypolicy/rules/names.js';

type Annotations = Readonly<Record<string, string>>;

/** A container of any kind, as far as profiles concern it. */
interface Profiled {
  readonly name: string;
  readonly securityContext?: { readonly seccompProfile?: SeccompProfile };
}

const anyProfile = '*';
const annotationsPath = FieldPath.of('pod', 'metadata', 'annotations');

/** The profiles of a policy. */
export class Profiles {
  readonly #dialect: Dialect;
  readonly #annotations: Annotations;
  readonly #appArmor: ReadonlySet<string> | undefined;
  readonly #seccomp: ReadonlySet<string>;
  readonly #anySeccomp: boolean;

  constructor(annotations: Annotations, dialect: Dialect) {
    const { appArmor, seccomp } = profileAnnotations(dialect);
    this.#dialect = dialect;
    this.#annotations = annotations;
    const allowed = annotations[appArmor.allowed];
    this.#appArmor = allowed === undefined ? undefined : new Set(allowed.split(','));
    const profiles = annotations[seccomp.allowed]?.split(',') ?? [];
    this.#anySeccomp = profiles.includes(anyProfile);
    // Both names are those of the runtime's default profile.
    const defaults = [runtimeDefaultProfile, oldDefaultProfile];
    const isDefault = profiles.some((profile) => defaults.includes(profile));
    this.#seccomp = new Set([...profiles.filter((one) => one !== anyProfile), ...(isDefault ? defaults : [])]);
  }

  /** Sets the policy's default profiles where a pod has none, in place. */
  fill(pod: Draft<Pod>): void {
    const key = seccompPodAnnotation(this.#dialect);
    const own = pod.metadata.annotations?.[key] ?? '';
    const field = pod.spec.securityContext?.seccompProfile;
    const byDefault = this.#annotations[profileAnnotations(this.#dialect).seccomp.byDefault] ?? '';
    const profile = own !== '' ? own : field === undefined ? byDefault : (profileAnnotation(field) ?? '');
    if (profile !== '' && profile !== own) annotate(pod, key, profile);
  }

  /** Sets the policy's default profile of AppArmor where a container has none, in place. */
  fillContainer(pod: Draft<Pod>, { name }: Profiled): void {
    const byDefault = this.#annotations[profileAnnotations(this.#dialect).appArmor.byDefault] ?? '';
    const key = appArmorPrefix(this.#dialect) + name;
    if (byDefault !== '' && (pod.metadata.annotations?.[key] ?? '') === '') annotate(pod, key, byDefault);
  }

  podFailures({ metadata: { annotations }, spec }: Pod): FieldFailure[] {
    const key = seccompPodAnnotation(this.#dialect);
    const field = spec.securityContext?.seccompProfile;
    const own = annotations?.[key] ?? '';
    const profile = own === '' && field !== undefined ? (profileAnnotation(field) ?? '') : own;
    return this.#seccompFailures(profile, key);
  }

  appArmorFailures({ metadata: { annotations } }: Pod, { name }: Profiled): FieldFailure[] {
    const allowed = this.#appArmor;
    if (allowed === undefined) return [];
    const key = appArmorPrefix(this.#dialect) + name;
    const profile = annotations?.[key] ?? '';
    if (profile === '') return [forbiddenField(annotationsPath.key(key), 'AppArmor profile must be set')];
    if (allowed.has(profile)) return [];
    const text = quoted(this.#annotations[profileAnnotations(this.#dialect).appArmor.allowed] ?? '');
    const why = `${profile} is not an allowed profile. Allowed values: ${text}`;
    return [forbiddenField(annotationsPath.key(key), why)];
  }

  seccompFailures({ metadata: { annotations = {} }, spec }: Pod, container: Profiled): FieldFailure[] {
    const key = seccompContainerPrefix(this.#dialect) + container.name;
    const field = container.securityContext?.seccompProfile;
    const podField = spec.securityContext?.seccompProfile;
    const profile =
      field !== undefined
        ? (profileAnnotation(field) ?? '')
        : (annotations[key] ??
          (podField === undefined
            ? (annotations[seccompPodAnnotation(this.#dialect)] ?? '')
            : (profileAnnotation(podField) ?? '')));
    return this.#seccompFailures(profile, key);
  }

  #seccompFailures(profile: string, key: string): FieldFailure[] {
    if (this.#anySeccomp) return [];
    const at = annotationsPath.key(key);
    if (this.#seccomp.size === 0) return profile === '' ? [] : [forbiddenField(at, 'seccomp may not be set')];
    if (this.#seccomp.has(profile)) return [];
    const allowed = this.#annotations[profileAnnotations(this.#dialect).seccomp.allowed] ?? '';
    return [forbiddenField(at, `${profile} is not an allowed seccomp profile. Valid values are ${allowed}`)];
  }
}

function annotate({ metadata }: Draft<Pod>, key: string, value: string): void {
  metadata.annotations = { ...metadata.annotations, [key]: value };
}
