/** Gives devices of plugins to containers (devicemanager/manager.go of 1.24). */
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { value } from '#apimachinery/quantity.js';
import type { Logger } from '#daemon/log/logger.js';
import { CheckpointFile, diskCheckpoints } from '#nodeagent/allocation/checkpoint/checkpoint-file.js';
import type { AllocationProvider, ContainerAllocation, IsActive } from '#nodeagent/allocation/provider.js';
import type { ResourceHints, TopologyHint } from '#nodeagent/allocation/topology/hint.js';
import { type AssignmentEntry, Assignments } from '#nodeagent/devices/assignments.js';
import { decodeCheckpoint, encodeCheckpoint } from '#nodeagent/devices/checkpoint.js';
import { chooseDevices } from '#nodeagent/devices/choose.js';
import { byNode, type DeviceSet, hasTopology, idsOf } from '#nodeagent/devices/device.js';
import { deviceHints } from '#nodeagent/devices/hints.js';
import { DeviceInventory } from '#nodeagent/devices/inventory.js';
import { decodeResponse, PluginEndpoint } from '#nodeagent/devices/plugin-endpoint.js';
import { deviceLimits, podDeviceLimits } from '#nodeagent/devices/pod-requests.js';
import { containerSettings } from '#nodeagent/devices/settings.js';
import type { Resources } from '#nodeagent/node/status.js';

export interface DeviceManagerOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** The checkpoint's path. */
  readonly checkpoint: string;
  /** IDs of the machine's NUMA nodes; empty if resources are not aligned. */
  readonly nodes: readonly number[];
  /** The pod has not ended. */
  readonly isActive: (podUID: string) => boolean;
  /** Seconds of a plugin's Allocate call. */
  readonly onAllocated: (resource: string, seconds: number) => void;
}

/** Devices of init containers that the pod's other containers may get. */
interface Reusable {
  readonly podUID: string;
  readonly devices: Map<string, ReadonlySet<string>>;
}

const nothing: ReadonlySet<string> = new Set();

export class DeviceManager implements AllocationProvider {
  readonly inventory = new DeviceInventory();
  readonly assignments = new Assignments();
  readonly #options: DeviceManagerOptions;
  readonly #checkpoint: CheckpointFile;
  /** Of the pod that was allocated for last. */
  #reusable: Reusable = { podUID: '', devices: new Map() };
  /** The end of the allocation before: two at the same time could choose the same device. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: DeviceManagerOptions) {
    this.#options = options;
    this.#checkpoint = new CheckpointFile(options.checkpoint, { files: diskCheckpoints, log: options.log });
  }

  #write(): Promise<void> {
    const { inventory, assignments } = this;
    return this.#checkpoint.write(() =>
      encodeCheckpoint({
        assignments: [...assignments.entries()],
        devices: new Map(inventory.resources.map((resource) => [resource, [...inventory.healthy(resource)]])),
      }),
    );
  }

  /** Restores the devices of pods. An unreadable checkpoint is as good as none. */
  async restore(): Promise<void> {
    const { clock, log } = this.#options;
    try {
      const text = await this.#checkpoint.read();
      if (text === undefined) return;
      const { assignments, devices } = decodeCheckpoint(text);
      for (const resource of devices.keys()) this.inventory.expect(resource, clock.monotonic());
      for (const entry of assignments) this.#restore(entry);
    } catch (error) {
      log.warn({ err: error }, 'failed to read the checkpoint of devices: what pods have may not be up to date');
    }
  }

  /** Skips an entry that could not configure its container. */
  #restore(entry: AssignmentEntry): void {
    const { podUID, container, resource } = entry;
    try {
      decodeResponse(entry.response);
      this.assignments.assign(entry);
    } catch (error) {
      this.#options.log.warn(
        { err: error, podUID, container, resource },
        'failed to restore the devices of a container',
      );
    }
  }

  /** A change of devices or assignments. Never rejects. */
  async save(): Promise<void> {
    const { log } = this.#options;
    await this.#write().catch((error: unknown) => {
      log.warn({ err: error }, 'failed to write the checkpoint of devices');
    });
  }

  /** Amounts for the node's status; those of dropped resources are 0. */
  amounts(): Resources {
    const expired = this.inventory.expire(this.#options.clock.monotonic());
    if (expired.length > 0) void this.save();
    const dropped = Object.fromEntries(expired.map((resource) => [resource, '0']));
    const { capacity, allocatable } = this.inventory.amounts;
    return { capacity: { ...capacity, ...dropped }, allocatable: { ...allocatable, ...dropped } };
  }

  /** Numbers of devices in use by resource, if the pod has some: they are enough for it even if its plugin is gone. */
  inUse(podUID: string): ReadonlyMap<string, number> {
    if (!this.assignments.has(podUID)) return new Map();
    return new Map([...this.assignments.allInUse()].map(([resource, ids]) => [resource, ids.size]));
  }

  hints(pod: Pod, container: Container): ResourceHints {
    const { uid = '' } = pod.metadata;
    const hints = new Map<string, readonly TopologyHint[]>();
    for (const [resource, count] of deviceLimits(container, this.#isDevice)) {
      const own = this.assignments.devices(uid, container.name, resource) ?? nothing;
      this.#addHints(hints, { resource, count, own, reusable: this.#reusableBy(uid, resource) });
    }
    return hints;
  }

  podHints(pod: Pod): ResourceHints {
    const hints = new Map<string, readonly TopologyHint[]>();
    for (const [resource, count] of podDeviceLimits(pod, this.#isDevice)) {
      const own = this.assignments.ofPod(pod.metadata.uid ?? '', resource);
      this.#addHints(hints, { resource, count, own, reusable: nothing });
    }
    return hints;
  }

  #addHints(
    hints: Map<string, readonly TopologyHint[]>,
    {
      resource,
      count,
      own,
      reusable,
    }: { resource: string; count: number; own: ReadonlySet<string>; reusable: ReadonlySet<string> },
  ): void {
    const devices = this.inventory.devices(resource);
    // Without an entry there is no preference.
    if (!hasTopology(devices)) return;
    const { nodes } = this.#options;
    if (own.size > 0) {
      const given = { count, devices, available: own, reusable: nothing, nodes };
      hints.set(resource, own.size === count ? deviceHints(given) : []);
      return;
    }
    const available = this.#free(resource);
    const enough = new Set([...available, ...reusable]).size >= count;
    hints.set(resource, enough ? deviceHints({ count, devices, available, reusable, nodes }) : []);
  }

  allocate(pod: Pod, container: Container, affinity: TopologyHint): Promise<void> {
    const result = this.#turn.then(() => this.#allocate(pod, container, affinity));
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #allocate(pod: Pod, container: Container, affinity: TopologyHint): Promise<void> {
    const { uid = '' } = pod.metadata;
    if (this.#reusable.podUID !== uid) this.#reusable = { podUID: uid, devices: new Map() };
    let changed = false;
    for (const [resource, count] of deviceLimits(container, this.#isDevice))
      changed =
        (await this.#allocateResource({ uid, container: container.name, resource, count, affinity })) || changed;
    // As in 1.24, a container starts only if the agent would know its devices after a restart.
    if (changed) await this.#write();
    const isInit = (pod.spec.initContainers ?? []).some(({ name }) => name === container.name);
    const { devices } = this.#reusable;
    for (const [resource, { devices: groups }] of this.assignments.ofContainer(uid, container.name)) {
      const ids = idsOf(groups);
      const before = devices.get(resource) ?? nothing;
      devices.set(resource, isInit ? new Set([...before, ...ids]) : new Set([...before].filter((id) => !ids.has(id))));
    }
  }

  /** True if the container got devices; false if it had them already. */
  async #allocateResource({ uid, container, resource, count, affinity }: AllocationInput): Promise<boolean> {
    const own = this.assignments.devices(uid, container, resource);
    if (own !== undefined && own.size !== count) {
      const names = [uid, container, resource].map((name) => JSON.stringify(name));
      const change = `changed request for resource ${names[2]} from ${own.size} to ${count}`;
      throw new Error(`pod ${names[0]} container ${names[1]} ${change}`);
    }
    if (count === 0 || own !== undefined) return false;
    if (!this.inventory.has(resource)) throw new Error(`can't allocate unregistered device ${resource}`);
    const devices = this.inventory.devices(resource);
    const ids = await this.#choose({ uid, container, resource, count, affinity }, devices);
    const { endpoint } = this.inventory.endpoint(resource) ?? {};
    if (endpoint === undefined) throw new Error(`unknown Device Plugin ${resource}`);
    if (!(endpoint instanceof PluginEndpoint)) throw new Error(`endpoint ${resource} has been stopped`);
    const { clock, onAllocated } = this.#options;
    const startedMs = clock.monotonic();
    try {
      const response = await endpoint.allocate(ids);
      this.assignments.assign({ podUID: uid, container, resource, devices: byNode(ids, devices), response });
    } finally {
      onAllocated(resource, (clock.monotonic() - startedMs) / 1000);
    }
    return true;
  }

  async #choose({ uid, resource, count, affinity }: AllocationInput, devices: DeviceSet): Promise<readonly string[]> {
    const choice = chooseDevices({
      ...{ count, devices, free: this.#free(resource), reusable: this.#reusableBy(uid, resource) },
      affinity: affinity.nodes,
    });
    if (choice.type === 'chosen') return choice.ids;
    if (choice.type === 'unavailable') {
      const amounts = `Requested: ${choice.requested}, Available: ${choice.available}`;
      throw new Error(`requested number of devices unavailable for ${resource}. ${amounts}`);
    }
    const { endpoint, options } = this.inventory.endpoint(resource) ?? {};
    if (options === undefined) throw new Error(`endpoint not found in cache for a registered resource: ${resource}`);
    if (!options.preferences || !(endpoint instanceof PluginEndpoint)) return choice.complete(nothing);
    try {
      return choice.complete(await endpoint.prefer(choice.preference));
    } catch (error) {
      throw new Error(`device plugin GetPreferredAllocation rpc failed with err: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  retain(isActive: IsActive): void {
    if (this.assignments.retain(isActive)) void this.save();
  }

  async configure(pod: Pod, container: Container): Promise<ContainerAllocation> {
    const { uid = '' } = pod.metadata;
    let isMissing = false;
    for (const [resource, quantity] of Object.entries(container.resources?.limits ?? {})) {
      if (!this.#isDevice(resource) || value(quantity) === 0) continue;
      await this.#preStart(uid, container.name, resource);
      // An admission before the plugin came back had no devices to give.
      if (!this.assignments.ofContainer(uid, container.name).has(resource)) isMissing = true;
    }
    if (isMissing && this.#options.isActive(uid)) await this.allocate(pod, container, { preferred: false });
    const assigned = [...this.assignments.ofContainer(uid, container.name).values()];
    const { log } = this.#options;
    return containerSettings(
      assigned.map(({ response }) => decodeResponse(response)),
      (kind, name) =>
        log.warn({ pod: uid, container: container.name, kind, name }, 'device plugins contradict each other'),
    );
  }

  /** Throws with 1.24's words if the plugin refuses the start. */
  async #preStart(uid: string, container: string, resource: string): Promise<void> {
    const { endpoint, options } = this.inventory.endpoint(resource) ?? {};
    if (options === undefined) throw new Error(`endpoint not found in cache for a registered resource: ${resource}`);
    if (!options.preStart || !(endpoint instanceof PluginEndpoint)) return;
    const ids = this.assignments.devices(uid, container, resource);
    if (ids === undefined) {
      const where = `pod ${uid}, container ${container}, resource ${resource}`;
      throw new Error(`no devices found allocated in local cache for ${where}`);
    }
    try {
      await endpoint.preStart([...ids]);
    } catch (error) {
      throw new Error(`device plugin PreStartContainer rpc failed with err: ${messageOf(error)}`, { cause: error });
    }
  }

  /** Resources of plugins, and those that containers still have. */
  readonly #isDevice = (resource: string): boolean =>
    this.inventory.has(resource) || this.assignments.inUse(resource) !== undefined;

  #free(resource: string): ReadonlySet<string> {
    const used = this.assignments.inUse(resource) ?? nothing;
    return new Set([...this.inventory.healthy(resource)].filter((id) => !used.has(id)));
  }

  #reusableBy(uid: string, resource: string): ReadonlySet<string> {
    return (this.#reusable.podUID === uid ? this.#reusable.devices.get(resource) : undefined) ?? nothing;
  }
}

interface AllocationInput {
  readonly uid: string;
  readonly container: string;
  readonly resource: string;
  readonly count: number;
  readonly affinity: TopologyHint;
}
