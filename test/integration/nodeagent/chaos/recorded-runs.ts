/** What the runtime really did, seen behind the agent's back: which runs began, and how they ended. */
import type { ContainerStatus } from '#nodeagent/cri/cri.js';
import type { SimulatedRuntime } from '#nodeagent/simulated/runtime.js';

export interface Run {
  readonly pod: string;
  readonly name: string;
  readonly attempt: number;
  readonly id: string;
  exitCode: number | undefined;
}

const runtimePrefix = 'simulated://';

export class Truth {
  /** By id of the container. */
  readonly #runs = new Map<string, Run>();
  /** `pod/container/attempt` of runs that began more than once. */
  readonly twice = new Set<string>();
  readonly #begun = new Map<string, string>();

  /** @param uidLabel Where a container has its pod's UID. */
  constructor(runtime: SimulatedRuntime, uidLabel: string) {
    runtime.subscribe({
      onConnected: () => undefined,
      onEvent: ({ id }) => {
        // Told in the midst of the change: what it is now is found at once.
        runtime.containerStatus(id).then(
          (status) => this.#look(status, status.labels[uidLabel] ?? ''),
          // A sandbox.
          () => undefined,
        );
      },
    });
  }

  get count(): number {
    return this.#runs.size;
  }

  of(pod: string, name: string): Run[] {
    return [...this.#runs.values()].filter((run) => run.pod === pod && run.name === name);
  }

  /** @param containerID As a status has it. */
  byID(containerID: string): Run | undefined {
    return this.#runs.get(containerID.slice(runtimePrefix.length));
  }

  #look({ id, metadata: { name, attempt }, state, exitCode, startedAt }: ContainerStatus, pod: string): void {
    if (startedAt === 0) return;
    let run = this.#runs.get(id);
    if (run === undefined) {
      run = { pod, name, attempt, id, exitCode: undefined };
      this.#runs.set(id, run);
      const key = `${pod}/${name}/${attempt}`;
      const other = this.#begun.get(key);
      if (other !== undefined) this.twice.add(`${key}: ${other} and ${id}`);
      this.#begun.set(key, id);
    }
    if (state === 'CONTAINER_EXITED') run.exitCode = exitCode;
  }
}
