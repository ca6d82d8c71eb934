/** Registers the node and maintains its status: writes changes at once, and the unchanged status periodically. */

import { isNodeReady } from '#api/core/v1/node/conditions.js';
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node, NodeStatus, Taint } from '#api/core/v1/types.gen.js';
import { LatestValue } from '#apimachinery/async/latest-value.js';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import { type Clock, formatTime, pauseClock, reportClock, upkeepClock } from '#apimachinery/clock.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import type { Client, ResourceClient } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';
import type { CRI, Image } from '#nodeagent/cri/cri.js';
import type { Machine, MachineFacts } from '#nodeagent/node/machine.js';
import { type NodeEvents, statusEvent, statusEvents } from '#nodeagent/node/node-events.js';
import {
  isNewer,
  reconcileNode,
  resourcesPatch,
  sameStatus,
  withDevices,
  withOtherResources,
} from '#nodeagent/node/reconcile-node.js';
import type { RuntimeNetwork } from '#nodeagent/node/runtime-network.js';
import { nodeResources, nodeStatus, type Reservations, type Resources } from '#nodeagent/node/status.js';
import type { PressureCondition } from '#nodeagent/pressure/thresholds.js';
import type { RuntimeHealth } from '#nodeagent/runtime/health.js';

export interface NodeRegistrarOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly cri: CRI;
  readonly machine: Machine;
  readonly nodeName: string;
  /** False: another program creates the node object. */
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
  /** 0: no limit below `maxPods`. */
  readonly podsPerCore: number;
  readonly maxImages: number;
  readonly reservations: Reservations;
  readonly updateFrequencyMs: number;
  readonly reportFrequencyMs: number;
  readonly serverPort: () => number;
  /** The machine is new to this node name, or was set up again. Called at registration. */
  readonly isNewMachine: () => boolean;
  readonly health: Pick<RuntimeHealth, 'refresh' | 'problems' | 'networkProblem'>;
  /** Another reason why the node is not ready. */
  readonly problem?: () => string | undefined;
  readonly network: RuntimeNetwork;
  readonly events: NodeEvents;
  /** What the node is short of. */
  readonly pressures: () => readonly PressureCondition[];
  /** Names of the attachable volumes that this node uses; undefined until they are known. */
  readonly volumesInUse: () => readonly string[] | undefined;
  /** Amounts of devices. Absent if the node has no device plugins. */
  readonly devices?: (() => Resources) | undefined;
}

/** How long a status waits for the runtime's images and disks; afterwards the last answer counts. */
const runtimeWaitMs = 1000;
const retryMs = 500;
const maxRetryMs = 7000;

/** Polling periods while the runtime's network is not ready: the first, and the longest (1.24's fixed period). */
const networkMs = { initialMs: 50, maxMs: 5000 };
/** After this many tries, sends the runtime the pods' addresses again. */
const networkTries = 4;

export class NodeRegistrar {
  readonly #options: NodeRegistrarOptions;
  readonly #nodes: ResourceClient<Node>;
  #facts: MachineFacts | undefined;
  /** Empty while the requested addresses cannot be the machine's. */
  #addresses: readonly string[] = [];
  /** The last logged problem with the addresses. */
  #addressProblem: string | undefined;
  #addressRefresh: Promise<void> | undefined;
  #resources: Resources = { capacity: {}, allocatable: {} };
  #runtimeVersion = '';
  #node: Node | undefined;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #wake: (() => void) | undefined;
  #poked = false;
  /** Running update of the runtime's pod addresses. */
  #configuring: Promise<void> = Promise.resolve();
  #unschedulable: boolean | undefined;
  readonly #networkBackoff = new Backoff(networkMs);
  readonly #images: LatestValue<readonly Image[]>;

  constructor(options: NodeRegistrarOptions) {
    const { client, clock, log, cri } = options;
    this.#options = options;
    this.#nodes = client.resource(nodes);
    const cachedAnswer = <T>(ask: () => Promise<T>, what: string) =>
      new LatestValue<T>({
        ...{ clock, ask },
        waitMs: runtimeWaitMs,
        onFailure: (error) => log.debug({ err: error }, what),
      });
    this.#images = cachedAnswer(() => cri.listImages(), "listing the runtime's images failed");
  }

  /** Reads the machine's and the runtime's properties. Must be called first. */
  async prepare(): Promise<void> {
    const { machine, cri, maxPods, podsPerCore, reservations } = this.#options;
    this.#facts = await machine.facts();
    await this.#readAddresses();
    const coreLimit = podsPerCore > 0 ? podsPerCore * this.#facts.cpus : maxPods;
    this.#resources = nodeResources(this.#facts, Math.min(maxPods, coreLimit), reservations);
    const { runtimeName, runtimeVersion } = await cri.version();
    this.#runtimeVersion = `${runtimeName}://${runtimeVersion}`;
  }

  /** Never rejects; on failure the addresses stay. */
  async #readAddresses(): Promise<void> {
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
      log.warn({ problem }, 'node has no address that other machines can reach');
    this.#addressProblem = problem;
  }

  /** Runs in the background, since name resolution may take long. */
  #refreshAddresses(): void {
    const before = this.#addresses.join();
    this.#addressRefresh ??= this.#readAddresses().finally(() => {
      this.#addressRefresh = undefined;
      if (this.#addresses.join() !== before) this.poke();
    });
  }

  get facts(): MachineFacts {
    if (this.#facts === undefined) throw new Error('prepare() must be called before facts are read');
    return this.#facts;
  }

  get resources(): Resources {
    return this.#resources;
  }

  /** The node's addresses, one or one of each family; pods see the first. */
  get hostIPs(): readonly string[] {
    return this.#addresses.length > 0 ? this.#addresses : this.#options.nodeIPs;
  }

  get node(): Node | undefined {
    return this.#node;
  }

  /** Why pods get no network, by the runtime's last status. */
  get networkProblem(): string | undefined {
    return this.#options.health.networkProblem;
  }

  /** The node as last seen, or as it will be registered, with this agent's own resources. */
  get currentNode(): Node {
    const { nodeName: name, taints } = this.#options;
    const unregistered = { metadata: { name, labels: this.#ownLabels() }, spec: { taints: [...taints] } };
    return this.#withOwnResources(this.#node ?? unregistered);
  }

  #withOwnResources({ metadata, spec, status }: Node): Node {
    const allocatable = { ...status?.allocatable, ...this.#resources.allocatable };
    return { metadata, spec, status: { ...status, allocatable } };
  }

  /** Reads the node from the API. Throws StatusError. */
  async refresh(): Promise<Node> {
    try {
      const node = await this.#nodes.get(this.#options.nodeName);
      this.observe(node);
      return this.#withOwnResources(node);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return this.currentNode;
    }
  }

  /** `containerd`, `simulated`. */
  get runtimeName(): string {
    return this.#runtimeVersion.split(':')[0] ?? '';
  }

  /** Handles a change of the node in the API; undefined if it was deleted. */
  observe(node: Node | undefined): void {
    // Before registration, the object may be an old one.
    if (this.#node === undefined) return;
    if (node === undefined) {
      this.#reportedAt = Number.NEGATIVE_INFINITY;
      this.poke();
      return;
    }
    if (!isNewer(node, this.#node)) return;
    this.#update(node);
    // The node was declared unreachable: report at once that it is reachable.
    if (!isNodeReady(node)) this.poke();
  }

  /** Registers, then maintains the status until `signal` aborts. Calls `onRegistered` once. */
  async run(signal: AbortSignal, onRegistered: () => void): Promise<void> {
    const { clock, log, updateFrequencyMs } = this.#options;
    this.#options.events.starting(this.#options.client.dialect.components.nodeAgent);
    const backoff = new Backoff({ initialMs: retryMs, maxMs: maxRetryMs });
    while (!signal.aborted && this.#node === undefined) {
      try {
        this.#update(await this.#register());
      } catch (error) {
        log.warn({ err: error }, 'registering the node failed');
        await pauseClock(clock).sleep(backoff.nextMs(), signal);
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
        // The node may have been deleted or replaced.
        if (isNotFound(error)) await this.#reregister();
      }
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      if (this.#poked) continue;
      const waitMs = this.networkProblem === undefined ? updateFrequencyMs : this.#networkBackoff.nextMs();
      const nextMs = failed ? Math.min(backoff.nextMs(), updateFrequencyMs) : Math.min(waitMs, updateFrequencyMs);
      // A node that works has nothing new to report.
      const isSteady = !failed && this.networkProblem === undefined;
      await Promise.race([(isSteady ? reportClock : upkeepClock)(clock).sleep(nextMs, signal), woken]);
    }
  }

  /** Without an API, only tells the runtime the pods' addresses. */
  async standAlone(): Promise<void> {
    await this.#options.network.sendPodCIDR(this.currentNode);
  }

  /** Reports a changed status at once. */
  poke(): void {
    this.#poked = true;
    this.#wake?.();
  }

  #update(node: Node): void {
    if (this.#node !== undefined && this.#node.metadata.uid === node.metadata.uid && isNewer(this.#node, node)) return;
    this.#node = node;
    this.#configure(node);
  }

  #configure(node: Node, again = false): void {
    const update = this.#configuring.then(() => this.#options.network.sendPodCIDR(node, again));
    this.#configuring = update.then((isNew) => {
      if (!isNew || again) return;
      this.#networkBackoff.reset();
      this.poke();
    });
  }

  async #reregister(): Promise<void> {
    try {
      this.#update(await this.#register());
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
      this.#recordEvents(undefined, created);
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
    const { client, clock, nodeName, maxImages, serverPort, health, pressures, devices } = this.#options;
    const [images = []] = await Promise.all([this.#images.refresh(), health.refresh()]);
    if (health.networkProblem === undefined) this.#networkBackoff.reset();
    return nodeStatus({
      dialect: client.dialect,
      facts: this.facts,
      pressures: pressures(),
      resources: withOtherResources(withDevices(this.#resources, devices?.()), old, client.dialect),
      addresses: [
        ...this.#addresses.map((address) => ({ type: 'InternalIP', address })),
        { type: 'Hostname', address: nodeName },
      ],
      runtimeVersion: this.#runtimeVersion,
      images,
      maxImages,
      serverPort: serverPort(),
      notReady: [...health.problems(), this.#options.problem?.() ?? []].flat(),
      old,
      now: formatTime(clock.now()),
    });
  }

  /** Events are recorded after the API has the status, so that none is recorded twice. */
  #recordEvents(old: NodeStatus | undefined, node: Node): void {
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
    if (this.#node !== undefined && this.#networkBackoff.failures >= networkTries) this.#configure(this.#node, true);
    await this.#configuring;
    const status = await this.#status(old);
    const due = clock.monotonic() - this.#reportedAt >= reportFrequencyMs;
    const volumesInUse = this.#options.volumesInUse() ?? old?.volumesInUse ?? [];
    const usesSame = semanticEqual(volumesInUse, old?.volumesInUse ?? []);
    if (!due && usesSame && sameStatus(old, status)) {
      if (this.#node !== undefined) this.#recordEvents(old, this.#node);
      return;
    }
    const addresses = [{ $patch: 'replace' }, ...(status.addresses ?? [])];
    const capacity = resourcesPatch(old?.capacity, status.capacity);
    const allocatable = resourcesPatch(old?.allocatable, status.allocatable);
    const inUse = usesSame ? {} : { volumesInUse: volumesInUse.length === 0 ? null : volumesInUse };
    const patch = { status: { ...status, ...inUse, addresses, capacity, allocatable } };
    const reported = await this.#nodes.patch(nodeName, patch, { type: 'strategic', subresource: 'status' });
    this.#recordEvents(old, reported);
    this.#update(reported);
    this.#reportedAt = clock.monotonic();
  }
}
