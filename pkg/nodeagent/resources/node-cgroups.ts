/**
 * The cgroups above those of pods: that of all pods, limited to the node's allocatable resources; those of the classes
 * burstable and best effort, which follow the current pods; and system cgroups, limited to their reservations. Reasons
 * and messages of release 1.24.
 */
import { join } from 'node:path';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import type { NodeEvents } from '#nodeagent/node/node-events.js';
import {
  allocatableLimits,
  type Capacity,
  type QosInput,
  type QosLimits,
  qosLimits,
  reservedLimits,
} from '#nodeagent/resources/cgroup-plan.js';
import type { CgroupLimits } from '#nodeagent/resources/cgroup-settings.js';
import { CgroupLimitError, type CgroupTree } from '#nodeagent/resources/cgroup-tree.js';

/** A system cgroup that is limited to its reservation. */
export interface ReservedCgroup {
  /** Its name in events: `System`, `Kube`. */
  readonly title: string;
  readonly path: string;
  readonly reserved: Readonly<Record<string, string>>;
}

export interface NodeCgroupsOptions {
  readonly tree: CgroupTree;
  readonly clock: Clock;
  readonly log: Logger;
  readonly events: Pick<NodeEvents, 'record'>;
  /** The cgroup above all others; it must exist. */
  readonly root: string;
  /** Absolute path of the cgroup of all pods. */
  readonly path: string;
  readonly capacity: () => Promise<Capacity>;
  /** Reservations, subtracted from pods' resources. */
  readonly reserved: readonly Readonly<Record<string, string>>[];
  readonly enforced: readonly ReservedCgroup[];
  /** Pods that have not ended. */
  readonly pods: () => readonly Pod[];
  readonly memoryQoS: boolean;
  /** Percentage of better classes' memory requests that is withheld; absent: none. */
  readonly reservedPercent?: number;
}

const retryMs = 60_000;
const refreshMs = 60_000;
const classes = ['burstable', 'besteffort'] as const;

export class NodeCgroups {
  readonly #options: NodeCgroupsOptions;
  /** The last limits that were set, by path. */
  readonly #set = new Map<string, string>();
  #allocatable: CgroupLimits = {};
  #updating: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(options: NodeCgroupsOptions) {
    this.#options = options;
  }

  /** Creates the cgroups and limits the system cgroups. Throws errors that prevent the agent from working. */
  async start(): Promise<void> {
    const { tree, root, path, reserved, capacity } = this.#options;
    const missingDirs = await tree.missingDirectories(root);
    if (missingDirs.length > 0) throw new Error(`invalid configuration: ${missingPaths(root, missingDirs)}`);
    this.#allocatable = allocatableLimits(await capacity(), reserved);
    await this.#create(path);
    for (const level of classes) await this.#create(join(path, level));
    await this.update();
    for (const each of this.#options.enforced) await this.#enforce(each);
  }

  /** A machine without writable cgroups still runs pods, without limits. */
  async #create(path: string): Promise<void> {
    const { tree, log } = this.#options;
    try {
      await tree.create(path);
    } catch (error) {
      log.warn({ err: error, path }, 'failed to create a cgroup');
    }
  }

  /** Limits all pods once their usage allows it, and refreshes the classes' limits until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#limitPods(signal), this.#refresh(signal)]);
  }

  async #limitPods(signal: AbortSignal): Promise<void> {
    const { tree, clock, events, path } = this.#options;
    while (!signal.aborted) {
      try {
        await tree.limit(path, this.#allocatable);
        events.record({
          type: 'Normal',
          reason: 'NodeAllocatableEnforced',
          message: 'Updated Node Allocatable limit across pods',
        });
        return;
      } catch (error) {
        // Usage may exceed the limit until evictions reduce it.
        const message = `Failed to update Node Allocatable Limits ${quoted(path)}: ${messageOf(error)}`;
        events.record({ type: 'Warning', reason: 'FailedNodeAllocatableEnforcement', message });
        await clock.sleep(retryMs, signal);
      }
    }
  }

  async #refresh(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(refreshMs, signal);
      if (signal.aborted) return;
      // Also undoes changes by other programs.
      this.#set.clear();
      await this.update();
    }
  }

  async #enforce({ title, path, reserved }: ReservedCgroup): Promise<void> {
    const { tree, events, memoryQoS } = this.#options;
    try {
      const missing = await tree.missingDirectories(path);
      if (missing.length > 0) throw new Error(missingPaths(path, missing));
      await tree.limit(path, reservedLimits(reserved, { memoryQoS: memoryQoS && tree.version === 2 }));
    } catch (error) {
      const message = `Failed to enforce ${title} Reserved Cgroup Limits on "${path}": ${messageOf(error)}`;
      events.record({ type: 'Warning', reason: 'FailedNodeAllocatableEnforcement', message });
      throw new Error(message, { cause: error });
    }
    const message = `Updated limits on ${title.toLowerCase()} reserved cgroup ${path}`;
    events.record({ type: 'Normal', reason: 'NodeAllocatableEnforced', message });
  }

  /** Updates the classes' limits to the current pods. Concurrent calls share one update. Never rejects. */
  update(): Promise<void> {
    if (this.#updating === undefined) {
      this.#updating = this.#update().finally(() => {
        this.#updating = undefined;
      });
      return this.#updating;
    }
    // The running update may already have read the pods.
    this.#next ??= this.#updating.then(() => {
      this.#next = undefined;
      return this.update();
    });
    return this.#next;
  }

  async #update(): Promise<void> {
    const { tree, pods, path, memoryQoS, reservedPercent } = this.#options;
    const input: QosInput = {
      pods: pods(),
      memoryQoS: memoryQoS && tree.version === 2,
      ...(reservedPercent === undefined
        ? {}
        : { reserved: { percent: reservedPercent, allocatableBytes: this.#allocatable.memoryBytes ?? 0 } }),
    };
    const limits = qosLimits(input);
    for (const level of ['all', ...classes] as const satisfies readonly (keyof QosLimits)[]) {
      await this.#limitClass(level === 'all' ? path : join(path, level), limits[level]);
    }
  }

  async #limitClass(path: string, limits: CgroupLimits): Promise<void> {
    const { log } = this.#options;
    const limitsText = JSON.stringify(limits);
    if (limitsText === '{}' || this.#set.get(path) === limitsText) return;
    try {
      await this.#limitNearUsage(path, limits);
      this.#set.set(path, limitsText);
    } catch (error) {
      log.warn({ err: error, path }, 'failed to update QoS cgroup configuration');
    }
  }

  /** Memory in use cannot be taken away: limits memory to the current usage, so that it stops growing. */
  async #limitNearUsage(path: string, limits: CgroupLimits): Promise<void> {
    const { tree } = this.#options;
    try {
      await tree.limit(path, limits);
    } catch (error) {
      const used = limits.memoryBytes === undefined ? undefined : await tree.memoryUsage(path);
      if (!(error instanceof CgroupLimitError) || used === undefined || used <= (limits.memoryBytes ?? 0)) throw error;
      await tree.limit(path, { ...limits, memoryBytes: used });
    }
  }
}

/** Go's format of a cgroup name, as in release 1.24: `["a" "b"]`. */
function quoted(path: string): string {
  const parts = path.split('/').filter((part) => part !== '');
  return `[${parts.map((part) => JSON.stringify(part)).join(' ')}]`;
}

function missingPaths(path: string, missing: readonly string[]): string {
  return `cgroup ${quoted(path)} has some missing paths: ${missing.join(', ')}`;
}
