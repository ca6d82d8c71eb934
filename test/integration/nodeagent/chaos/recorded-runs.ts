/** Records which runs really began in the runtime and how they ended, independently of the agent. */
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

export class RecordedRuns {
  /** By container ID. */
  readonly #runs = new Map<string, Run>();
  /** Runs that began more than once, as `pod/container/attempt`. */
  readonly twice = new Set<string>();
  readonly #startedAt = new Map<string, string>();

  /** @param uidLabel The label with a container's pod UID. */
  constructor(runtime: SimulatedRuntime, uidLabel: string) {
    runtime.subscribe({
      onConnected: () => undefined,
      onEvent: ({ id }) => {
        // The event comes during the change, so the new state is read at once.
        runtime.containerStatus(id).then(
          (status) => this.#record(status, status.labels[uidLabel] ?? ''),
          // The ID of a sandbox.
          () => undefined,
        );
      },
    });
  }

  get count(): number {
    return this.#runs.size;
  }

  runsOf(pod: string, name: string): Run[] {
    return [...this.#runs.values()].filter((run) => run.pod === pod && run.name === name);
  }

  /** @param containerID As in a container status. */
  byID(containerID: string): Run | undefined {
    return this.#runs.get(containerID.slice(runtimePrefix.length));
  }

  #record({ id, metadata: { name, attempt }, state, exitCode, startedAt }: ContainerStatus, pod: string): void {
    if (startedAt === 0) return;
    let run = this.#runs.get(id);
    if (run === undefined) {
      run = { pod, name, attempt, id, exitCode: undefined };
      this.#runs.set(id, run);
      const key = `${pod}/${name}/${attempt}`;
      const other = this.#startedAt.get(key);
      if (other !== undefined) this.twice.add(`${key}: ${other} and ${id}`);
      this.#startedAt.set(key, id);
    }
    if (state === 'CONTAINER_EXITED') run.exitCode = exitCode;
  }
}
