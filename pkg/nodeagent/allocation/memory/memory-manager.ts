/** Gives memory of NUMA nodes to containers, and keeps the assignment in a file. */
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import type { Logger } from '#daemon/log/logger.js';
import type { CheckpointFile } from '#nodeagent/allocation/checkpoint/checkpoint-file.js';
import { memoryCheckpoint } from '#nodeagent/allocation/memory/memory-checkpoint.js';
import type { MemoryBlock, MemoryState } from '#nodeagent/allocation/memory/memory-state.js';
import type { StaticMemoryPolicy } from '#nodeagent/allocation/memory/static-memory-policy.js';
import type { AllocationProvider, ContainerAllocation, IsActive } from '#nodeagent/allocation/provider.js';
import type { ResourceHints, TopologyHint } from '#nodeagent/allocation/topology/hint.js';

export interface MemoryManagerOptions {
  readonly policy: StaticMemoryPolicy;
  /** Checked by the policy. */
  readonly state: MemoryState;
  readonly file: CheckpointFile;
  readonly log: Logger;
}

export class MemoryManager implements AllocationProvider {
  readonly #options: MemoryManagerOptions;
  readonly #state: MemoryState;

  constructor(options: MemoryManagerOptions) {
    this.#options = options;
    this.#state = options.state;
  }

  hints(pod: Pod, container: Container): ResourceHints {
    return this.#options.policy.hints(this.#state, pod, container);
  }

  podHints(pod: Pod): ResourceHints {
    return this.#options.policy.podHints(this.#state, pod);
  }

  async allocate(pod: Pod, container: Container, affinity: TopologyHint): Promise<void> {
    if (this.#options.policy.allocate(this.#state, pod, container, affinity)) await this.#save();
  }

  retain(isActive: IsActive): void {
    const stale = [...this.#state.assignments].flatMap(([uid, containers]) =>
      [...containers.keys()].filter((name) => !isActive(uid, name)).map((name) => ({ uid, name })),
    );
    if (stale.length === 0) return;
    for (const { uid, name } of stale) {
      this.#options.log.info({ podUID: uid, container: name }, 'freeing the memory of a container that is gone');
      this.#state.release(uid, name);
    }
    void this.#save();
  }

  configure({ metadata }: Pod, { name }: Container): ContainerAllocation {
    const nodes = new Set(this.memoryOf(metadata.uid ?? '', name).flatMap((block) => block.nodes));
    return nodes.size === 0 ? {} : { memoryNodes: [...nodes].sort((a, b) => a - b).join(',') };
  }

  /** Earlier init containers have ended: their memory is free for other pods. */
  starting({ metadata, spec }: Pod, { name }: Container): void {
    const { uid = '' } = metadata;
    let isChanged = false;
    for (const init of spec.initContainers ?? []) {
      if (init.name === name) break;
      isChanged ||= this.#state.blocks(uid, init.name) !== undefined;
      this.#state.release(uid, init.name);
    }
    if (isChanged) void this.#save();
  }

  memoryOf(uid: string, container: string): readonly MemoryBlock[] {
    return this.#state.blocks(uid, container) ?? [];
  }

  /** Memory that containers can get. */
  get allocatable(): readonly MemoryBlock[] {
    return this.#options.policy.allocatable;
  }

  #save(): Promise<void> {
    return this.#options.file.save(() => memoryCheckpoint('Static', this.#state));
  }
}
