/** Counts, times and traces the operations of a container runtime, with release 1.24's names. */
import type { Duplex } from 'node:stream';
import type { Clock } from '#apimachinery/clock.js';
import type { CallSpan, Tracer } from '#daemon/tracing/tracer.js';
import type {
  Container,
  ContainerConfig,
  ContainerFilter,
  ContainerStats,
  ContainerStatus,
  CRI,
  ExecRequest,
  ExecSyncRequest,
  ExecSyncResult,
  FilesystemUsage,
  Image,
  LinuxContainerResources,
  PodSandbox,
  PodSandboxConfig,
  PodSandboxFilter,
  PodSandboxStatus,
  PullOptions,
  RuntimeCondition,
  RuntimeEventHandler,
  RuntimeVersion,
  SessionStreams,
} from '#nodeagent/cri/cri.js';
import type { AgentMetrics } from '#nodeagent/metrics/agent-metrics.js';

interface Meters {
  readonly metrics: AgentMetrics;
  readonly clock: Clock;
  /** Absent: no tracing. */
  readonly tracer?: Pick<Tracer, 'call'> | undefined;
}

export class MeasuredCRI implements CRI {
  readonly #cri: CRI;
  readonly #metrics: AgentMetrics;
  readonly #clock: Clock;
  readonly #tracer: Meters['tracer'];

  constructor(cri: CRI, { metrics, clock, tracer }: Meters) {
    this.#cri = cri;
    this.#metrics = metrics;
    this.#clock = clock;
    this.#tracer = tracer;
  }

  version(): Promise<RuntimeVersion> {
    return this.#timed('version', () => this.#cri.version());
  }

  status(): Promise<RuntimeCondition[]> {
    return this.#timed('status', () => this.#cri.status());
  }

  updateRuntimeConfig(podCIDR: string): Promise<void> {
    return this.#timed('update_runtime_config', () => this.#cri.updateRuntimeConfig(podCIDR));
  }

  async runPodSandbox(config: PodSandboxConfig, runtimeHandler = ''): Promise<string> {
    const startedMs = this.#clock.monotonic();
    try {
      return await this.#timed('run_podsandbox', () => this.#cri.runPodSandbox(config, runtimeHandler));
    } catch (error) {
      this.#metrics.sandboxErrors.labels(runtimeHandler).inc();
      throw error;
    } finally {
      this.#metrics.sandboxSeconds.labels(runtimeHandler).observe((this.#clock.monotonic() - startedMs) / 1000);
    }
  }

  stopPodSandbox(id: string): Promise<void> {
    return this.#timed('stop_podsandbox', () => this.#cri.stopPodSandbox(id));
  }

  removePodSandbox(id: string): Promise<void> {
    return this.#timed('remove_podsandbox', () => this.#cri.removePodSandbox(id));
  }

  podSandboxStatus(id: string): Promise<PodSandboxStatus> {
    return this.#timed('podsandbox_status', () => this.#cri.podSandboxStatus(id));
  }

  listPodSandbox(filter?: PodSandboxFilter): Promise<PodSandbox[]> {
    return this.#timed('list_podsandbox', () => this.#cri.listPodSandbox(filter));
  }

  createContainer(podSandboxId: string, config: ContainerConfig, sandbox: PodSandboxConfig): Promise<string> {
    return this.#timed('create_container', () => this.#cri.createContainer(podSandboxId, config, sandbox));
  }

  startContainer(id: string): Promise<void> {
    return this.#timed('start_container', () => this.#cri.startContainer(id));
  }

  stopContainer(id: string, timeoutSeconds: number): Promise<void> {
    return this.#timed('stop_container', () => this.#cri.stopContainer(id, timeoutSeconds));
  }

  removeContainer(id: string): Promise<void> {
    return this.#timed('remove_container', () => this.#cri.removeContainer(id));
  }

  listContainers(filter?: ContainerFilter): Promise<Container[]> {
    return this.#timed('list_containers', () => this.#cri.listContainers(filter));
  }

  containerStatus(id: string): Promise<ContainerStatus> {
    return this.#timed('container_status', () => this.#cri.containerStatus(id));
  }

  updateContainerResources(id: string, resources: LinuxContainerResources): Promise<void> {
    return this.#timed('update_container', () => this.#cri.updateContainerResources(id, resources));
  }

  /** Not measured in release 1.24 either. */
  reopenContainerLog(id: string): Promise<void> {
    return this.#cri.reopenContainerLog(id);
  }

  execSync(request: ExecSyncRequest): Promise<ExecSyncResult> {
    return this.#timed('exec_sync', () => this.#cri.execSync(request));
  }

  exec(request: ExecRequest, streams: SessionStreams): Promise<number> {
    return this.#counted('exec', () => this.#cri.exec(request, streams));
  }

  attach(containerId: string, streams: SessionStreams): Promise<void> {
    return this.#counted('attach', () => this.#cri.attach(containerId, streams));
  }

  portForward(podSandboxId: string): Promise<Duplex> {
    return this.#timed('port_forward', () => this.#cri.portForward(podSandboxId));
  }

  listContainerStats(filter?: { podSandboxId?: string }): Promise<ContainerStats[]> {
    return this.#timed('list_container_stats', () => this.#cri.listContainerStats(filter));
  }

  subscribe(handler: RuntimeEventHandler): () => void {
    return this.#cri.subscribe(handler);
  }

  listImages(): Promise<Image[]> {
    return this.#timed('list_images', () => this.#cri.listImages());
  }

  imageStatus(image: string): Promise<Image | undefined> {
    return this.#timed('image_status', () => this.#cri.imageStatus(image));
  }

  pullImage(image: string, options?: PullOptions): Promise<string> {
    return this.#timed('pull_image', () => this.#cri.pullImage(image, options));
  }

  removeImage(image: string): Promise<void> {
    return this.#timed('remove_image', () => this.#cri.removeImage(image));
  }

  imageFsInfo(): Promise<FilesystemUsage[]> {
    return this.#timed('image_fs_info', () => this.#cri.imageFsInfo());
  }

  sandboxImage(): Promise<string | undefined> {
    return this.#timed('status', () => this.#cri.sandboxImage());
  }

  close(): Promise<void> {
    return this.#cri.close();
  }

  async #timed<T>(operation: string, call: () => Promise<T>): Promise<T> {
    const startedMs = this.#clock.monotonic();
    try {
      return await this.#counted(operation, call);
    } finally {
      const seconds = (this.#clock.monotonic() - startedMs) / 1000;
      this.#metrics.operationSeconds.labels(operation).observe(seconds);
    }
  }

  /** For sessions, whose duration depends on the client. */
  async #counted<T>(operation: string, call: () => Promise<T>): Promise<T> {
    this.#metrics.operations.labels(operation).inc();
    try {
      return await (this.#tracer === undefined ? call() : this.#tracer.call(spanOf(operation), call));
    } catch (error) {
      this.#metrics.operationErrors.labels(operation).inc();
      throw error;
    }
  }
}

/** Names that differ in the protocol. */
const protocolNames: Readonly<Record<string, string>> = {
  podsandbox: 'PodSandbox',
  update_container: 'UpdateContainerResources',
};

/** The call's name in the protocol, with the attributes of OpenTelemetry's gRPC conventions. */
function spanOf(operation: string): CallSpan {
  const words = (protocolNames[operation] ?? operation)
    .split('_')
    .map((word) => protocolNames[word] ?? word.charAt(0).toUpperCase() + word.slice(1));
  const method = words.join('');
  const service = `runtime.v1.${method.includes('Image') ? 'Image' : 'Runtime'}Service`;
  return {
    name: `${service}/${method}`,
    attributes: { 'rpc.system': 'grpc', 'rpc.service': service, 'rpc.method': method },
  };
}
