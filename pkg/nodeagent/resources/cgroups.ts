/** Creates, limits and removes pods' cgroups: `<root>/<pods>/[burstable|besteffort]/pod<uid>`. Containers are below. */
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
  /** Process limit of each pod; not positive: no limit below that of all pods. */
  readonly pidsLimit: number;
  /** Prefix of the runtime's systemd scopes, such as `cri-containerd`; absent without systemd. */
  readonly scopePrefix?: string;
  /** Protects the memory that pods request; cgroup version 2 only. */
  readonly memoryQoS: boolean;
  /** Updates the cgroups of the QoS classes after a pod's cgroup changed. Never rejects. */
  readonly onChange: () => Promise<void>;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Called after every operation, failed or not. */
  readonly onOperation: (operation: 'create' | 'update' | 'destroy', durationMs: number) => void;
  /** Called for operations that the machine rejected. */
  readonly onRejected: (path: string, error: unknown) => void;
}

/** Below the cgroup of all pods; guaranteed pods are directly in it. */
const levels = ['', 'burstable', 'besteffort'] as const;

export class PodCgroups {
  readonly #options: PodCgroupsOptions;

  constructor(options: PodCgroupsOptions) {
    this.#options = options;
  }

  /** Location of the cgroup of all pods. */
  get path(): string {
    return this.#options.tree.locate(this.#options.path);
  }

  /** The `cgroupParent` of the pod's sandbox: the pod's own cgroup. */
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

  /** Creates the pod's cgroup and sets its limits; idempotent. */
  async create(pod: Pod): Promise<void> {
    const { tree, quota, pidsLimit, memoryQoS, onChange, onRejected: onRefused } = this.#options;
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

  /** UIDs of all pods with a cgroup, including orphans. */
  async list(): Promise<string[]> {
    const { tree, path } = this.#options;
    const names = await Promise.all(levels.map((level) => tree.children(join(path, level))));
    return names.flat().flatMap((name) => /^pod(.+)$/.exec(name)?.[1] ?? []);
  }

  /** Removes the pod's cgroup in any QoS class; kills what still runs there. */
  async remove(podUID: string): Promise<void> {
    const { tree, path, onChange, onRejected: onRefused } = this.#options;
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
