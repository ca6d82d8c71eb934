/** Gives processors to containers, keeps the assignment in a file, and the running containers' CPU sets as assigned. */
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { type Clock, upkeepClock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { CheckpointFile } from '#nodeagent/allocation/checkpoint/checkpoint-file.js';
import { cpuCheckpoint } from '#nodeagent/allocation/cpus/cpu-checkpoint.js';
import { type CPUSet, formatCPUs } from '#nodeagent/allocation/cpus/cpu-set.js';
import type { CPUState } from '#nodeagent/allocation/cpus/cpu-state.js';
import type { StaticCPUPolicy } from '#nodeagent/allocation/cpus/static-policy.js';
import type { AllocationProvider, ContainerAllocation, IsActive } from '#nodeagent/allocation/provider.js';
import type { ResourceHints, TopologyHint } from '#nodeagent/allocation/topology/hint.js';
import type { RuntimeService } from '#nodeagent/cri/cri.js';
import { isRunning, newestContainer, type PodRuntime } from '#nodeagent/runtime/pod-runtime.js';

export interface CPUManagerOptions {
  readonly policy: StaticCPUPolicy;
  /** Checked by the policy. */
  readonly state: CPUState;
  readonly file: CheckpointFile;
  readonly clock: Clock;
  readonly log: Logger;
  readonly cri: Pick<RuntimeService, 'updateContainerResources'>;
  /** Pods that have not ended. */
  readonly activePods: () => readonly Pod[];
  readonly runtime: (uid: string) => PodRuntime | undefined;
  /** Time between two comparisons of all running containers. */
  readonly periodMs: number;
}

export class CPUManager implements AllocationProvider {
  readonly #options: CPUManagerOptions;
  readonly #state: CPUState;
  /** CPU sets of running containers, by container ID. */
  readonly #applied = new Map<string, string>();
  /** CPU sets of containers that are being created, by pod UID and container name. */
  readonly #configured = new Map<string, string>();

  constructor(options: CPUManagerOptions) {
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
    const { policy, log } = this.#options;
    const before = this.#state.shared;
    policy.allocate(this.#state, pod, container, affinity);
    if (this.#state.shared === before) return;
    const { uid = '', name, namespace } = pod.metadata;
    const cpus = formatCPUs(this.exclusive(uid, container.name));
    log.info({ namespace, name, container: container.name, cpus }, 'CPUs allocated');
    await this.#save();
  }

  retain(isActive: IsActive): void {
    const stale = [...this.#state.assignments].flatMap(([uid, containers]) =>
      [...containers.keys()].filter((name) => !isActive(uid, name)).map((name) => ({ uid, name })),
    );
    if (stale.length === 0) return;
    for (const { uid, name } of stale) {
      this.#options.log.info({ podUID: uid, container: name }, 'freeing the CPUs of a container that is gone');
      this.#state.release(uid, name);
    }
    void this.#save();
  }

  configure({ metadata }: Pod, { name }: Container): ContainerAllocation {
    const { uid = '' } = metadata;
    const cpus = formatCPUs(this.#cpusOf(uid, name));
    if (cpus === '') return {};
    this.#configured.set(`${uid} ${name}`, cpus);
    return { cpus };
  }

  starting({ metadata }: Pod, { name }: Container, id: string): void {
    const key = `${metadata.uid} ${name}`;
    const cpus = this.#configured.get(key);
    this.#configured.delete(key);
    if (cpus !== undefined) this.#applied.set(id, cpus);
  }

  /** Processors that only this container uses. */
  exclusive(uid: string, container: string): CPUSet {
    return this.#state.of(uid, container) ?? new Set();
  }

  /** Processors that containers can get exclusively. */
  get allocatable(): CPUSet {
    return this.#options.policy.allocatable;
  }

  /** Writes the CPU sets of running containers that differ from the assignment, until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal, retainActive: () => void): Promise<void> {
    const { clock, periodMs } = this.#options;
    while (!signal.aborted) {
      retainActive();
      await this.#reconcile(signal);
      await upkeepClock(clock).sleep(periodMs, signal);
    }
  }

  async #reconcile(signal: AbortSignal): Promise<void> {
    const { activePods, runtime, log, cri } = this.#options;
    const seen = new Set<string>();
    for (const { metadata, spec } of activePods()) {
      const { uid = '', name: podName, namespace } = metadata;
      const state = runtime(uid);
      if (state === undefined) continue;
      for (const { name } of [...(spec.initContainers ?? []), ...spec.containers]) {
        const container = newestContainer(state, name);
        if (container === undefined || !isRunning(container)) continue;
        seen.add(container.id);
        const cpus = formatCPUs(this.#cpusOf(uid, name));
        if (cpus === '' || cpus === this.#applied.get(container.id) || signal.aborted) continue;
        try {
          await cri.updateContainerResources(container.id, { cpusetCpus: cpus });
          this.#applied.set(container.id, cpus);
        } catch (error) {
          log.error({ err: error, namespace, name: podName, container: name, cpus }, 'failed to update a CPU set');
        }
      }
    }
    for (const id of this.#applied.keys()) if (!seen.has(id)) this.#applied.delete(id);
  }

  #cpusOf(uid: string, container: string): CPUSet {
    return this.#state.of(uid, container) ?? this.#state.shared;
  }

  #save(): Promise<void> {
    return this.#options.file.save(() => cpuCheckpoint('static', this.#state));
  }
}
