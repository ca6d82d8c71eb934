/** What a policy refuses in a pod. Source: 1.24, pkg/security/podsecuritypolicy/provider.go. */
import type { Container, EphemeralContainer, Pod } from '#api/core/v1/types.gen.js';
import type { PodSecurityPolicySpec } from '#api/policy/v1beta1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { addAll, invalidValue } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { capabilityFailures } from '#apiserver/admission/podsecuritypolicy/rules/capabilities.js';
import { groupFailures, userFailures } from '#apiserver/admission/podsecuritypolicy/rules/identities.js';
import { placedContainers } from '#apiserver/admission/podsecuritypolicy/rules/placed-containers.js';
import type { Profiles } from '#apiserver/admission/podsecuritypolicy/rules/profiles.js';
import { selinuxFailures } from '#apiserver/admission/podsecuritypolicy/rules/selinux.js';
import { sysctlFailures } from '#apiserver/admission/podsecuritypolicy/rules/sysctls.js';
import { type VolumeContext, volumeFailures } from '#apiserver/admission/podsecuritypolicy/rules/volumes.js';

const specPath = FieldPath.of('spec');
/** In 1.24's internal form the host's namespaces are part of the security context. */
const contextPath = FieldPath.of('spec', 'securityContext');
const anyRuntimeClass = '*';

/** The failures in 1.24's order and words. */
export function podFailures(
  policy: PodSecurityPolicySpec,
  profiles: Profiles,
  pod: Pod,
  context: VolumeContext,
): FieldFailure[] {
  const { spec } = pod;
  const { securityContext: own = {} } = spec;
  const groups = own.fsGroup === undefined ? undefined : [own.fsGroup];
  const failures = groupFailures(policy.fsGroup, groups, contextPath.child('fsGroup'));
  const add = (more: readonly FieldFailure[]) => addAll(failures, more);
  add(groupFailures(policy.supplementalGroups, own.supplementalGroups, contextPath.child('supplementalGroups')));
  add(profiles.podFailures(pod));
  add(selinuxFailures(policy.seLinux, own.seLinuxOptions, contextPath.child('seLinuxOptions')));
  for (const [name, words] of hostNamespaces) {
    if (policy[name] !== true && spec[name] === true)
      add([invalidValue(contextPath.child(name), true, `Host ${words} is not allowed to be used`)]);
  }
  add(sysctlFailures(policy, own.sysctls));
  add(volumeFailures(policy, pod, context));
  add(runtimeClassFailures(policy, spec.runtimeClassName));
  for (const { container, path } of placedContainers(spec, specPath, context.ephemeralContainers))
    add(containerFailures(policy, profiles, pod, { container, path }));
  return failures;
}

const hostNamespaces = [
  ['hostNetwork', 'network'],
  ['hostPID', 'PID'],
  ['hostIPC', 'IPC'],
] as const;

function runtimeClassFailures({ runtimeClass }: PodSecurityPolicySpec, name: string | undefined): FieldFailure[] {
  if (runtimeClass === undefined || name === undefined) return [];
  const { allowedRuntimeClassNames: allowed = [] } = runtimeClass;
  if (allowed.includes(anyRuntimeClass) || allowed.includes(name)) return [];
  return [invalidValue(specPath.child('runtimeClassName'), name)];
}

interface Place {
  readonly container: Container | EphemeralContainer;
  readonly path: FieldPath;
}

function containerFailures(
  policy: PodSecurityPolicySpec,
  profiles: Profiles,
  pod: Pod,
  { container, path }: Place,
): FieldFailure[] {
  const { securityContext: ofPod = {} } = pod.spec;
  const { securityContext: own = {} } = container;
  const at = path.child('securityContext');
  const user = {
    runAsUser: own.runAsUser ?? ofPod.runAsUser,
    runAsNonRoot: own.runAsNonRoot ?? ofPod.runAsNonRoot,
  };
  const failures = userFailures(policy.runAsUser, user, at);
  const add = (more: readonly FieldFailure[]) => addAll(failures, more);
  const group = own.runAsGroup ?? ofPod.runAsGroup;
  if (policy.runAsGroup !== undefined)
    add(groupFailures(policy.runAsGroup, group === undefined ? undefined : [group], at));
  add(selinuxFailures(policy.seLinux, own.seLinuxOptions ?? ofPod.seLinuxOptions, at.child('seLinuxOptions')));
  add(profiles.appArmorFailures(pod, container));
  add(profiles.seccompFailures(pod, container));
  if (policy.privileged !== true && own.privileged === true)
    add([invalidValue(at.child('privileged'), true, 'Privileged containers are not allowed')]);
  const { allowedProcMountTypes = [] } = policy;
  const mount = own.procMount ?? 'Default';
  if (!(allowedProcMountTypes.length === 0 ? ['Default'] : allowedProcMountTypes).includes(mount))
    add([invalidValue(at.child('procMount'), mount, 'ProcMountType is not allowed')]);
  add(capabilityFailures(policy, own.capabilities, at.child('capabilities')));
  add(hostPortFailures(policy, container, path));
  if (policy.readOnlyRootFilesystem === true && own.readOnlyRootFilesystem !== true) {
    const why =
      own.readOnlyRootFilesystem === undefined ? 'may not be nil and must be set to true' : 'must be set to true';
    const is = own.readOnlyRootFilesystem;
    add([invalidValue(at.child('readOnlyRootFilesystem'), is, `ReadOnlyRootFilesystem ${why}`)]);
  }
  if (policy.allowPrivilegeEscalation === false && own.allowPrivilegeEscalation !== false) {
    const why = 'Allowing privilege escalation for containers is not allowed';
    add([invalidValue(at.child('allowPrivilegeEscalation'), own.allowPrivilegeEscalation, why)]);
  }
  return failures;
}

function hostPortFailures({ hostPorts }: PodSecurityPolicySpec, { ports }: Place['container'], path: FieldPath) {
  const ranges = hostPorts ?? [];
  const allowed = ranges.map(({ min, max }) => (min === max ? `${min}` : `${min}-${max}`)).join(',');
  return (ports ?? []).flatMap(({ hostPort = 0 }) => {
    if (hostPort <= 0 || ranges.some(({ min, max }) => hostPort >= min && hostPort <= max)) return [];
    const why = `Host port ${hostPort} is not allowed to be used. Allowed ports: [${allowed}]`;
    return [invalidValue(path.child('hostPort'), hostPort, why)];
  });
}
