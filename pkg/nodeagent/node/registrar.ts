/** Registers the node and keeps its status: written when it changed, and once in a while when it did not. */

import { isNodeReady } from '#api/core/v1/node/conditions.js';
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node, NodeStatus, Taint } from '#api/core/v1/types.gen.js';
import { LastAnswer } from '#apimachinery/async/last-answer.js';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import { type Clock, formatTime } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import type { Client, ResourceClient } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';
import type { CRI, FilesystemUsage, Image } from '#nodeagent/cri/cri.js';
import type { Machine, MachineFacts } from '#nodeagent/node/machine.js';
import { type NodeEvents, statusEvent, statusEvents } from '#nodeagent/node/node-events.js';
import type { PressureTracker, Readings } from '#nodeagent/node/pressure.js';
import {
  isNewer,
  reconcileNode,
  resourcesPatch,
  sameStatus,
  withOtherResources,
} from '#nodeagent/node/reconcile-node.js';
import type { RuntimeNetwork } from '#nodeagent/node/runtime-network.js';
import { nodeResources, nodeStatus, type Reservations, type Resources } from '#nodeagent/node/status.js';
import type { RuntimeHealth } from '#nodeagent/runtime/health.js';

export interface NodeRegistrarOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly cri: CRI;
  readonly machine: Machine;
  readonly nodeName: string;
  /** False: the node object is made by somebody else. */
  readonly register: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly unschedulable: boolean;
  readonly providerID: string;
  /** A controller attaches the node's volumes. */
  readonly controllerAttaches: boolean;
  /** Empty: the machine's own; see `findNodeAddresses`. */
  readonly nodeIPs: readonly string[];
  readonly maxPods: number;
  /** 0: as many as `maxPods`. */
  readonly podsPerCore: number;
  readonly maxImages: number;
  readonly reservations: Reservations;
  readonly updateFrequencyMs: number;
  readonly reportFrequencyMs: number;
  readonly serverPort: () => number;
  /** The machine has not been this node before, or was set up anew. Asked when it registers. */
  readonly isNewMachine: () => boolean;
  readonly health: Pick<RuntimeHealth, 'look' | 'problems' | 'networkProblem'>;
  readonly network: RuntimeNetwork;
  readonly events: NodeEvents;
  readonly pressure: PressureTracker;
}

/** How long a status waits for what the runtime has to say of images and disks; after that the last word counts. */
const runtimeWaitMs = 1000;
const retryMs = 500;
const maxRetryMs = 7000;

/** How often a runtime is asked whose network is not ready: at first, at most (as 1.24 asks always). */
const networkMs = { initialMs: 50, maxMs: 5000 };
/** After so many of these it is told the pods' addresses once more. */
const networkLooks = 4;

export class NodeRegistrar {
  readonly #options: NodeRegistrarOptions;
  readonly #nodes: ResourceClient<Node>;
  #facts: MachineFacts | undefined;
  /** None while those that are asked for cannot be the machine's. */
  #addresses: readonly string[] = [];
  /** What was last said about them. */
  #addressProblem: string | undefined;
  #looking: Promise<void> | undefined;
  #resources: Resources = { capacity: {}, allocatable: {} };
  #runtimeVersion = '';
  #node: Node | undefined;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #wake: (() => void) | undefined;
  #poked = false;
  /** The runtime is being told the addresses of pods. */
  #configuring: Promise<void> = Promise.resolve();
  #unschedulable: boolean | undefined;
  readonly #networkLooks = new Backoff(networkMs);
  readonly #images: LastAnswer<readonly Image[]>;
  readonly #imageDisks: LastAnswer<readonly FilesystemUsage[]>;

  constructor(options: NodeRegistrarOptions) {
    const { client, clock, log, cri } = options;
    this.#options = options;
    this.#nodes = client.resource(nodes);
    const ofRuntime = <T>(ask: () => Promise<T>, what: string) =>
      new LastAnswer<T>({
        ...{ clock, ask },
        waitMs: runtimeWaitMs,
        onFailure: (error) => log.debug({ err: error }, what),
      });
    this.#images = ofRuntime(() => cri.listImages(), 'the runtime does not say which images it has');
    this.#imageDisks = ofRuntime(() => cri.imageFsInfo(), 'the runtime does not say where its images are');
  }

  /** Finds out what the machine and the runtime are. Before everything else. */
  async prepare(): Promise<void> {
    const { machine, cri, maxPods, podsPerCore, reservations } = this.#options;
    this.#facts = await machine.facts();
    await this.#lookForAddresses();
    const ofCores = podsPerCore > 0 ? podsPerCore * this.#facts.cpus : maxPods;
    this.#resources = nodeResources(this.#facts, Math.min(maxPods, ofCores), reservations);
    const { runtimeName, runtimeVersion } = await cri.version();
    this.#runtimeVersion = `${runtimeName}://${runtimeVersion}`;
  }

  /** Never rejects; a failure leaves the addresses as they are. */
  async #lookForAddresses(): Promise<void> {
    const { machine, nodeIPs, nodeName, log } = this.#options;
    let problem: string | undefined;
    try {
      const { addresses, warning } = await machine.addresses({ nodeIPs, nodeName });
      this.#addresses = addresses;
      problem = warning;
    } catch (error) {
      problem = messageOf(error);
    }
    if (problem !== undefined && problem !== this.#addressProblem)
      log.warn({ problem }, 'The node has no address that others can use');
    this.#addressProblem = problem;
  }

  /** The resolver of names may take long, and the status must not wait for it. */
  #refreshAddresses(): void {
    const before = this.#addresses.join();
    this.#looking ??= this.#lookForAddresses().finally(() => {
      this.#looking = undefined;
      if (this.#addresses.join() !== before) this.poke();
    });
  }

  get facts(): MachineFacts {
    if (this.#facts === undefined) throw new Error('the machine has not been looked at yet');
    return this.#facts;
  }

  get resources(): Resources {
    return this.#resources;
  }

  /** The node's addresses, one or one of each family; the first is the one that pods are told. */
  get hostIPs(): readonly string[] {
    return this.#addresses.length > 0 ? this.#addresses : this.#options.nodeIPs;
  }

  get node(): Node | undefined {
    return this.#node;
  }

  /** Why pods get no network, by the last word of the runtime. */
  get networkProblem(): string | undefined {
    return this.#options.health.networkProblem;
  }

  /** The node as last seen, or as it will be registered. Its own resources are always what this agent has found. */
  get knownNode(): Node {
    const { nodeName: name, taints } = this.#options;
    const unregistered = { metadata: { name, labels: this.#ownLabels() }, spec: { taints: [...taints] } };
    return this.#withOwnResources(this.#node ?? unregistered);
  }

  #withOwnResources({ metadata, spec, status }: Node): Node {
    const allocatable = { ...status?.allocatable, ...this.#resources.allocatable };
    return { metadata, spec, status: { ...status, allocatable } };
  }

  /** The node as the API has it now. Throws StatusError. */
  async look(): Promise<Node> {
    try {
      const node = await this.#nodes.get(this.#options.nodeName);
      this.observe(node);
      return this.#withOwnResources(node);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return this.knownNode;
    }
  }

  /** `containerd`, `simulated`. */
  get runtimeName(): string {
    return this.#runtimeVersion.split(':')[0] ?? '';
  }

  /** What the API says of the node by now; undefined when it was deleted. */
  observe(node: Node | undefined): void {
    // Before it is registered, an old object of that name says nothing.
    if (this.#node === undefined) return;
    if (node === undefined) {
      this.#reportedAt = Number.NEGATIVE_INFINITY;
      this.poke();
      return;
    }
    if (!isNewer(node, this.#node)) return;
    this.#seen(node);
    // Somebody else has declared it unreachable: it says at once that it is not.
    if (!isNodeReady(node)) this.poke();
  }

  /** Keeps the status until `signal` aborts; registers first. `onRegistered` is called once. */
  async run(signal: AbortSignal, onRegistered: () => void): Promise<void> {
    const { clock, log, updateFrequencyMs } = this.#options;
    this.#options.events.starting(this.#options.client.dialect.components.nodeAgent);
    const backoff = new Backoff({ initialMs: retryMs, maxMs: maxRetryMs });
    while (!signal.aborted && this.#node === undefined) {
      try {
        this.#seen(await this.#register());
      } catch (error) {
        log.warn({ err: error }, 'registering the node failed');
        await clock.sleep(backoff.nextMs(), signal);
      }
    }
    let registered = false;
    let failed = false;
    backoff.reset();
    while (!signal.aborted) {
      this.#poked = false;
      try {
        await this.#report();
        if (!registered) onRegistered();
        registered = true;
        backoff.reset();
        failed = false;
      } catch (error) {
        log.warn({ err: error }, 'updating the node status failed');
        failed = true;
        // It may have been deleted, or be another one by now.
        if (isNotFound(error)) await this.#reregister();
      }
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      if (this.#poked) continue;
      const waitMs = this.networkProblem === undefined ? updateFrequencyMs : this.#networkLooks.nextMs();
      const nextMs = failed ? Math.min(backoff.nextMs(), updateFrequencyMs) : Math.min(waitMs, updateFrequencyMs);
      await Promise.race([clock.sleep(nextMs, signal), woken]);
    }
  }

  /** Without an API: the runtime is told the addresses of pods, and nobody else anything. */
  async standAlone(): Promise<void> {
    await this.#options.network.tell(this.knownNode);
  }

  /** Something that the status says has changed. */
  poke(): void {
    this.#poked = true;
    this.#wake?.();
  }

  #seen(node: Node): void {
    if (this.#node !== undefined && this.#node.metadata.uid === node.metadata.uid && isNewer(this.#node, node)) return;
    this.#node = node;
    this.#configure(node);
  }

  #configure(node: Node, again = false): void {
    const told = this.#configuring.then(() => this.#options.network.tell(node, again));
    this.#configuring = told.then((isNew) => {
      if (!isNew || again) return;
      this.#networkLooks.reset();
      this.poke();
    });
  }

  async #reregister(): Promise<void> {
    try {
      this.#seen(await this.#register());
      this.#reportedAt = Number.NEGATIVE_INFINITY;
    } catch (error) {
      this.#options.log.warn({ err: error }, 'registering the node again failed');
    }
  }

  #ownLabels(): Record<string, string> {
    const { client, nodeName, labels } = this.#options;
    const names = client.dialect.labels;
    const { architecture } = this.facts;
    return {
      [names.betaArch]: architecture,
      [names.betaOS]: 'linux',
      [names.arch]: architecture,
      [names.hostname]: nodeName,
      [names.os]: 'linux',
      ...labels,
    };
  }

  async #register(): Promise<Node> {
    const { nodeName: name, register, taints, unschedulable, providerID, client, controllerAttaches } = this.#options;
    if (!register) return this.#nodes.get(name);
    const status = await this.#status(undefined);
    const node: Node = {
      metadata: {
        name,
        labels: this.#ownLabels(),
        ...(controllerAttaches ? { annotations: { [client.dialect.annotations.controllerAttachDetach]: 'true' } } : {}),
      },
      spec: {
        ...(taints.length === 0 ? {} : { taints: [...taints] }),
        ...(unschedulable ? { unschedulable } : {}),
        ...(providerID === '' ? {} : { providerID }),
      },
      status,
    };
    try {
      const created = await this.#nodes.create(node);
      this.#tell(undefined, created);
      return created;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    return this.#reconcile(node, await this.#nodes.get(name));
  }

  async #reconcile(fresh: Node, existing: Node): Promise<Node> {
    const { nodeName: name, client, isNewMachine } = this.#options;
    const { object, status } = reconcileNode(fresh, existing, {
      dialect: client.dialect,
      isNewMachine: isNewMachine(),
    });
    let node = existing;
    if (object !== undefined) node = await this.#nodes.patch(name, object, { type: 'merge' });
    if (status !== undefined) node = await this.#nodes.patch(name, status, { type: 'merge', subresource: 'status' });
    return node;
  }

  async #status(old: NodeStatus | undefined): Promise<NodeStatus> {
    const { client, clock, nodeName, maxImages, serverPort, health, pressure } = this.#options;
    const [images = [], readings] = await Promise.all([this.#images.look(), this.#readings(), health.look()]);
    if (health.networkProblem === undefined) this.#networkLooks.reset();
    return nodeStatus({
      dialect: client.dialect,
      facts: this.facts,
      pressures: pressure.observe(readings, clock.monotonic()),
      resources: withOtherResources(this.#resources, old, client.dialect),
      addresses: [
        ...this.#addresses.map((address) => ({ type: 'InternalIP', address })),
        { type: 'Hostname', address: nodeName },
      ],
      runtimeVersion: this.#runtimeVersion,
      images,
      maxImages,
      serverPort: serverPort(),
      notReady: health.problems(),
      old,
      now: formatTime(clock.now()),
    });
  }

  /** What eviction thresholds are compared with. */
  async #readings(): Promise<Readings> {
    const { machine, log } = this.#options;
    const state = await machine.state();
    const { memoryBytes } = this.facts;
    const memory = { available: state.memoryAvailableBytes, capacity: memoryBytes };
    let images: Readings = {};
    try {
      const [mounted] = (await this.#imageDisks.look()) ?? [];
      const found = mounted === undefined ? undefined : await machine.filesystem(mounted.mountpoint);
      if (found !== undefined) {
        images = {
          'imagefs.available': { available: found.availableBytes, capacity: found.capacityBytes },
          'imagefs.inodesFree': { available: found.inodesFree, capacity: found.inodes },
        };
      }
    } catch (error) {
      log.debug({ err: error }, 'the disk of the images cannot be looked at');
    }
    return {
      ...images,
      'memory.available': memory,
      'allocatableMemory.available': memory,
      'nodefs.available': { available: state.storageAvailableBytes, capacity: state.storageCapacityBytes },
      // Some file systems make inodes as they need them.
      'nodefs.inodesFree': state.inodes === 0 ? undefined : { available: state.inodesFree, capacity: state.inodes },
      'pid.available':
        state.maxProcesses === 0
          ? undefined
          : { available: state.maxProcesses - state.processes, capacity: state.maxProcesses },
    };
  }

  /** Told when they are true in the API, so that nothing is told twice. */
  #tell(old: NodeStatus | undefined, node: Node): void {
    const { events, nodeName } = this.#options;
    for (const event of statusEvents(nodeName, old, node.status ?? {})) events.record(event);
    const unschedulable = node.spec?.unschedulable === true;
    if (this.#unschedulable !== undefined && this.#unschedulable !== unschedulable)
      events.record(statusEvent(nodeName, unschedulable ? 'NodeNotSchedulable' : 'NodeSchedulable'));
    this.#unschedulable = unschedulable;
  }

  async #report(): Promise<void> {
    const { clock, nodeName, reportFrequencyMs } = this.#options;
    const old = this.#node?.status;
    this.#refreshAddresses();
    if (this.#node !== undefined && this.#networkLooks.failures >= networkLooks) this.#configure(this.#node, true);
    await this.#configuring;
    const status = await this.#status(old);
    const due = clock.monotonic() - this.#reportedAt >= reportFrequencyMs;
    if (!due && sameStatus(old, status)) {
      if (this.#node !== undefined) this.#tell(old, this.#node);
      return;
    }
    // No volume of this agent is one that controllers attach; what an older agent has left must not keep them waiting.
    const volumesInUse = (old?.volumesInUse ?? []).length > 0 ? { volumesInUse: null } : {};
    const addresses = [{ $patch: 'replace' }, ...(status.addresses ?? [])];
    const capacity = resourcesPatch(old?.capacity, status.capacity);
    const allocatable = resourcesPatch(old?.allocatable, status.allocatable);
    const patch = { status: { ...status, ...volumesInUse, addresses, capacity, allocatable } };
    const reported = await this.#nodes.patch(nodeName, patch, { type: 'strategic', subresource: 'status' });
    this.#tell(old, reported);
    this.#seen(reported);
    this.#reportedAt = clock.monotonic();
  }
}
