/**
 * The cgroups of pods: `<root>/<pods>/[burstable|besteffort]/pod<uid>`. The runtime puts containers below; here the pod's own
 * is made, limited and removed.
 */
import { join } from 'node:path';
import { podQosClass } from '#api/core/v1/pod/resources.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { CgroupTree } from '#nodeagent/resources/cgroup-tree.js';
import { type CPUQuota, podCgroupLimits } from '#nodeagent/resources/container-resources.js';

export interface PodCgroupsOptions {
  readonly tree: CgroupTree;
  /** Absolute path of the cgroup of all pods. */
  readonly path: string;
  readonly quota: CPUQuota;
  /** Processes of each pod; not positive: as many as all pods may have. */
  readonly pidsLimit: number;
  /** Where systemd makes cgroups: what the runtime's scopes begin with, such as `cri-containerd`. */
  readonly scopePrefix?: string;
  /** Pods keep the memory that they ask for; cgroups of version 2 only. */
  readonly memoryQoS: boolean;
  /** The classes' own are to follow the pods that there are. Never rejects. */
  readonly onChange: () => Promise<void>;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Told of every operation, well or not. */
  readonly onOperation: (operation: 'create' | 'update' | 'destroy', durationMs: number) => void;
  /** Told of what this machine does not let be set or removed. */
  readonly onRefused: (path: string, error: unknown) => void;
}

/** Below the cgroup of all pods; guaranteed pods lie right in it. */
const levels = ['', 'burstable', 'besteffort'] as const;

export class PodCgroups {
  readonly #options: PodCgroupsOptions;

  constructor(options: PodCgroupsOptions) {
    this.#options = options;
  }

  /** Where that of all pods lies. */
  get path(): string {
    return this.#options.tree.locate(this.#options.path);
  }

  /** What the sandbox's `cgroupParent` is set to: where the pod's lies. */
  parentOf(pod: Pod): string {
    return this.#options.tree.locate(this.#pathOf(pod));
  }

  /** Where the runtime puts a container or sandbox of the pod. */
  containerPath(pod: Pod, id: string): string {
    const { scopePrefix } = this.#options;
    return join(this.parentOf(pod), scopePrefix === undefined ? id : `${scopePrefix}-${id}.scope`);
  }

  #pathOf(pod: Pod): string {
    const qos = podQosClass(pod);
    const level = qos === 'Guaranteed' ? '' : qos.toLowerCase();
    return join(this.#options.path, level, `pod${pod.metadata.uid}`);
  }

  /** Makes the pod's cgroup and sets its limits; idempotent. */
  async create(pod: Pod): Promise<void> {
    const { tree, quota, pidsLimit, memoryQoS, onChange, onRefused } = this.#options;
    const path = this.#pathOf(pod);
    const limits = podCgroupLimits(pod, { quota, memoryQoS });
    await onChange();
    try {
      await this.#measured('create', () => tree.create(path));
      const all = pidsLimit > 0 ? { ...limits, pids: pidsLimit } : limits;
      await this.#measured('update', () => tree.limit(path, all));
    } catch (error) {
      onRefused(path, error);
    }
  }

  async #measured(operation: 'create' | 'update' | 'destroy', work: () => Promise<void>): Promise<void> {
    const { clock, onOperation } = this.#options;
    const began = clock.monotonic();
    try {
      await work();
    } finally {
      onOperation(operation, clock.monotonic() - began);
    }
  }

  /** UIDs of the pods that have one, also of those that nobody knows any more. */
  async list(): Promise<string[]> {
    const { tree, path } = this.#options;
    const names = await Promise.all(levels.map((level) => tree.children(join(path, level))));
    return names.flat().flatMap((name) => /^pod(.+)$/.exec(name)?.[1] ?? []);
  }

  /** Removes the pod's cgroup with what is left below it, whatever its quality of service was; what still runs there ends. */
  async remove(podUID: string): Promise<void> {
    const { tree, path, onChange, onRefused } = this.#options;
    for (const level of levels) {
      const own = join(path, level, `pod${podUID}`);
      try {
        await this.#measured('destroy', () => tree.remove(own));
      } catch (error) {
        onRefused(own, error);
      }
    }
    await onChange();
  }
}
