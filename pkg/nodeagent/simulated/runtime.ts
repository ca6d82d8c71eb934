/** An in-memory container runtime for simulated nodes. */
import { type Duplex, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Clock } from '#apimachinery/clock.js';
import { duplexPair } from '#daemon/streaming/duplex-pair.js';
import { SpdySession } from '#daemon/streaming/spdy/session.js';
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
  LinuxContainerResources,
  PodSandbox,
  PodSandboxConfig,
  PodSandboxFilter,
  PodSandboxState,
  PodSandboxStatus,
  RuntimeCondition,
  RuntimeEventHandler,
  RuntimeVersion,
  SessionStreams,
} from '#nodeagent/cri/cri.js';
import { CRIError } from '#nodeagent/cri/errors.js';
import type { SimulatedRuntimeAgent } from '#nodeagent/dependencies.js';
import { withDefaultTag } from '#nodeagent/images/puller.js';
import { AddressPool } from '#nodeagent/simulated/addresses.js';
import type { Behaviour } from '#nodeagent/simulated/behaviour.js';
import { BehaviourTable } from '#nodeagent/simulated/behaviour-table.js';
import { SimulatedContainer } from '#nodeagent/simulated/container.js';
import { HttpAnswerer } from '#nodeagent/simulated/http-answerer.js';
import { SimulatedImages } from '#nodeagent/simulated/images.js';
import { SimulatedLogFiles } from '#nodeagent/simulated/log-files.js';
import type { Program } from '#nodeagent/simulated/programs.js';
import { answerFor, type HttpAnswer, httpAnswerFor } from '#nodeagent/simulated/settings/answers.js';
import { Simulation } from '#nodeagent/simulated/simulation.js';

/** A cluster client's connection to a pod. */
export interface PodConnection {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  /** The pod's end of the connection. */
  readonly stream: Duplex;
}

export interface SimulatedRuntimeOptions {
  readonly clock: Clock;
  /** Prefix of the annotations in `behaviour.ts`, with its slash. */
  readonly annotationPrefix: string;
  /** What the nodes of a cluster share; absent: the node has its own. */
  readonly simulation?: Simulation | undefined;
  /** Pod addresses until `updateRuntimeConfig` sets others; absent: no network until then. */
  readonly podCIDR?: string;
  /** Returns unique IDs of 64 hexadecimal digits. */
  readonly newID: () => string;
  /** Answers connections to pods (`connect`); absent: an HTTP greeting. */
  readonly onConnection?: ((connection: PodConnection) => void) | undefined;
  /** Images that exist without a pull. */
  readonly images?: readonly string[];
}

interface Sandbox {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly createdAt: number;
  readonly ips: string[];
  state: PodSandboxState;
}

const runtimeName = 'simulated';

/** Answers any request with an HTTP greeting. */
function greet(stream: Duplex, hostname: string): void {
  const body = `Hello from ${hostname}\n`;
  stream.once('data', () => {
    stream.end(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
  });
  stream.resume();
}

export class SimulatedRuntime extends SimulatedImages implements CRI {
  readonly simulation: Simulation;
  /** The containers' logs. */
  readonly logFiles = new SimulatedLogFiles();
  readonly #options: SimulatedRuntimeOptions;
  readonly #clock: Clock;
  readonly #sandboxes = new Map<string, Sandbox>();
  readonly #containers = new Map<string, SimulatedContainer>();
  /** Unique name of a sandbox or container ↔ its ID. */
  readonly #holders = new Map<string, string>();
  readonly #names = new Map<string, string>();
  readonly #subscribers = new Set<RuntimeEventHandler>();
  readonly #behaviours: BehaviourTable;
  readonly #http: HttpAnswerer;
  /** One pool of each family. */
  #addresses: readonly AddressPool[] = [];
  #podCIDR = '';

  constructor(options: SimulatedRuntimeOptions) {
    const simulation = options.simulation ?? new Simulation(options.clock);
    super({ clock: options.clock, simulation, images: options.images ?? [] });
    this.#options = options;
    this.#clock = options.clock;
    this.simulation = simulation;
    this.#behaviours = new BehaviourTable(simulation, options.annotationPrefix);
    this.#http = new HttpAnswerer(options.clock);
    this.#configure(options.podCIDR ?? '');
  }

  /** Called by the agent of the node: pods behave by their specification, too, and wrong settings are reported. */
  connectAgent(agent: SimulatedRuntimeAgent): void {
    this.#behaviours.connect(agent);
  }

  protected behaviourOf(sandbox: PodSandboxConfig): Behaviour {
    return this.#behaviours.of(sandbox);
  }

  version(): Promise<RuntimeVersion> {
    return Promise.resolve({ runtimeName, runtimeVersion: '1.0.0', runtimeApiVersion: 'v1' });
  }

  status(): Promise<RuntimeCondition[]> {
    const ready = (type: string): RuntimeCondition => ({ type, status: true, reason: '', message: '' });
    const network =
      this.#podCIDR === ''
        ? {
            type: 'NetworkReady',
            status: false,
            reason: 'NetworkPluginNotReady',
            message: 'pods have no addresses yet',
          }
        : ready('NetworkReady');
    return Promise.resolve([ready('RuntimeReady'), network]);
  }

  async updateRuntimeConfig(podCIDR: string): Promise<void> {
    this.#configure(podCIDR);
  }

  /** Throws RangeError if a range is invalid or too small. */
  #configure(podCIDR: string): void {
    if (podCIDR === this.#podCIDR || podCIDR === '') return;
    this.#addresses = podCIDR.split(',').map((cidr) => new AddressPool(cidr));
    this.#podCIDR = podCIDR;
  }

  async runPodSandbox(config: PodSandboxConfig): Promise<string> {
    const id = this.#options.newID();
    this.#reserve('sandbox', sandboxName(config), id);
    try {
      await this.#runSandbox(id, config);
      return id;
    } catch (error) {
      this.#release(id);
      throw error;
    }
  }

  async #runSandbox(id: string, config: PodSandboxConfig): Promise<void> {
    const behaviour = this.behaviourOf(config);
    const latency = behaviour.get('sandbox-latency') ?? 0;
    if (latency > 0) await this.#clock.sleep(latency);
    const failure = behaviour.get('sandbox-failure');
    const times = behaviour.get('sandbox-failure-times') ?? Infinity;
    if (failure !== undefined && this.simulation.count(`sandbox ${config.metadata.uid}`) < times)
      throw new CRIError('Unknown', failure);
    // An image that is there already would not be pulled.
    for (const image of behaviour.imagesThatFail()) await this.removeImage(withDefaultTag(image));
    const ips: string[] = [];
    if (config.linux.securityContext.namespaceOptions.network !== 'NODE') {
      if (this.#addresses.length === 0) throw new CRIError('Unknown', 'pods have no addresses yet');
      ips.push(...this.#takeAddresses());
    }
    this.#sandboxes.set(id, { id, config, ips, state: 'SANDBOX_READY', createdAt: this.#clock.now() });
    this.#notify(id, config.metadata.uid);
  }

  /** Throws CRIError if the name is in use. */
  #reserve(what: 'sandbox' | 'container', name: string, id: string): void {
    const holder = this.#holders.get(name);
    if (holder !== undefined) {
      const message = `failed to reserve ${what} name "${name}": name "${name}" is reserved for "${holder}"`;
      throw new CRIError('Unknown', message);
    }
    this.#holders.set(name, id);
    this.#names.set(id, name);
  }

  #release(id: string): void {
    this.#holders.delete(this.#names.get(id) ?? '');
    this.#names.delete(id);
  }

  #takeAddresses(): string[] {
    const addresses: string[] = [];
    for (const pool of this.#addresses) {
      const ip = pool.allocate();
      if (ip === undefined) {
        for (const each of addresses) for (const other of this.#addresses) other.release(each);
        throw new CRIError('Unknown', `no addresses left in ${this.#podCIDR}`);
      }
      addresses.push(ip);
    }
    return addresses;
  }

  stopPodSandbox(id: string): Promise<void> {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox === undefined) return Promise.resolve();
    for (const container of this.#containersOf(id)) container.kill();
    if (sandbox.state === 'SANDBOX_READY') {
      sandbox.state = 'SANDBOX_NOTREADY';
      for (const ip of sandbox.ips.splice(0)) for (const pool of this.#addresses) pool.release(ip);
      this.#notify(id, sandbox.config.metadata.uid);
    }
    return Promise.resolve();
  }

  async removePodSandbox(id: string): Promise<void> {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox === undefined) return;
    await this.stopPodSandbox(id);
    for (const container of this.#containersOf(id)) this.#forget(container);
    this.#sandboxes.delete(id);
    this.#release(id);
    this.#behaviours.forget(sandbox.config);
    this.#notify(id, sandbox.config.metadata.uid);
  }

  #sandbox(id: string): Sandbox {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox === undefined) throw new CRIError('NotFound', `sandbox "${id}" not found`);
    return sandbox;
  }

  #container(id: string): SimulatedContainer {
    const container = this.#containers.get(id);
    if (container === undefined) throw new CRIError('NotFound', `container "${id}" not found`);
    return container;
  }

  #running(id: string): SimulatedContainer {
    const container = this.#container(id);
    if (container.state !== 'CONTAINER_RUNNING') throw new CRIError('Unknown', `container "${id}" is not running`);
    return container;
  }

  #containersOf(sandboxId: string): SimulatedContainer[] {
    return [...this.#containers.values()].filter((container) => container.sandboxId === sandboxId);
  }

  #notify(id: string, podUID: string): void {
    for (const subscriber of this.#subscribers) subscriber.onEvent({ id, podUID });
  }

  #summary(sandbox: Sandbox): PodSandbox {
    const { id, state, createdAt, config } = sandbox;
    return { id, state, createdAt, metadata: config.metadata, labels: config.labels, annotations: config.annotations };
  }

  async podSandboxStatus(id: string): Promise<PodSandboxStatus> {
    const sandbox = this.#sandbox(id);
    const networkMode = sandbox.config.linux.securityContext.namespaceOptions.network;
    return { ...this.#summary(sandbox), ips: [...sandbox.ips], networkMode };
  }

  listPodSandbox(filter: PodSandboxFilter = {}): Promise<PodSandbox[]> {
    const accepts = matcher(filter);
    const listed: PodSandbox[] = [];
    for (const sandbox of this.#sandboxes.values()) {
      if (accepts(sandbox.id, sandbox.state, sandbox.config.labels)) listed.push(this.#summary(sandbox));
    }
    return Promise.resolve(listed);
  }

  async createContainer(sandboxId: string, config: ContainerConfig, sandboxConfig: PodSandboxConfig): Promise<string> {
    const sandbox = this.#sandbox(sandboxId);
    if (sandbox.state !== 'SANDBOX_READY') throw new CRIError('Unknown', `sandbox "${sandboxId}" is not ready`);
    const { name } = config.metadata;
    const { uid } = sandbox.config.metadata;
    const behaviour = this.behaviourOf(sandbox.config);
    const failure = behaviour.get('create-failure', name);
    const times = behaviour.get('create-failure-times', name) ?? Infinity;
    if (failure !== undefined && this.simulation.count(`create ${uid} ${name}`) < times)
      throw new CRIError('Unknown', failure);
    const image = await this.imageStatus(config.image);
    if (image === undefined) throw new CRIError('NotFound', `image "${config.image}" not found`);
    const id = this.#options.newID();
    this.#reserve('container', containerName(config, sandboxConfig), id);
    const container = new SimulatedContainer(id, sandboxId, config, {
      clock: this.#clock,
      behaviour: () => this.behaviourOf(sandbox.config),
      simulation: this.simulation,
      podUID: uid,
      controllerUID: this.#behaviours.controllerUID(sandbox.config),
      logs: this.logFiles,
      hostname: sandboxConfig.hostname,
      logDirectory: sandboxConfig.logDirectory,
      imageRef: image.id,
      onChange: () => this.#notify(id, uid),
    });
    this.#containers.set(id, container);
    return id;
  }

  async startContainer(id: string): Promise<void> {
    await this.#container(id).start();
  }

  async stopContainer(id: string, timeoutSeconds: number): Promise<void> {
    await this.#containers.get(id)?.stop(timeoutSeconds);
  }

  async removeContainer(id: string): Promise<void> {
    const container = this.#containers.get(id);
    if (container === undefined) return;
    if (container.isStarting) throw new CRIError('Unknown', "container is in starting state, can't be removed");
    container.kill();
    this.#forget(container);
  }

  #forget({ id }: SimulatedContainer): void {
    this.#containers.delete(id);
    this.#release(id);
  }

  listContainers(filter: ContainerFilter = {}): Promise<Container[]> {
    const accepts = matcher(filter);
    const listed: Container[] = [];
    for (const container of this.#containers.values()) {
      if (filter.podSandboxId !== undefined && container.sandboxId !== filter.podSandboxId) continue;
      if (accepts(container.id, container.state, container.config.labels)) listed.push(container.summary());
    }
    return Promise.resolve(listed);
  }

  async containerStatus(id: string): Promise<ContainerStatus> {
    return this.#container(id).status();
  }

  async updateContainerResources(id: string, _resources: LinuxContainerResources): Promise<void> {
    this.#container(id);
  }

  async reopenContainerLog(id: string): Promise<void> {
    this.#running(id);
  }

  async execSync(request: ExecSyncRequest): Promise<ExecSyncResult> {
    const program = this.#program(request);
    const timeoutMs = request.timeoutSeconds * 1000;
    const durationMs = program.exitAfterMs ?? Infinity;
    if (timeoutMs > 0 && durationMs > timeoutMs) {
      await this.#clock.sleep(timeoutMs);
      throw new CRIError('DeadlineExceeded', `command ${JSON.stringify(request.cmd)} timed out`);
    }
    if (durationMs > 0) await this.#clock.sleep(durationMs);
    return {
      stdout: Buffer.from(program.stdout),
      stderr: Buffer.from(program.stderr),
      exitCode: program.exitCode,
    };
  }

  /** The program of a command: what the container's behaviour says about it, or one of `programs.ts`. */
  #program({ containerId, cmd }: Pick<ExecRequest, 'containerId' | 'cmd'>): Program {
    const container = this.#running(containerId);
    const behaviour = this.behaviourOf(this.#sandbox(container.sandboxId).config);
    const answer = answerFor(behaviour.get('exec', container.config.metadata.name), cmd.join(' '));
    if (answer === undefined) return container.program(cmd);
    const { stdout, stderr, exitCode, latencyMs } = answer;
    return { stdout, stderr, exitCode, exitAfterMs: latencyMs, copiesInput: false };
  }

  async exec(request: ExecRequest, streams: SessionStreams): Promise<number> {
    const program = this.#program(request);
    streams.stdout?.write(program.stdout);
    (streams.stderr ?? streams.stdout)?.write(program.stderr);
    if (program.copiesInput && streams.stdin !== undefined) {
      const { stdin, stdout = discard(), signal } = streams;
      await pipeline(stdin, stdout, { end: false, ...(signal === undefined ? {} : { signal }) });
    }
    await this.#clock.sleep(program.exitAfterMs ?? 0, streams.signal);
    return program.exitCode;
  }

  async attach(id: string, streams: SessionStreams): Promise<void> {
    await this.#running(id).attach(streams);
  }

  /** Every port answers HTTP requests: as the pod's behaviour says, or with a greeting that names the pod. */
  async portForward(sandboxId: string): Promise<Duplex> {
    const sandbox = this.#sandbox(sandboxId);
    const [near, far] = duplexPair();
    const session = new SpdySession(far, 'server');
    session.on('stream', (stream) => {
      if (stream.headers['streamtype'] !== 'data') {
        stream.end();
        return;
      }
      this.#answer(stream, sandbox, Number(stream.headers['port'] ?? 0));
    });
    return near;
  }

  #answer(stream: Duplex, sandbox: Sandbox, port: number): void {
    const container = this.behaviourOf(sandbox.config).containerAt(port);
    if (this.behaviourOf(sandbox.config).get('http', container) === undefined) {
      greet(stream, sandbox.config.hostname);
      return;
    }
    this.#http.serve(stream, (path) => this.httpAnswer(sandbox.id, port, path));
  }

  /** The answer of a pod to a request by its settings; undefined if it has none, or if the container does not run. */
  httpAnswer(sandboxId: string, port: number, path: string): HttpAnswer | undefined {
    const behaviour = this.behaviourOf(this.#sandbox(sandboxId).config);
    const name = behaviour.containerAt(port);
    const answers = behaviour.get('http', name);
    const container = this.#containersOf(sandboxId).find(
      ({ config, state }) => state === 'CONTAINER_RUNNING' && (name === undefined || config.metadata.name === name),
    );
    return answers && container && httpAnswerFor(answers, path, container.runningForMs);
  }

  /** A connection to a running pod, at any port; undefined if no pod has the address. */
  connect(address: string, port: number): Duplex | undefined {
    const sandbox = [...this.#sandboxes.values()].find(
      ({ ips, state }) => state === 'SANDBOX_READY' && ips.includes(address),
    );
    const runs = [...this.#containers.values()].some(
      ({ sandboxId, state }) => sandboxId === sandbox?.id && state === 'CONTAINER_RUNNING',
    );
    if (sandbox === undefined || !runs) return undefined;
    const [near, far] = duplexPair();
    const { metadata } = sandbox.config;
    const { onConnection } = this.#options;
    if (onConnection === undefined) this.#answer(far, sandbox, port);
    else onConnection({ namespace: metadata.namespace, name: metadata.name, port, stream: far });
    return near;
  }

  listContainerStats(filter?: { podSandboxId?: string }): Promise<ContainerStats[]> {
    const stats: ContainerStats[] = [];
    for (const container of this.#containers.values()) {
      if (container.state !== 'CONTAINER_RUNNING') continue;
      if (filter?.podSandboxId !== undefined && container.sandboxId !== filter.podSandboxId) continue;
      stats.push({
        id: container.id,
        ...container.config.metadata,
        labels: container.config.labels,
        timestamp: this.#clock.now(),
        usageCoreNanoSeconds: container.cpuNanoseconds,
        workingSetBytes: container.memoryBytes,
        usageBytes: container.memoryBytes,
        rssBytes: container.memoryBytes,
        writableLayerUsedBytes: 4096,
        writableLayerInodesUsed: 1,
      });
    }
    return Promise.resolve(stats);
  }

  subscribe(handler: RuntimeEventHandler): () => void {
    this.#subscribers.add(handler);
    handler.onConnected(true);
    return () => this.#subscribers.delete(handler);
  }

  /** Whether such a probe of the container fails now. */
  probeFails(containerId: string, probe: 'liveness' | 'readiness' | 'startup'): boolean {
    return this.#containers.get(containerId)?.fails(probe) ?? true;
  }

  /** The answer of the container's pod to an HTTP probe; undefined if no setting says it. */
  probeAnswer(containerId: string, path: string): HttpAnswer | undefined {
    const container = this.#containers.get(containerId);
    if (container === undefined || container.runningForMs < 0) return undefined;
    const behaviour = this.behaviourOf(this.#sandbox(container.sandboxId).config);
    const answers = behaviour.get('http', container.config.metadata.name);
    return answers && httpAnswerFor(answers, path, container.runningForMs);
  }

  /** Resolves after a time of the runtime's clock. */
  pass(ms: number): Promise<void> {
    return this.#clock.sleep(ms);
  }

  /** Simulates a crash of one container. */
  killContainer(id: string): void {
    this.#container(id).kill();
  }

  close(): Promise<void> {
    this.#subscribers.clear();
    return Promise.resolve();
  }
}

function sandboxName({ metadata: { name, namespace, uid, attempt } }: PodSandboxConfig): string {
  return [name, namespace, uid, attempt].join('_');
}

/** Independent of the sandbox's attempt. */
function containerName(
  { metadata }: ContainerConfig,
  { metadata: { name, namespace, uid } }: PodSandboxConfig,
): string {
  return [metadata.name, name, namespace, uid, metadata.attempt].join('_');
}

/** A sink for unused output. */
function discard(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

/** Tests single properties, so that filtered-out objects need no summary. */
function matcher(
  filter: PodSandboxFilter | ContainerFilter,
): (id: string, state: string, labels: Readonly<Record<string, string>>) => boolean {
  const requiredLabels = Object.entries(filter.labelSelector ?? {});
  return (id, state, labels) =>
    (filter.id === undefined || filter.id === id) &&
    (filter.state === undefined || filter.state === state) &&
    requiredLabels.every(([key, value]) => labels[key] === value);
}
