/**
 * The Container Runtime Interface (runtime.v1) as the node agent uses it. Two implementations: `grpc/` for a real
 * runtime behind a unix socket, `simulated/` for one in memory; both pass `testing/cri-contract.ts`.
 *
 * Field names are those of the protocol. Instants are milliseconds since the epoch (the protocol has nanoseconds), 0 if
 * unset. Every call throws `CRIError`. Stop and remove calls are idempotent: they succeed for objects that are already
 * stopped or gone.
 */
import type { Duplex, Readable, Writable } from 'node:stream';

export interface RuntimeVersion {
  runtimeName: string;
  runtimeVersion: string;
  runtimeApiVersion: string;
}

/** `RuntimeReady` and `NetworkReady`; runtimes may have others, such as containerd's warnings about deprecated things. */
export interface RuntimeCondition {
  type: string;
  status: boolean;
  reason: string;
  message: string;
}

export interface PodSandboxMetadata {
  name: string;
  uid: string;
  namespace: string;
  /** 0 for the pod's first sandbox. */
  attempt: number;
}

export type NamespaceMode = 'POD' | 'CONTAINER' | 'NODE' | 'TARGET';

export interface NamespaceOption {
  network: NamespaceMode;
  pid: NamespaceMode;
  ipc: NamespaceMode;
  /** Container whose PID namespace is used with `pid: 'TARGET'`. */
  targetId?: string;
}

export interface SecurityProfile {
  profileType: 'RuntimeDefault' | 'Unconfined' | 'Localhost';
  localhostRef?: string;
}

export interface SELinuxOption {
  user?: string;
  role?: string;
  type?: string;
  level?: string;
}

export interface PortMapping {
  protocol: 'TCP' | 'UDP' | 'SCTP';
  containerPort: number;
  hostPort: number;
  hostIp?: string;
}

export interface DNSConfig {
  servers: string[];
  searches: string[];
  options: string[];
}

export interface LinuxContainerResources {
  /** Microseconds. */
  cpuPeriod?: number;
  /** Microseconds per period; -1: no limit. */
  cpuQuota?: number;
  cpuShares?: number;
  memoryLimitInBytes?: number;
  /** Sum of memory and swap; -1: no limit. */
  memorySwapLimitInBytes?: number;
  oomScoreAdj?: number;
  /** List of CPUs: `0-3,8`. */
  cpusetCpus?: string;
  /** List of NUMA nodes: `0,1`. */
  cpusetMems?: string;
  hugepageLimits?: HugepageLimit[];
  /** Cgroup version 2 files, by name. */
  unified?: Record<string, string>;
}

export interface HugepageLimit {
  /** `2MB`, `1GB`. */
  pageSize: string;
  /** Bytes. */
  limit: number;
}

export interface LinuxSandboxSecurityContext {
  namespaceOptions: NamespaceOption;
  runAsUser?: number;
  runAsGroup?: number;
  readonlyRootfs?: boolean;
  supplementalGroups?: number[];
  privileged?: boolean;
  seccomp?: SecurityProfile;
  selinuxOptions?: SELinuxOption;
}

export interface PodSandboxConfig {
  metadata: PodSandboxMetadata;
  hostname: string;
  logDirectory: string;
  dnsConfig?: DNSConfig;
  portMappings: PortMapping[];
  labels: Record<string, string>;
  annotations: Record<string, string>;
  linux: {
    cgroupParent?: string;
    securityContext: LinuxSandboxSecurityContext;
    sysctls?: Record<string, string>;
    /** Overhead of the sandbox itself. */
    overhead?: LinuxContainerResources;
    /** Total of all containers. */
    resources?: LinuxContainerResources;
  };
}

export type PodSandboxState = 'SANDBOX_READY' | 'SANDBOX_NOTREADY';

export interface PodSandbox {
  id: string;
  metadata: PodSandboxMetadata;
  state: PodSandboxState;
  createdAt: number;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

export interface PodSandboxStatus extends PodSandbox {
  /** The pod's addresses, the primary one first; none with host networking. */
  ips: string[];
  /** `NODE` for pods in the host's network. */
  networkMode: NamespaceMode;
}

export interface PodSandboxFilter {
  id?: string;
  state?: PodSandboxState;
  labelSelector?: Record<string, string>;
}

export interface ContainerMetadata {
  name: string;
  /** Number of earlier starts: 0 for the first. */
  attempt: number;
}

export type MountPropagation = 'PROPAGATION_PRIVATE' | 'PROPAGATION_HOST_TO_CONTAINER' | 'PROPAGATION_BIDIRECTIONAL';

export interface Mount {
  containerPath: string;
  hostPath: string;
  readonly: boolean;
  selinuxRelabel?: boolean;
  propagation: MountPropagation;
}

export interface Device {
  containerPath: string;
  hostPath: string;
  permissions: string;
}

export interface LinuxContainerSecurityContext {
  namespaceOptions: NamespaceOption;
  capabilities?: { addCapabilities: string[]; dropCapabilities: string[] };
  privileged?: boolean;
  runAsUser?: number;
  runAsGroup?: number;
  runAsUsername?: string;
  readonlyRootfs?: boolean;
  supplementalGroups?: number[];
  noNewPrivs?: boolean;
  maskedPaths?: string[];
  readonlyPaths?: string[];
  seccomp?: SecurityProfile;
  /** `runtime/default`, `localhost/<profile>`, `unconfined`; absent: the runtime's default. */
  apparmorProfile?: string;
  selinuxOptions?: SELinuxOption;
}

export interface ContainerConfig {
  metadata: ContainerMetadata;
  /** Reference or ID of an image in the runtime. */
  image: string;
  /** Empty: the image's entrypoint. */
  command: string[];
  args: string[];
  workingDir: string;
  envs: { key: string; value: string }[];
  mounts: Mount[];
  devices: Device[];
  labels: Record<string, string>;
  annotations: Record<string, string>;
  /** Relative to the sandbox's logDirectory. */
  logPath: string;
  stdin: boolean;
  stdinOnce: boolean;
  tty: boolean;
  linux: { resources: LinuxContainerResources; securityContext: LinuxContainerSecurityContext };
}

export type ContainerState = 'CONTAINER_CREATED' | 'CONTAINER_RUNNING' | 'CONTAINER_EXITED' | 'CONTAINER_UNKNOWN';

export interface Container {
  id: string;
  podSandboxId: string;
  metadata: ContainerMetadata;
  /** The value of the config. */
  image: string;
  /** Digest or ID of the image. */
  imageRef: string;
  state: ContainerState;
  createdAt: number;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

export interface ContainerStatus {
  id: string;
  metadata: ContainerMetadata;
  state: ContainerState;
  createdAt: number;
  startedAt: number;
  finishedAt: number;
  exitCode: number;
  image: string;
  imageRef: string;
  /** `Completed`, `Error`, `OOMKilled`, or a runtime-specific one. */
  reason: string;
  message: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  mounts: Mount[];
  logPath: string;
}

export interface ContainerFilter {
  id?: string;
  state?: ContainerState;
  podSandboxId?: string;
  labelSelector?: Record<string, string>;
}

export interface ExecSyncRequest {
  containerId: string;
  cmd: readonly string[];
  /** Throws DeadlineExceeded after this time; 0: no limit. */
  timeoutSeconds: number;
}

export interface ExecSyncResult {
  stdout: Buffer;
  stderr: Buffer;
  exitCode: number;
}

export interface TerminalSize {
  width: number;
  height: number;
}

/** The streams of a session. Absent ones are not opened. There is no stderr with a terminal. */
export interface SessionStreams {
  /** Its end closes the process's standard input. */
  stdin?: Readable;
  stdout?: Writable;
  stderr?: Writable;
  tty: boolean;
  /** Called once with the function that sets the terminal's size. */
  onResizable?: (resize: (size: TerminalSize) => void) => void;
  /** Aborting ends the session. */
  signal?: AbortSignal;
}

export interface ExecRequest {
  containerId: string;
  cmd: readonly string[];
}

export interface ContainerStats {
  id: string;
  name: string;
  attempt: number;
  labels: Record<string, string>;
  timestamp: number;
  usageCoreNanoSeconds: number;
  workingSetBytes: number;
  usageBytes: number;
  rssBytes: number;
  writableLayerUsedBytes: number;
  writableLayerInodesUsed: number;
}

/** A sandbox or container may have changed; list it for its state. */
export interface RuntimeEvent {
  /** ID of the container or sandbox. */
  id: string;
  /** The pod's UID, if known. */
  podUID?: string;
  /** The new state, if known: the event is obsolete once a listing shows it. */
  became?: 'running' | 'stopped';
}

export interface RuntimeEventHandler {
  onEvent(event: RuntimeEvent): void;
  /** False while events may be missed: the subscriber must list by itself until the next true. */
  onConnected(connected: boolean): void;
}

export interface RuntimeService {
  version(): Promise<RuntimeVersion>;
  status(): Promise<RuntimeCondition[]>;
  updateRuntimeConfig(podCIDR: string): Promise<void>;

  /** Creates and starts a sandbox with its network; returns its ID. */
  runPodSandbox(config: PodSandboxConfig, runtimeHandler?: string): Promise<string>;
  /** Kills its containers and releases its network. */
  stopPodSandbox(id: string): Promise<void>;
  removePodSandbox(id: string): Promise<void>;
  podSandboxStatus(id: string): Promise<PodSandboxStatus>;
  listPodSandbox(filter?: PodSandboxFilter): Promise<PodSandbox[]>;

  createContainer(podSandboxId: string, config: ContainerConfig, sandbox: PodSandboxConfig): Promise<string>;
  startContainer(id: string): Promise<void>;
  /** SIGTERM, then SIGKILL after the timeout; 0 kills at once. Resolves once the container has exited. */
  stopContainer(id: string, timeoutSeconds: number): Promise<void>;
  removeContainer(id: string): Promise<void>;
  listContainers(filter?: ContainerFilter): Promise<Container[]>;
  containerStatus(id: string): Promise<ContainerStatus>;
  updateContainerResources(id: string, resources: LinuxContainerResources): Promise<void>;
  /** Must follow each move of the log file. */
  reopenContainerLog(id: string): Promise<void>;

  execSync(request: ExecSyncRequest): Promise<ExecSyncResult>;
  /** Runs a command; resolves with its exit code once it has ended and all output is written. */
  exec(request: ExecRequest, streams: SessionStreams): Promise<number>;
  /** Connects to the streams of the container's main process; resolves when it ends or detaches. */
  attach(containerId: string, streams: SessionStreams): Promise<void>;
  /**
   * A byte stream to a SPDY/3.1 server that forwards to ports inside the sandbox's network, protocol
   * `portforward.k8s.io`: per connection an error and a data stream with headers `port` and `requestID`.
   */
  portForward(podSandboxId: string): Promise<Duplex>;

  listContainerStats(filter?: { podSandboxId?: string }): Promise<ContainerStats[]>;
  /** Reports changes to `handler`; returns the function that stops it. */
  subscribe(handler: RuntimeEventHandler): () => void;
}

export interface Image {
  /** Content ID (`sha256:…`). */
  id: string;
  repoTags: string[];
  repoDigests: string[];
  sizeBytes: number;
  /** The image's user: a UID or a name. */
  uid?: number;
  username: string;
  pinned: boolean;
}

export interface ImageAuth {
  username?: string;
  password?: string;
  auth?: string;
  serverAddress?: string;
  identityToken?: string;
  registryToken?: string;
}

export interface FilesystemUsage {
  timestamp: number;
  mountpoint: string;
  usedBytes: number;
  inodesUsed: number;
}

export interface PullOptions {
  readonly auth?: ImageAuth;
  readonly sandbox?: PodSandboxConfig;
  /** Cancels the pull, which rejects with Cancelled. */
  readonly signal?: AbortSignal;
}

export interface ImageService {
  listImages(): Promise<Image[]>;
  /** Undefined if the runtime does not have it. */
  imageStatus(image: string): Promise<Image | undefined>;
  /** Returns the image's reference (digest or ID). */
  pullImage(image: string, options?: PullOptions): Promise<string>;
  removeImage(image: string): Promise<void>;
  imageFsInfo(): Promise<FilesystemUsage[]>;
  /** The image of sandboxes by the runtime's configuration; undefined if the runtime does not tell. */
  sandboxImage(): Promise<string | undefined>;
}

/** A container runtime. `close` closes the connection; containers continue to run. */
export interface CRI extends RuntimeService, ImageService {
  close(): Promise<void>;
}
