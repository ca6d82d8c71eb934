/** Builds a container's configuration from its pod, its node and the objects it refers to. */
import { configmaps, secrets } from '#api/core/v1/resources.gen.js';
import type { ConfigMap, Pod, Secret, Service } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import { appArmorProfile } from '#nodeagent/admission/app-armor.js';
import type { Allocations } from '#nodeagent/allocation/allocations.js';
import type { ContainerAllocation } from '#nodeagent/allocation/provider.js';
import type { ContainerConfig, Image, LinuxContainerResources, Mount } from '#nodeagent/cri/cri.js';
import type { ClusterDNS } from '#nodeagent/environment/dns.js';
import { ContainerConfigError, containerEnvironment, serviceVariables } from '#nodeagent/environment/environment.js';
import { podHostname } from '#nodeagent/environment/hosts-file.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import type { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';
import { containerDevices, containerMounts } from '#nodeagent/pods/container-files.js';
import { type NodeFacts, podFacts } from '#nodeagent/pods/node-facts.js';
import type { ContainerStart } from '#nodeagent/pods/plan.js';
import { containerConfig } from '#nodeagent/pods/runtime-config.js';
import { type SecuritySettings, verifyNonRoot } from '#nodeagent/pods/security.js';
import { containerResources, type NodeResourceFacts } from '#nodeagent/resources/container-resources.js';
import type { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import { newestContainer, type PodRuntime } from '#nodeagent/runtime/pod-runtime.js';
import type { MountedVolume } from '#nodeagent/volumes/mounted-volume.js';
import type { PodDirectories } from '#nodeagent/volumes/pod-directories.js';

export interface ContainerConfiguratorOptions {
  readonly dialect: Dialect;
  readonly log: Logger;
  readonly events: PodEvents;
  readonly labels: RuntimeLabels;
  readonly objects: Pick<ReferencedObjects, 'get'>;
  readonly services: () => readonly Service[];
  readonly node: () => NodeFacts;
  readonly clusterDNS: ClusterDNS;
  /** Namespace of the API's own service. */
  readonly apiNamespace: string;
  readonly security: SecuritySettings;
  readonly resources: () => NodeResourceFacts;
  readonly allocations: Pick<Allocations, 'configure'>;
  /** Absent on nodes that write no files. */
  readonly directories?: PodDirectories;
}

export interface ContainerToConfigure {
  readonly pod: Pod;
  readonly runtime: PodRuntime;
  readonly start: ContainerStart;
  /** By name; only mounted volumes. */
  readonly volumes: ReadonlyMap<string, MountedVolume>;
}

export class ContainerConfigurator {
  readonly #options: ContainerConfiguratorOptions;

  constructor(options: ContainerConfiguratorOptions) {
    this.#options = options;
  }

  /** Creates the files that the container mounts. Throws ContainerConfigError. */
  async config(target: ContainerToConfigure, image: Image): Promise<ContainerConfig> {
    const { dialect, labels, security, resources } = this.#options;
    const { pod, start } = target;
    const { container, attempt } = start;
    verifyNonRoot(pod, container, image);
    const allocation = await this.#allocation(target);
    const environment = new Map([...(allocation.environment ?? []), ...(await this.#environment(target))]);
    const targetId = ephemeralTarget(target);
    const profile = appArmorProfile(pod, container.name, dialect);
    return containerConfig({
      pod,
      container,
      attempt,
      labels,
      image,
      environment,
      mounts: [...(allocation.mounts ?? []), ...(await this.#mounts(target, environment))],
      resources: { ...containerResources(pod, container, resources()), ...cpusetOf(allocation) },
      devices: [
        ...(allocation.devices ?? []),
        ...(this.#options.directories === undefined ? [] : containerDevices(container, target.volumes)),
      ],
      annotations: allocation.annotations ?? {},
      volumeGroups: [...target.volumes.values()].flatMap(({ group }) => group ?? []),
      security,
      ...(targetId === undefined ? {} : { targetId }),
      ...(profile === undefined ? {} : { appArmorProfile: profile }),
    });
  }

  async #allocation({ pod, start }: ContainerToConfigure): Promise<ContainerAllocation> {
    try {
      return await this.#options.allocations.configure(pod, start.container);
    } catch (error) {
      throw new ContainerConfigError(messageOf(error), { cause: error });
    }
  }

  #environment({ pod, runtime, start }: ContainerToConfigure): Promise<ReadonlyMap<string, string>> {
    const { dialect, events, objects, services, node, apiNamespace } = this.#options;
    const { namespace = '', uid = '' } = pod.metadata;
    const enableServiceLinks = pod.spec.enableServiceLinks !== false;
    return containerEnvironment({
      pod,
      container: start.container,
      facts: podFacts(node(), pod, runtime),
      services: serviceVariables(services(), { namespace, apiNamespace, enableServiceLinks }, dialect),
      configMap: (name) => objects.get<ConfigMap>(configmaps, { namespace, name }, uid),
      secret: (name) => objects.get<Secret>(secrets, { namespace, name }, uid),
      onInvalidKeys: (source, keys) =>
        events.pod(
          pod,
          'Warning',
          'InvalidEnvironmentVariableNames',
          `Keys [${keys.join(', ')}] from the EnvFrom ${source} were skipped since they are considered invalid environment variable names.`,
        ),
    });
  }

  async #mounts(
    { pod, runtime, start, volumes }: ContainerToConfigure,
    environment: ReadonlyMap<string, string>,
  ): Promise<Mount[]> {
    const { dialect, log, node, clusterDNS, directories } = this.#options;
    if (directories === undefined) return [];
    const { hostname, hostDomain } = podHostname(pod, clusterDNS.domain);
    return containerMounts(
      {
        pod,
        container: start.container,
        attempt: start.attempt,
        volumes,
        environment,
        podIPs: podFacts(node(), pod, runtime).podIPs,
        hostname,
        hostDomain,
        productName: dialect.displayName,
        log,
      },
      directories,
    );
  }
}

function cpusetOf({ cpus, memoryNodes }: ContainerAllocation): LinuxContainerResources {
  return {
    ...(cpus === undefined ? {} : { cpusetCpus: cpus }),
    ...(memoryNodes === undefined ? {} : { cpusetMems: memoryNodes }),
  };
}

/** ID of the container whose processes an ephemeral container shares. */
function ephemeralTarget({ pod, start, runtime }: ContainerToConfigure): string | undefined {
  if (start.kind !== 'ephemeral') return undefined;
  const spec = pod.spec.ephemeralContainers?.find((container) => container.name === start.container.name);
  const target = spec?.targetContainerName ?? '';
  return target === '' ? undefined : newestContainer(runtime, target)?.id;
}
