/** Watches the statuses of all pods across API server failures, and records contradictions. */
import { pods } from '#api/core/v1/resources.gen.js';
import type { ContainerStatus, Pod } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import type { Client } from '#client/client.js';
import { exitCodeAnnotation } from '#test/e2e/chaos/pods.js';

/** Exit codes of a container that was killed, that did not start, or whose exit was not observed. */
const codesOfOthers = new Set([128, 137, 143, 255]);
const pauseMs = 200;

interface Seen {
  readonly phase: string | undefined;
  readonly statuses: ReadonlyMap<string, ContainerStatus>;
}

const over = (phase: string | undefined) => phase === 'Succeeded' || phase === 'Failed';

/** Exit codes by container ID, from the current and the last state of a status. */
function ends({ state, lastState }: ContainerStatus): [containerID: string, exitCode: number][] {
  return [state?.terminated, lastState?.terminated].flatMap((ended) =>
    ended?.containerID === undefined || ended.containerID === '' ? [] : [[ended.containerID, ended.exitCode]],
  );
}

/** Facts of an earlier status of a pod that its next status revokes. */
function contradictions(pod: Pod, before: Seen | undefined): string[] {
  const { phase, containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const name = `${pod.metadata.name} (${pod.metadata.uid})`;
  const problems: string[] = [];
  if (over(before?.phase) && phase !== before?.phase) problems.push(`${name}: ${before?.phase} became ${phase}`);
  for (const status of [...initContainerStatuses, ...containerStatuses]) {
    const what = `${name} ${status.name}`;
    const old = before?.statuses.get(status.name);
    const restarts = status.restartCount ?? 0;
    if (restarts < (old?.restartCount ?? 0)) problems.push(`${what}: ${old?.restartCount} restarts became ${restarts}`);
    const { running, terminated } = status.state ?? {};
    const ended = old?.state?.terminated;
    if (ended !== undefined && restarts === old?.restartCount) {
      if (running !== undefined) problems.push(`${what}: it ended and runs, with ${restarts} restarts`);
      if (terminated !== undefined && terminated.exitCode !== ended.exitCode)
        problems.push(`${what}: its exit code ${ended.exitCode} became ${terminated.exitCode}`);
    }
    const expectedCode = Number(pod.metadata.annotations?.[exitCodeAnnotation] ?? Number.NaN);
    if (terminated !== undefined && initContainerStatuses.every((init) => init.name !== status.name)) {
      const { exitCode } = terminated;
      if (exitCode !== expectedCode && !codesOfOthers.has(exitCode))
        problems.push(`${what}: ${JSON.stringify(terminated)}`);
    }
  }
  return problems;
}

export class PodHistory {
  readonly #stop = new AbortController();
  readonly #work: Promise<void>;
  readonly #seen = new Map<string, Seen>();
  readonly contradictions: string[] = [];
  /** Container ID in the form of statuses → all reported exit codes. */
  readonly exitCodes = new Map<string, Set<number>>();
  /** UIDs of all observed pods. */
  readonly uids = new Set<string>();

  constructor(client: Client) {
    this.#work = this.#run(client);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#work;
  }

  async #run(client: Client): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        for (const pod of (await client.resource(pods).list()).items) this.#look(pod);
        for await (const { type, object } of client.resource(pods).watch({ signal })) {
          if (type !== 'BOOKMARK') this.#look(object);
        }
      } catch {
        // The API server was just killed or stopped; its next list is complete.
      }
      await realClock.sleep(pauseMs, signal);
    }
  }

  #look(pod: Pod): void {
    const uid = pod.metadata.uid ?? '';
    const { phase, containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
    this.uids.add(uid);
    this.contradictions.push(...contradictions(pod, this.#seen.get(uid)));
    const statuses = new Map([...initContainerStatuses, ...containerStatuses].map((each) => [each.name, each]));
    for (const [id, code] of [...statuses.values()].flatMap(ends))
      this.exitCodes.set(id, (this.exitCodes.get(id) ?? new Set()).add(code));
    this.#seen.set(uid, { phase, statuses });
  }
}
