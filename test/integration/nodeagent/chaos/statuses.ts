/** Follows pod statuses and records those that are false, reverted or impossible. */
import type { ContainerState, ContainerStatus, Pod } from '#api/core/v1/types.gen.js';
import type { RecordedRuns } from '#test/integration/nodeagent/chaos/recorded-runs.js';

const isOver = (phase: string | undefined) => phase === 'Succeeded' || phase === 'Failed';

function allStatuses({ status }: Pod): ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

export class Statuses {
  readonly #recordedRuns: RecordedRuns;
  /** By UID. */
  readonly #lastPods = new Map<string, Pod>();
  readonly problems = new Set<string>();

  constructor(recordedRuns: RecordedRuns) {
    this.#recordedRuns = recordedRuns;
  }

  check(pods: readonly Pod[]): void {
    for (const pod of pods) {
      const uid = pod.metadata.uid ?? '';
      const before = this.#lastPods.get(uid);
      if (before?.metadata.resourceVersion === pod.metadata.resourceVersion) continue;
      this.#lastPods.set(uid, pod);
      this.#compare(pod, before);
    }
  }

  #note(pod: Pod, what: string): void {
    this.problems.add(`${pod.metadata.uid} (${pod.spec.restartPolicy}): ${what}`);
  }

  #compare(pod: Pod, before: Pod | undefined): void {
    const [was, is] = [before?.status?.phase, pod.status?.phase];
    if (isOver(was) && is !== was) this.#note(pod, `${was} became ${is}`);
    const old = new Map(before === undefined ? [] : allStatuses(before).map((each) => [each.name, each]));
    for (const status of allStatuses(pod)) {
      this.#compareContainer(pod, status, old.get(status.name));
      for (const state of [status.state, status.lastState]) this.#checkEnd(pod, status.name, state);
      const { running } = status.state ?? {};
      if (running !== undefined && this.#recordedRuns.byID(status.containerID ?? '') === undefined)
        this.#note(pod, `${status.name} runs and was never started`);
    }
  }

  #compareContainer(pod: Pod, { name, state, restartCount }: ContainerStatus, old: ContainerStatus | undefined): void {
    if (old === undefined) return;
    if (restartCount < old.restartCount)
      this.#note(pod, `${name}: ${old.restartCount} restarts became ${restartCount}`);
    const ended = old.state?.terminated;
    if (ended === undefined) return;
    if (restartCount === old.restartCount && state?.running !== undefined)
      this.#note(pod, `${name}: it ended and runs, with ${restartCount} restarts`);
    const { terminated } = state ?? {};
    if (restartCount === old.restartCount && terminated !== undefined && terminated.exitCode !== ended.exitCode)
      this.#note(pod, `${name}: exit code ${ended.exitCode} became ${terminated.exitCode}`);
    const policy = pod.spec.restartPolicy;
    const isForGood = policy === 'Never' || (policy === 'OnFailure' && ended.exitCode === 0);
    if (isForGood && state?.terminated === undefined)
      this.#note(pod, `${name}: it ended for good and is ${JSON.stringify(state)}`);
  }

  #checkEnd(pod: Pod, name: string, state: ContainerState | undefined): void {
    const { terminated } = state ?? {};
    if (terminated === undefined) return;
    const { exitCode, reason, containerID = '' } = terminated;
    if (containerID === '') {
      if (reason !== 'ContainerStatusUnknown') this.#note(pod, `${name}: ${JSON.stringify(terminated)}`);
      return;
    }
    const run = this.#recordedRuns.byID(containerID);
    // A container that never started is terminated, too.
    if (run === undefined && (exitCode === 137 || exitCode === 143)) return;
    if (run?.exitCode !== exitCode)
      this.#note(pod, `${name}: it ended with ${exitCode}, and did so with ${run?.exitCode}`);
  }
}
