/** Dispatches the tasks of one pod's lifecycle. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Input, PodFailure, Task } from '#nodeagent/pods/lifecycle.js';
import { PodSync, type SyncServices } from '#nodeagent/pods/pod-sync.js';
import { PodTermination, type TerminationServices } from '#nodeagent/pods/pod-termination.js';
import { StartBackoff, type StartBackoffServices } from '#nodeagent/pods/start-backoff.js';
import { type ReportServices, StatusReporter } from '#nodeagent/pods/status-reporter.js';
import type { PodOperations } from '#nodeagent/pods/worker.js';
import { LostContainers } from '#nodeagent/runtime/lost-containers.js';

/** Services that the tasks of all pods share. */
export type PodServices = SyncServices & TerminationServices & ReportServices & StartBackoffServices;

interface PodParts {
  readonly sync: PodSync;
  readonly termination: PodTermination;
  readonly reporter: StatusReporter;
  readonly backoff: StartBackoff;
}

const acted: Input = { type: 'done', acted: true, wakeAt: Number.POSITIVE_INFINITY };

class PodTasks implements PodOperations {
  readonly #parts: PodParts;

  constructor(parts: PodParts) {
    this.#parts = parts;
  }

  async run(task: Task, signal: AbortSignal): Promise<Input> {
    const { sync, termination } = this.#parts;
    switch (task.type) {
      case 'prepare':
        return sync.prepare(signal);
      case 'observe':
        return sync.observe();
      case 'createSandbox':
        return sync.createSandbox(task.attempt);
      case 'startContainer':
        return sync.startContainer(task.start, signal);
      case 'killContainer':
        await sync.killContainer(task.kill);
        return acted;
      case 'removeContainer':
        await sync.removeContainer(task.container);
        return acted;
      case 'removeSandbox':
        await sync.removeSandbox(task.sandbox);
        return acted;
      case 'finish':
        await termination.finish(task.failure);
        return acted;
      case 'stopPod':
        await termination.stop(task.graceSeconds);
        return acted;
      case 'conclude':
        await termination.conclude();
        return acted;
      case 'removePod':
        await termination.remove();
        return acted;
      case 'deleteObject':
        await termination.deleteObject();
        return acted;
      default:
        return task satisfies never;
    }
  }

  condemn(failure: PodFailure): boolean {
    return this.#parts.sync.condemn(failure);
  }

  hasten(graceSeconds: number): void {
    this.#parts.termination.hasten(graceSeconds);
  }

  report(): Promise<void> {
    return this.#parts.reporter.report();
  }

  silence(): void {
    this.#parts.reporter.silence();
  }

  resetBackoff(): void {
    this.#parts.backoff.reset();
  }
}

/** The tasks of one pod. `pod`: its last version in the API. */
export function podTasks(services: PodServices, pod: () => Pod): PodOperations {
  const backoff = new StartBackoff(services, pod().metadata.uid ?? '');
  const lost = new LostContainers(services.verifier);
  const reporter = new StatusReporter(services, pod, { backoff, lost });
  const sync = new PodSync(services, pod, { backoff, reporter, lostContainers: lost });
  const termination = new PodTermination(services, pod, backoff, reporter);
  return new PodTasks({ sync, termination, reporter, backoff });
}
