/** Sets what a policy requires and a pod leaves open. Source: 1.24, pkg/security/podsecuritypolicy/provider.go. */
import { containerLists } from '#api/core/v1/pod/parts/containers.js';
import type { Pod, SecurityContext } from '#api/core/v1/types.gen.js';
import type { PodSecurityPolicySpec } from '#api/policy/v1beta1/types.gen.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft } from '#apimachinery/draft.js';
import { withCapabilities } from '#apiserver/admission/podsecuritypolicy/rules/capabilities.js';
import { defaultId } from '#apiserver/admission/podsecuritypolicy/rules/identities.js';
import type { Profiles } from '#apiserver/admission/podsecuritypolicy/rules/profiles.js';
import { requiredContext } from '#apiserver/admission/podsecuritypolicy/rules/selinux.js';

/** In place. */
export function applyDefaults(policy: PodSecurityPolicySpec, profiles: Profiles, pod: Draft<Pod>): void {
  const { spec } = pod;
  const context = { ...spec.securityContext };
  const group = defaultId(policy.supplementalGroups);
  if (context.supplementalGroups === undefined && group !== undefined) context.supplementalGroups = [group];
  const fsGroup = defaultId(policy.fsGroup);
  if (context.fsGroup === undefined && fsGroup !== undefined) context.fsGroup = fsGroup;
  const selinux = requiredContext(policy.seLinux);
  if (context.seLinuxOptions === undefined && selinux !== undefined) context.seLinuxOptions = copyJson(selinux);
  profiles.fill(pod);
  if (spec.securityContext !== undefined || Object.keys(context).length > 0) spec.securityContext = context;
  const runtimeClass = policy.runtimeClass?.defaultRuntimeClassName;
  if (spec.runtimeClassName === undefined && runtimeClass !== undefined) spec.runtimeClassName = runtimeClass;
  for (const list of containerLists) {
    for (const container of spec[list] ?? []) {
      profiles.fillContainer(pod, container);
      const own = containerContext(policy, pod, container.securityContext);
      if (own !== undefined) container.securityContext = own;
    }
  }
}

/** The security context of a container with the policy's defaults; undefined if it remains without one. */
function containerContext(
  policy: PodSecurityPolicySpec,
  { spec: { securityContext: ofPod = {} } }: Draft<Pod>,
  given: Draft<SecurityContext> | undefined,
): Draft<SecurityContext> | undefined {
  const own = { ...given };
  const user = defaultId(policy.runAsUser);
  if (own.runAsUser === undefined && ofPod.runAsUser === undefined && user !== undefined) own.runAsUser = user;
  const group = policy.runAsGroup && defaultId(policy.runAsGroup);
  if (own.runAsGroup === undefined && ofPod.runAsGroup === undefined && group !== undefined) own.runAsGroup = group;
  // A policy's context is the pod's by now.
  const isUserOpen = own.runAsUser === undefined && ofPod.runAsUser === undefined;
  const isNonRootOpen = own.runAsNonRoot === undefined && ofPod.runAsNonRoot === undefined;
  // The node agent checks the user of the image.
  if (isNonRootOpen && isUserOpen && policy.runAsUser.rule === 'MustRunAsNonRoot') own.runAsNonRoot = true;
  const capabilities = withCapabilities(policy, own.capabilities);
  if (capabilities !== undefined) own.capabilities = copyJson(capabilities);
  if (policy.readOnlyRootFilesystem === true) own.readOnlyRootFilesystem ??= true;
  const escalation =
    policy.defaultAllowPrivilegeEscalation ?? (policy.allowPrivilegeEscalation === false ? false : undefined);
  if (own.allowPrivilegeEscalation === undefined && escalation !== undefined) own.allowPrivilegeEscalation = escalation;
  return given === undefined && Object.keys(own).length === 0 ? undefined : own;
}
