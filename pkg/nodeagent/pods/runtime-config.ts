/** Builds the sandbox and container configurations of a pod in the runtime's format. Pure. */
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { dottedSysctl } from '#nodeagent/admission/sysctls.js';
import type {
  ContainerConfig,
  Device,
  DNSConfig,
  Image,
  LinuxContainerResources,
  Mount,
  PodSandboxConfig,
  PortMapping,
} from '#nodeagent/cri/cri.js';
import { expand } from '#nodeagent/environment/environment.js';
import { containerSecurity, type SecuritySettings, sandboxSecurity } from '#nodeagent/pods/security.js';
import { type CPUQuota, sandboxResources } from '#nodeagent/resources/container-resources.js';
import { containerHash, type RuntimeLabels } from '#nodeagent/runtime/labels.js';

export interface SandboxConfigInput {
  readonly pod: Pod;
  readonly attempt: number;
  readonly labels: RuntimeLabels;
  readonly hostname: string;
  readonly logDirectory: string;
  readonly dns: DNSConfig;
  /** Absent: the runtime's default parent. */
  readonly cgroupParent?: string;
  readonly quota: CPUQuota;
}

function portMappings(pod: Pod): PortMapping[] {
  // On the host's network, container ports are already host ports.
  if (pod.spec.hostNetwork === true) return [];
  return pod.spec.containers.flatMap((container) =>
    (container.ports ?? []).map(
      (port): PortMapping => ({
        protocol: (port.protocol ?? 'TCP') as PortMapping['protocol'],
        containerPort: port.containerPort,
        hostPort: port.hostPort ?? 0,
        ...(port.hostIP === undefined ? {} : { hostIp: port.hostIP }),
      }),
    ),
  );
}

export function sandboxConfig(input: SandboxConfigInput): PodSandboxConfig {
  const { pod, labels } = input;
  const { name = '', namespace = '', uid = '' } = pod.metadata;
  const sysctls = pod.spec.securityContext?.sysctls ?? [];
  return {
    metadata: { name, namespace, uid, attempt: input.attempt },
    // Empty means the host's name.
    hostname: pod.spec.hostNetwork === true ? '' : input.hostname,
    logDirectory: input.logDirectory,
    dnsConfig: input.dns,
    portMappings: portMappings(pod),
    labels: { ...pod.metadata.labels, ...labels.pod(pod) },
    annotations: { ...pod.metadata.annotations },
    linux: {
      ...(input.cgroupParent === undefined ? {} : { cgroupParent: input.cgroupParent }),
      securityContext: sandboxSecurity(pod),
      ...(sysctls.length === 0
        ? {}
        : { sysctls: Object.fromEntries(sysctls.map((s) => [dottedSysctl(s.name), s.value])) }),
      ...sandboxResources(pod, input.quota),
    },
  };
}

export interface ContainerConfigInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly attempt: number;
  readonly labels: RuntimeLabels;
  readonly image: Image;
  readonly environment: ReadonlyMap<string, string>;
  readonly mounts: readonly Mount[];
  readonly devices: readonly Device[];
  /** Further ones, which the agent's own override. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Groups that volumes grant to containers. */
  readonly volumeGroups: readonly number[];
  readonly resources: LinuxContainerResources;
  readonly security: SecuritySettings;
  readonly targetId?: string;
  readonly appArmorProfile?: string;
}

/** Path of a container's log below its pod's log directory. */
export function logPath(container: string, attempt: number): string {
  return `${container}/${attempt}.log`;
}

/** Name of a pod's log directory, `<namespace>_<name>_<uid>`, from which log collectors derive the pod. */
export function logDirectoryName(pod: { namespace: string; name: string; uid: string }): string {
  return `${pod.namespace}_${pod.name}_${pod.uid}`;
}

export function containerConfig(input: ContainerConfigInput): ContainerConfig {
  const { pod, container, attempt, labels, image, environment } = input;
  const expanded = (texts: readonly string[] | undefined) => (texts ?? []).map((text) => expand(text, environment));
  const grace = pod.metadata.deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds;
  return {
    metadata: { name: container.name, attempt },
    image: image.id,
    command: expanded(container.command),
    args: expanded(container.args),
    workingDir: container.workingDir ?? '',
    envs: [...environment].map(([key, value]) => ({ key, value })),
    mounts: [...input.mounts],
    devices: [...input.devices],
    labels: { ...labels.pod(pod), [labels.containerName]: container.name },
    annotations: {
      ...input.annotations,
      [labels.hash]: containerHash(container),
      [labels.restartCount]: String(attempt),
      [labels.terminationMessagePath]: container.terminationMessagePath ?? '',
      [labels.terminationMessagePolicy]: container.terminationMessagePolicy ?? '',
      ...(grace === undefined ? {} : { [labels.podTerminationGracePeriod]: String(grace) }),
    },
    logPath: logPath(container.name, attempt),
    stdin: container.stdin === true,
    stdinOnce: container.stdinOnce === true,
    tty: container.tty === true,
    linux: {
      resources: input.resources,
      securityContext: containerSecurity({
        pod,
        container,
        image,
        settings: input.security,
        volumeGroups: input.volumeGroups,
        ...(input.targetId === undefined ? {} : { targetId: input.targetId }),
        ...(input.appArmorProfile === undefined ? {} : { appArmorProfile: input.appArmorProfile }),
      }),
    },
  };
}
