/** Converts security contexts to the runtime's format. A container's own settings override its pod's. */
import type { Container, Pod, SeccompProfile } from '#api/core/v1/types.gen.js';
import type {
  Image,
  LinuxContainerSecurityContext,
  LinuxSandboxSecurityContext,
  NamespaceOption,
  SecurityProfile,
} from '#nodeagent/cri/cri.js';
import { ContainerConfigError } from '#nodeagent/environment/environment.js';

/** Paths hidden from containers, as in release 1.24 (runtime defaults of securitycontext/util.go). */
const maskedPaths = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
];
const readonlyPaths = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

export interface SecuritySettings {
  /** Pods without a seccomp profile get the runtime's default (`--seccomp-default`). */
  readonly seccompDefault: boolean;
  /** Directory of local seccomp profiles. */
  readonly seccompProfileRoot: string;
}

function namespaceOptions(pod: Pod, targetId?: string): NamespaceOption {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace } = pod.spec;
  const pid = hostPID === true ? 'NODE' : shareProcessNamespace === true ? 'POD' : 'CONTAINER';
  const options: NamespaceOption = {
    network: hostNetwork === true ? 'NODE' : 'POD',
    ipc: hostIPC === true ? 'NODE' : 'POD',
    pid: targetId === undefined ? pid : 'TARGET',
  };
  if (targetId !== undefined) options.targetId = targetId;
  return options;
}

function seccomp(profile: SeccompProfile | undefined, settings: SecuritySettings): SecurityProfile {
  switch (profile?.type) {
    case 'RuntimeDefault':
      return { profileType: 'RuntimeDefault' };
    case 'Localhost':
      return {
        profileType: 'Localhost',
        localhostRef: `${settings.seccompProfileRoot}/${profile.localhostProfile ?? ''}`,
      };
    case 'Unconfined':
      return { profileType: 'Unconfined' };
    default:
      return { profileType: settings.seccompDefault ? 'RuntimeDefault' : 'Unconfined' };
  }
}

const isPrivileged = (container: Container): boolean => container.securityContext?.privileged === true;

/** Additional groups of all processes of the pod. */
function supplementalGroups(pod: Pod): number[] {
  const context = pod.spec.securityContext;
  const groups = [...(context?.supplementalGroups ?? [])];
  if (context?.fsGroup !== undefined) groups.push(context.fsGroup);
  return groups.map(Number);
}

export function sandboxSecurity(pod: Pod): LinuxSandboxSecurityContext {
  const context = pod.spec.securityContext;
  const result: LinuxSandboxSecurityContext = {
    namespaceOptions: namespaceOptions(pod),
    privileged: [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].some(isPrivileged),
    // The runtime's default profile suffices for the pause process.
    seccomp: { profileType: 'RuntimeDefault' },
    supplementalGroups: supplementalGroups(pod),
  };
  if (context?.runAsUser !== undefined) result.runAsUser = Number(context.runAsUser);
  if (context?.runAsGroup !== undefined && context.runAsUser !== undefined)
    result.runAsGroup = Number(context.runAsGroup);
  if (context?.seLinuxOptions !== undefined) result.selinuxOptions = context.seLinuxOptions;
  return result;
}

/** Throws ContainerConfigError if the container must not run as root but would. */
export function verifyNonRoot(pod: Pod, container: Container, image: Pick<Image, 'uid' | 'username'>): void {
  const own = container.securityContext;
  const nonRoot = own?.runAsNonRoot ?? pod.spec.securityContext?.runAsNonRoot ?? false;
  if (!nonRoot) return;
  const described = `(pod: "${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})", container: ${container.name})`;
  const user = own?.runAsUser ?? pod.spec.securityContext?.runAsUser;
  if (user !== undefined) {
    if (user === 0) throw new ContainerConfigError(`container's runAsUser breaks non-root policy ${described}`);
    return;
  }
  if (image.uid === undefined && image.username !== '') {
    throw new ContainerConfigError(
      `container has runAsNonRoot and image has non-numeric user (${image.username}), cannot verify user is non-root ${described}`,
    );
  }
  if ((image.uid ?? 0) === 0) {
    throw new ContainerConfigError(`container has runAsNonRoot and image will run as root ${described}`);
  }
}

export interface ContainerSecurityInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly image: Pick<Image, 'uid' | 'username'>;
  readonly settings: SecuritySettings;
  /** Groups that volumes grant to containers. */
  readonly volumeGroups: readonly number[];
  /** Container whose processes an ephemeral container shares. */
  readonly targetId?: string;
  readonly appArmorProfile?: string;
}

export function containerSecurity(input: ContainerSecurityInput): LinuxContainerSecurityContext {
  const { pod, container, image, settings, targetId, appArmorProfile } = input;
  const own = container.securityContext ?? {};
  const ofPod = pod.spec.securityContext ?? {};
  const privileged = own.privileged === true;
  const unmasked = privileged || own.procMount === 'Unmasked';
  const result: LinuxContainerSecurityContext = {
    namespaceOptions: namespaceOptions(pod, targetId),
    privileged,
    readonlyRootfs: own.readOnlyRootFilesystem === true,
    supplementalGroups: [...supplementalGroups(pod), ...input.volumeGroups],
    noNewPrivs: own.allowPrivilegeEscalation === false && !privileged,
    seccomp: privileged ? { profileType: 'Unconfined' } : seccomp(own.seccompProfile ?? ofPod.seccompProfile, settings),
    maskedPaths: unmasked ? [] : maskedPaths,
    readonlyPaths: unmasked ? [] : readonlyPaths,
    capabilities: {
      addCapabilities: [...(own.capabilities?.add ?? [])],
      dropCapabilities: [...(own.capabilities?.drop ?? [])],
    },
  };
  const user = own.runAsUser ?? ofPod.runAsUser;
  if (user !== undefined) result.runAsUser = Number(user);
  else if (image.uid !== undefined) result.runAsUser = image.uid;
  else if (image.username !== '') result.runAsUsername = image.username;
  const group = own.runAsGroup ?? ofPod.runAsGroup;
  if (group !== undefined && (result.runAsUser !== undefined || result.runAsUsername !== undefined)) {
    result.runAsGroup = Number(group);
  } else if (group !== undefined) {
    result.runAsUser = 0;
    result.runAsGroup = Number(group);
  }
  if (appArmorProfile !== undefined) result.apparmorProfile = appArmorProfile;
  const selinux = own.seLinuxOptions ?? ofPod.seLinuxOptions;
  if (selinux !== undefined) result.selinuxOptions = selinux;
  return result;
}
