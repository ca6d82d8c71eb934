/** The CRI of a real runtime, by gRPC over its unix socket. */
import type { Duplex } from 'node:stream';
import protobuf from 'protobufjs';
import type { Clock } from '#apimachinery/clock.js';
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
import { CRIError, isCRIError } from '#nodeagent/cri/errors.js';
import {
  configuredSandboxImage,
  decodeContainer,
  decodeContainerStatus,
  decodeFilesystem,
  decodeImage,
  decodeSandbox,
  decodeSandboxStatus,
  decodeStats,
  list,
  requiredID,
} from '#nodeagent/cri/grpc/decode.js';
import { encodeContainerConfig, encodeFilter, encodeSandboxConfig } from '#nodeagent/cri/grpc/encode.js';
import { containerdEventsDescriptor, subscribeContainerd } from '#nodeagent/cri/grpc/events.js';
import { connectPortForward, runSession } from '#nodeagent/cri/grpc/streaming.js';
import { runtimeError } from '#nodeagent/cri/grpc/translate.js';
import { GrpcChannel, type Message, type MessageInspector } from '#nodeagent/grpc/channel.js';
import { runtimeV1 } from '#nodeagent/protocols/runtime-v1.gen.js';

export interface GrpcCRIOptions {
  /** Path, or `unix://` address. */
  readonly endpoint: string;
  /** Set if the image service has another socket. */
  readonly imageEndpoint?: string;
  readonly clock: Clock;
  /** Deadline of all calls except pulls, stops and sessions; default two minutes, as `--runtime-request-timeout`. */
  readonly timeoutMs?: number;
  readonly inspector?: MessageInspector;
  /** W3C traceparent header of a call's span, which tracing runtimes continue. */
  readonly traceparent?: (() => string | undefined) | undefined;
}

const runtime = 'runtime.v1.RuntimeService';
const images = 'runtime.v1.ImageService';
const defaultTimeoutMs = 120_000;
/** `RuntimeReady` and `NetworkReady`. */
const requiredConditions = 2;

/** `unix:///run/x.sock` and `/run/x.sock` name the same socket. Throws RangeError for other schemes. */
export function socketOf(endpoint: string): string {
  const match = /^(?:unix:(?:\/\/)?)?(\/.+)$/.exec(endpoint);
  if (match?.[1] === undefined) throw new RangeError(`runtime endpoint "${endpoint}" is not a unix socket`);
  return match[1];
}

export class GrpcCRI implements CRI {
  readonly #runtime: GrpcChannel;
  readonly #images: GrpcChannel;
  readonly #clock: Clock;
  readonly #timeoutMs: number;

  constructor(options: GrpcCRIOptions) {
    const root = protobuf.Root.fromJSON(runtimeV1);
    protobuf.Root.fromJSON(containerdEventsDescriptor, root);
    this.#timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
    this.#clock = options.clock;
    const open = (endpoint: string) =>
      new GrpcChannel({
        socket: socketOf(endpoint),
        root,
        timeoutMs: this.#timeoutMs,
        inspector: options.inspector,
        traceparent: options.traceparent,
        translate: runtimeError,
      });
    this.#runtime = open(options.endpoint);
    this.#images = options.imageEndpoint === undefined ? this.#runtime : open(options.imageEndpoint);
  }

  async version(): Promise<RuntimeVersion> {
    const m = await this.#runtime.call(`${runtime}/Version`, { version: 'v1' });
    return {
      runtimeName: String(m['runtimeName']),
      runtimeVersion: String(m['runtimeVersion']),
      runtimeApiVersion: String(m['runtimeApiVersion']),
    };
  }

  async status(): Promise<RuntimeCondition[]> {
    const m = await this.#runtime.call(`${runtime}/Status`, {});
    const conditions = list((m['status'] as Message | null)?.['conditions']) as unknown as RuntimeCondition[];
    if (conditions.length < requiredConditions) {
      throw new CRIError('Unknown', 'RuntimeReady or NetworkReady condition are not set');
    }
    return conditions;
  }

  async updateRuntimeConfig(podCidr: string): Promise<void> {
    await this.#runtime.call(`${runtime}/UpdateRuntimeConfig`, { runtimeConfig: { networkConfig: { podCidr } } });
  }

  async runPodSandbox(config: PodSandboxConfig, runtimeHandler = ''): Promise<string> {
    const request = { config: encodeSandboxConfig(config), runtimeHandler };
    // A sandbox may wait for its image: twice the time, as the node agent of 1.24 gives it.
    const m = await this.#runtime.call(`${runtime}/RunPodSandbox`, request, this.#timeoutMs * 2);
    return requiredID(m['podSandboxId'], 'PodSandboxId');
  }

  async stopPodSandbox(id: string): Promise<void> {
    await this.#ignoreGone(this.#runtime.call(`${runtime}/StopPodSandbox`, { podSandboxId: id }));
  }

  async removePodSandbox(id: string): Promise<void> {
    await this.#ignoreGone(this.#runtime.call(`${runtime}/RemovePodSandbox`, { podSandboxId: id }));
  }

  async podSandboxStatus(id: string): Promise<PodSandboxStatus> {
    const m = await this.#runtime.call(`${runtime}/PodSandboxStatus`, { podSandboxId: id });
    return decodeSandboxStatus(m['status']);
  }

  async listPodSandbox(filter?: PodSandboxFilter): Promise<PodSandbox[]> {
    const m = await this.#runtime.call(`${runtime}/ListPodSandbox`, encodeFilter(filter));
    return list(m['items']).map(decodeSandbox);
  }

  async createContainer(podSandboxId: string, config: ContainerConfig, sandbox: PodSandboxConfig): Promise<string> {
    const m = await this.#runtime.call(`${runtime}/CreateContainer`, {
      podSandboxId,
      config: encodeContainerConfig(config),
      sandboxConfig: encodeSandboxConfig(sandbox),
    });
    return requiredID(m['containerId'], 'ContainerId');
  }

  async startContainer(containerId: string): Promise<void> {
    await this.#runtime.call(`${runtime}/StartContainer`, { containerId });
  }

  async stopContainer(containerId: string, timeoutSeconds: number): Promise<void> {
    const call = this.#runtime.call(
      `${runtime}/StopContainer`,
      { containerId, timeout: timeoutSeconds },
      timeoutSeconds * 1000 + this.#timeoutMs,
    );
    await this.#ignoreGone(call);
  }

  async removeContainer(containerId: string): Promise<void> {
    await this.#ignoreGone(this.#runtime.call(`${runtime}/RemoveContainer`, { containerId }));
  }

  async listContainers(filter?: ContainerFilter): Promise<Container[]> {
    const m = await this.#runtime.call(`${runtime}/ListContainers`, encodeFilter(filter));
    return list(m['containers']).map(decodeContainer);
  }

  async containerStatus(containerId: string): Promise<ContainerStatus> {
    const m = await this.#runtime.call(`${runtime}/ContainerStatus`, { containerId });
    return decodeContainerStatus(m['status']);
  }

  async updateContainerResources(containerId: string, resources: LinuxContainerResources): Promise<void> {
    await this.#runtime.call(`${runtime}/UpdateContainerResources`, { containerId, linux: { ...resources } });
  }

  async reopenContainerLog(containerId: string): Promise<void> {
    await this.#runtime.call(`${runtime}/ReopenContainerLog`, { containerId });
  }

  async execSync(request: ExecSyncRequest): Promise<ExecSyncResult> {
    // The runtime enforces the timeout; the call's own deadline only guards against a dead runtime.
    const deadlineMs = request.timeoutSeconds > 0 ? request.timeoutSeconds * 1000 + this.#timeoutMs : 0;
    const m = await this.#runtime.call(
      `${runtime}/ExecSync`,
      { containerId: request.containerId, cmd: [...request.cmd], timeout: request.timeoutSeconds },
      deadlineMs,
    );
    return {
      stdout: Buffer.from((m['stdout'] ?? []) as Uint8Array),
      stderr: Buffer.from((m['stderr'] ?? []) as Uint8Array),
      exitCode: Number(m['exitCode']),
    };
  }

  async exec(request: ExecRequest, streams: SessionStreams): Promise<number> {
    const m = await this.#runtime.call(`${runtime}/Exec`, {
      containerId: request.containerId,
      cmd: [...request.cmd],
      ...openStreams(streams),
    });
    return runSession(String(m['url']), streams);
  }

  async attach(containerId: string, streams: SessionStreams): Promise<void> {
    const m = await this.#runtime.call(`${runtime}/Attach`, { containerId, ...openStreams(streams) });
    await runSession(String(m['url']), streams);
  }

  async portForward(podSandboxId: string): Promise<Duplex> {
    const m = await this.#runtime.call(`${runtime}/PortForward`, { podSandboxId, port: [] });
    return connectPortForward(String(m['url']));
  }

  async listContainerStats(filter?: { podSandboxId?: string }): Promise<ContainerStats[]> {
    const request = filter === undefined ? {} : { filter: { ...filter } };
    const m = await this.#runtime.call(`${runtime}/ListContainerStats`, request);
    return list(m['stats']).map(decodeStats);
  }

  subscribe(handler: RuntimeEventHandler): () => void {
    return subscribeContainerd(this.#runtime, this.#clock, handler);
  }

  async listImages(): Promise<Image[]> {
    return list((await this.#images.call(`${images}/ListImages`, {}))['images']).map(decodeImage);
  }

  async imageStatus(image: string): Promise<Image | undefined> {
    const m = await this.#images.call(`${images}/ImageStatus`, { image: { image } });
    return m['image'] === null || m['image'] === undefined ? undefined : decodeImage(m['image'] as Message);
  }

  async pullImage(image: string, { auth, sandbox, signal }: PullOptions = {}): Promise<string> {
    const request: Message = { image: { image } };
    if (auth !== undefined) request['auth'] = auth;
    if (sandbox !== undefined) request['sandboxConfig'] = encodeSandboxConfig(sandbox);
    return String((await this.#images.call(`${images}/PullImage`, request, 0, signal))['imageRef']);
  }

  async removeImage(image: string): Promise<void> {
    await this.#ignoreGone(this.#images.call(`${images}/RemoveImage`, { image: { image } }));
  }

  async imageFsInfo(): Promise<FilesystemUsage[]> {
    return list((await this.#images.call(`${images}/ImageFsInfo`, {}))['imageFilesystems']).map(decodeFilesystem);
  }

  /** containerd tells its configuration; runtimes that do not pin the image themselves. */
  async sandboxImage(): Promise<string | undefined> {
    const m = await this.#runtime.call(`${runtime}/Status`, { verbose: true });
    return configuredSandboxImage((m['info'] as Message | null)?.['config']);
  }

  close(): Promise<void> {
    this.#runtime.close();
    if (this.#images !== this.#runtime) this.#images.close();
    return Promise.resolve();
  }

  async #ignoreGone(call: Promise<unknown>): Promise<void> {
    try {
      await call;
    } catch (error) {
      if (!isCRIError(error, 'NotFound')) throw error;
    }
  }
}

function openStreams(streams: SessionStreams): Message {
  return {
    tty: streams.tty,
    stdin: streams.stdin !== undefined,
    stdout: streams.stdout !== undefined,
    // A terminal has a single output.
    stderr: streams.stderr !== undefined && !streams.tty,
  };
}
