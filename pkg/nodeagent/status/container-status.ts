/** The status of each container, from its runtime state and its waiting reason. */

import type { Container, ContainerState, ContainerStatus, Pod } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import type { Draft } from '#apimachinery/draft.js';
import { containersNamed, type PodRuntime, type RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';
import { lostState } from '#nodeagent/status/ended-status.js';

/** Why a container waits: `CrashLoopBackOff`, `ErrImagePull`, … */
export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
}

export interface ContainerStatusInput {
  readonly pod: Pod;
  readonly runtime: PodRuntime;
  readonly runtimeName: string;
  /** Container name → why it does not start. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  /** Container ID → message of the runtime and the container about its end. */
  readonly terminationMessages: ReadonlyMap<string, string>;
  /** Whether a running container's startup probe has succeeded, if it has one. */
  readonly isStarted: (container: RuntimeContainer) => boolean;
  readonly isReady: (container: RuntimeContainer) => boolean;
  /** Init has completed once: main containers no longer wait for it. */
  readonly initialized: boolean;
}

/** Total bytes of termination messages in one pod's status, as in release 1.24; shared equally by its containers. */
const maxMessageBytes = 12 * 1024;

/** The first `limit` bytes of a text in UTF-8, without splitting a character. */
function cutBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  return bytes.length <= limit ? text : new TextDecoder().decode(bytes.subarray(0, limit), { stream: true });
}

const time = (ms: number): { startedAt: string } => ({ startedAt: formatTime(ms) });

function terminated(container: RuntimeContainer, input: ContainerStatusInput): ContainerState {
  const { containers, initContainers = [] } = input.pod.spec;
  const share = Math.floor(maxMessageBytes / Math.max(1, containers.length + initContainers.length));
  const message = cutBytes(input.terminationMessages.get(container.id) ?? container.message, share);
  return {
    terminated: {
      exitCode: container.exitCode,
      reason: container.reason !== '' ? container.reason : container.exitCode === 0 ? 'Completed' : 'Error',
      ...(message === '' ? {} : { message }),
      ...(container.startedAt > 0 ? time(container.startedAt) : {}),
      finishedAt: formatTime(container.finishedAt),
      containerID: `${input.runtimeName}://${container.id}`,
    },
  };
}

function stateOf(container: RuntimeContainer, input: ContainerStatusInput): ContainerState {
  switch (container.state) {
    case 'CONTAINER_RUNNING':
      return { running: time(container.startedAt) };
    case 'CONTAINER_EXITED':
      return terminated(container, input);
    case 'CONTAINER_CREATED':
    case 'CONTAINER_UNKNOWN':
      return { waiting: { reason: 'ContainerCreating' } };
    default:
      return container.state satisfies never;
  }
}

function waitingState(waiting: WaitingReason): ContainerState {
  const { reason, message } = waiting;
  return { waiting: message === '' ? { reason } : { reason, message } };
}

/** Status of a container that the runtime does not have. */
function unknownContainer(
  container: Container,
  kind: 'init' | 'main' | 'ephemeral',
  input: ContainerStatusInput,
): ContainerStatus {
  const old = oldStatus(input.pod, container.name);
  const hasInit = (input.pod.spec.initContainers ?? []).length > 0;
  const pending = kind === 'main' && hasInit && !input.initialized ? 'PodInitializing' : 'ContainerCreating';
  const reason = input.waiting.get(container.name) ?? {
    reason: kind === 'init' && hasInit ? 'PodInitializing' : pending,
    message: '',
  };
  const status: Draft<ContainerStatus> = {
    name: container.name,
    state: waitingState(reason),
    ready: false,
    restartCount: old?.restartCount ?? 0,
    image: container.image ?? '',
    imageID: '',
  };
  if (kind === 'main') status.started = false;
  if (old === undefined) return status;
  // A container that ended before its removal keeps its end; one that ran and disappeared was lost.
  if (old.state?.terminated !== undefined) {
    if (!input.waiting.has(container.name)) return { ...old };
    return { ...status, lastState: { terminated: old.state.terminated } };
  }
  // The restart count increases at the next start.
  if (old.state?.running !== undefined) status.lastState = lostState;
  else if (old.lastState !== undefined) status.lastState = old.lastState;
  return status;
}

function oldStatus(pod: Pod, name: string): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = pod.status ?? {};
  return [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find((s) => s.name === name);
}

function existingContainer(
  container: Container,
  kind: 'init' | 'main' | 'ephemeral',
  runs: readonly [RuntimeContainer, ...RuntimeContainer[]],
  input: ContainerStatusInput,
): ContainerStatus {
  const [newest, ...older] = runs;
  const previous = older.find((run) => run.state === 'CONTAINER_EXITED');
  // A created container may be removed without a start, so it does not count yet.
  const lastStarted = newest.state === 'CONTAINER_CREATED' ? (previous ?? newest) : newest;
  const status: Draft<ContainerStatus> = {
    name: container.name,
    state: stateOf(newest, input),
    ready: kind === 'init' ? newest.state === 'CONTAINER_EXITED' && newest.exitCode === 0 : input.isReady(newest),
    restartCount: lastStarted.metadata.attempt,
    image: container.image ?? newest.image,
    imageID: newest.imageRef,
    containerID: `${input.runtimeName}://${newest.id}`,
  };
  if (previous !== undefined) status.lastState = terminated(previous, input);
  const waiting = input.waiting.get(container.name);
  if (waiting !== undefined && newest.state !== 'CONTAINER_RUNNING') {
    if (newest.state === 'CONTAINER_EXITED') status.lastState = terminated(newest, input);
    status.state = waitingState(waiting);
  }
  if (kind === 'main') status.started = newest.state === 'CONTAINER_RUNNING' && input.isStarted(newest);
  return status;
}

/** The API rejects changes to the status of a container that has ended and must not restart. */
function isFinal(status: ContainerStatus, kind: 'init' | 'main' | 'ephemeral', { spec }: Pod): boolean {
  const ended = status.state?.terminated;
  if (ended === undefined) return false;
  const policy = kind === 'ephemeral' ? 'Never' : (spec.restartPolicy ?? 'Always');
  return policy === 'Never' || (policy === 'OnFailure' && ended.exitCode === 0);
}

/** Statuses in the order of the containers in the spec. */
export function containerStatuses(
  containers: readonly Container[],
  kind: 'init' | 'main' | 'ephemeral',
  input: ContainerStatusInput,
): ContainerStatus[] {
  return containers.map((container) => {
    const [newest, ...older] = containersNamed(input.runtime, container.name);
    const status =
      newest === undefined
        ? unknownContainer(container, kind, input)
        : existingContainer(container, kind, [newest, ...older], input);
    const old = oldStatus(input.pod, container.name);
    const isRevived = status.state?.terminated === undefined && old !== undefined;
    return isRevived && isFinal(old, kind, input.pod) ? old : status;
  });
}
