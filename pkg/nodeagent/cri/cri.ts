/**
 * The Container Runtime Interface (runtime.v1) as the node agent uses it. Two implementations: `grpc/` for a real
 * runtime behind a unix socket, `simulated/` for one in memory; both pass `contract.ts`.
 *
 * Field names are those of the protocol. Instants are milliseconds since the epoch (the protocol has nanoseconds), 0
 * where the runtime has none. Every call throws `CRIError`. Stop and remove calls are idempotent: they succeed for
 * what is stopped or gone already.
 */
import type { Duplex, Readable, Writable } from 'node:stream';

export interface RuntimeVersion {
  runtimeName: string;
  runtimeVersion: string;
  runtimeApiVersion: string;
}

/** `RuntimeReady` and `NetworkReady`. */
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
  /** Container whose pid namespace is used, with `pid: 'TARGET'`. */
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
  /** Microseconds per period; -1 without limit. */
  cpuQuota?: number;
  cpuShares?: number;
  memoryLimitInBytes?: number;
  /** Of memory and swap together; -1 without limit. */
  memorySwapLimitInBytes?: number;
  oomScoreAdj?: number;
  cpusetCpus?: string;
  hugepageLimits?: HugepageLimit[];
  /** Files of cgroups of version 2, by name. */
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
    /** Of the sandbox itself, besides its containers. */
    overhead?: LinuxContainerResources;
    /** Of all its containers together. */
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
  /** Counts the restarts: 0 for the first. */
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
  /** `runtime/default`, `localhost/<profile>`, `unconfined`; absent: the runtime's own. */
  apparmorProfile?: string;
  selinuxOptions?: SELinuxOption;
}

export interface ContainerConfig {
  metadata: ContainerMetadata;
  /** Reference or id of an image that the runtime holds. */
  image: string;
  /** The image's entrypoint when empty. */
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
  /** As in the config. */
  image: string;
  /** Digest or id of the image. */
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
  /** `Completed`, `Error`, `OOMKilled`, or the runtime's own. */
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
  /** Throws DeadlineExceeded after this time; 0 waits without end. */
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

/** Where a session's bytes come from and go to. Absent streams are not opened. With a terminal there is no stderr. */
export interface SessionStreams {
  /** Its end is passed on as the end of the process's standard input. */
  stdin?: Readable;
  stdout?: Writable;
  stderr?: Writable;
  tty: boolean;
  /** Called once with the function that tells the runtime a terminal's new size. */
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

/** A hint that a sandbox or container may have changed; what changed is found by listing. */
export interface RuntimeEvent {
  /** Id of the container or sandbox. */
  id: string;
  /** The pod's UID where the source knows it. */
  podUID?: string;
  /** What it has come to, where the source tells: once a listing shows that, the event has nothing more to say. */
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

  /** Creates and starts a sandbox with its network; returns its id. */
  runPodSandbox(config: PodSandboxConfig, runtimeHandler?: string): Promise<string>;
  /** Kills what runs in it and gives back its network. */
  stopPodSandbox(id: string): Promise<void>;
  removePodSandbox(id: string): Promise<void>;
  podSandboxStatus(id: string): Promise<PodSandboxStatus>;
  listPodSandbox(filter?: PodSandboxFilter): Promise<PodSandbox[]>;

  createContainer(podSandboxId: string, config: ContainerConfig, sandbox: PodSandboxConfig): Promise<string>;
  startContainer(id: string): Promise<void>;
  /** SIGTERM, then SIGKILL after the timeout; 0 kills at once. Resolves when it has exited. */
  stopContainer(id: string, timeoutSeconds: number): Promise<void>;
  removeContainer(id: string): Promise<void>;
  listContainers(filter?: ContainerFilter): Promise<Container[]>;
  containerStatus(id: string): Promise<ContainerStatus>;
  updateContainerResources(id: string, resources: LinuxContainerResources): Promise<void>;
  /** After the log file was moved away. */
  reopenContainerLog(id: string): Promise<void>;

  execSync(request: ExecSyncRequest): Promise<ExecSyncResult>;
  /** Runs a command; resolves with its exit code when it ended and all output was written. */
  exec(request: ExecRequest, streams: SessionStreams): Promise<number>;
  /** Joins the streams of the container's main process; resolves when it ends or detaches. */
  attach(containerId: string, streams: SessionStreams): Promise<void>;
  /**
   * A byte stream to a SPDY/3.1 server that forwards to ports inside the sandbox's network, protocol
   * `portforward.k8s.io`: per connection an error and a data stream with headers `port` and `requestID`.
   */
  portForward(podSandboxId: string): Promise<Duplex>;

  listContainerStats(filter?: { podSandboxId?: string }): Promise<ContainerStats[]>;
  /** Starts telling `handler` of changes; returns the function that ends it. */
  subscribe(handler: RuntimeEventHandler): () => void;
}

export interface Image {
  /** Content id (`sha256:…`). */
  id: string;
  repoTags: string[];
  repoDigests: string[];
  sizeBytes: number;
  /** User that the image sets: a uid, or a name. */
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
  /** Ends the pull: it rejects with Cancelled. */
  readonly signal?: AbortSignal;
}

export interface ImageService {
  listImages(): Promise<Image[]>;
  /** Undefined when the runtime does not hold it. */
  imageStatus(image: string): Promise<Image | undefined>;
  /** Returns the image's reference (digest or id). */
  pullImage(image: string, options?: PullOptions): Promise<string>;
  removeImage(image: string): Promise<void>;
  imageFsInfo(): Promise<FilesystemUsage[]>;
}

/** A container runtime. `close` ends the connection; what runs in the runtime goes on. */
export interface CRI extends RuntimeService, ImageService {
  close(): Promise<void>;
}
