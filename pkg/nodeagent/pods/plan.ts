/**
 * Plans the actions for a pod from its spec and the runtime's state. Pure and total: the worker executes the result and
 * plans again. Rules of release 1.24 (kuberuntime_manager.go, computePodActions).
 */
import type { Container, ContainerStatus, Pod } from '#api/core/v1/types.gen.js';
import type { PodSandboxStatus } from '#nodeagent/cri/cri.js';
import type { Verdict } from '#nodeagent/probes/prober.js';
import { containerHash } from '#nodeagent/runtime/labels.js';
import {
  containersNamed,
  isRunning,
  newestContainer,
  type PodRuntime,
  type RuntimeContainer,
} from '#nodeagent/runtime/pod-runtime.js';

export type ContainerKind = 'init' | 'main' | 'ephemeral';

export interface PlanInput {
  readonly pod: Pod;
  readonly runtime: PodRuntime;
  /** Container ID → why it must be killed. */
  readonly verdicts: ReadonlyMap<string, Verdict>;
  /** Annotation that carries a container's hash. */
  readonly hashAnnotation: string;
  /** Exited runs kept of each container besides the newest; at least one, for `lastState` and `--previous`. */
  readonly keptDead: number;
}

export interface ContainerStart {
  readonly kind: ContainerKind;
  readonly container: Container;
  /** Number of earlier starts. */
  readonly attempt: number;
  /** The previous run; its end is the base of the back-off. */
  readonly previous?: RuntimeContainer;
}

export interface ContainerKill {
  readonly container: RuntimeContainer;
  /** Text of the Killing event. */
  readonly message: string;
  readonly graceSeconds?: number;
}

export type PodPlan =
  /** The pod has completed or cannot continue: stop all containers. */
  | { readonly type: 'finish' }
  | {
      readonly type: 'run';
      /** Attempt number of the sandbox to create; containers of older ones are killed first. */
      readonly createSandbox?: number;
      readonly kill: readonly ContainerKill[];
      readonly start: readonly ContainerStart[];
      /** Exited or never started containers that are no longer needed. */
      readonly remove: readonly RuntimeContainer[];
      readonly removeSandboxes: readonly PodSandboxStatus[];
    };

function isOver(container: RuntimeContainer): boolean {
  return container.state === 'CONTAINER_EXITED';
}

/** Undefined if the newest sandbox is usable. */
function nextSandboxAttempt(input: PlanInput): number | undefined {
  const { sandboxes } = input.runtime;
  const newest = sandboxes[0];
  if (newest === undefined) return 0;
  const ready = sandboxes.filter((sandbox) => sandbox.state === 'SANDBOX_READY');
  const hostNetwork = input.pod.spec.hostNetwork === true;
  const usable =
    newest.state === 'SANDBOX_READY' &&
    ready.length === 1 &&
    (newest.networkMode === 'NODE') === hostNetwork &&
    (hostNetwork || newest.ips.length > 0);
  return usable ? undefined : newest.metadata.attempt + 1;
}

/** Whether a stopped container must be started. The API's status counts if the runtime has lost the container. */
function mustStart({ pod, runtime }: PlanInput, name: string): boolean {
  const status = newestContainer(runtime, name);
  const ended = status === undefined ? reportedStatus(pod, name)?.state?.terminated : status;
  if (ended === undefined || (status !== undefined && status.state !== 'CONTAINER_EXITED')) return true;
  const policy = pod.spec.restartPolicy ?? 'Always';
  if (policy === 'Never') return false;
  return policy === 'Always' || ended.exitCode !== 0;
}

function reportedStatus({ status }: Pod, name: string): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [] } = status ?? {};
  return [...containerStatuses, ...initContainerStatuses].find((each) => each.name === name);
}

/**
 * Number of runs that the API's status has and the runtime has lost, as after a wiped disk: the count continues from
 * it. A container that was created may also have run.
 */
function lostRuns(pod: Pod, name: string): number {
  const status = reportedStatus(pod, name);
  if (status === undefined) return 0;
  const { state, lastState, containerID = '', restartCount } = status;
  const ran = [state?.running, state?.terminated, lastState?.terminated];
  return containerID === '' && ran.every((run) => run === undefined) ? 0 : restartCount + 1;
}

function startOf(kind: ContainerKind, container: Container, { pod, runtime }: PlanInput): ContainerStart {
  const newest = newestContainer(runtime, container.name);
  if (newest === undefined) return { kind, container, attempt: lostRuns(pod, container.name) };
  // A container that was created but never started keeps its attempt number.
  const attempt = newest.state === 'CONTAINER_CREATED' ? newest.metadata.attempt : newest.metadata.attempt + 1;
  return newest.state === 'CONTAINER_EXITED'
    ? { kind, container, attempt, previous: newest }
    : { kind, container, attempt };
}

type InitProgress =
  | { readonly type: 'done' }
  | { readonly type: 'failed' }
  | { readonly type: 'running' }
  | { readonly type: 'start'; readonly container: Container };

/** Progress of the init containers: the last one that ran decides. */
function initProgress(input: PlanInput): InitProgress {
  const { pod, runtime } = input;
  const init = pod.spec.initContainers ?? [];
  if (init.length === 0) return { type: 'done' };
  // A main container that was ever started proves that init completed, even if the init containers are gone.
  if (pod.spec.containers.some((container) => newestContainer(runtime, container.name) !== undefined)) {
    return { type: 'done' };
  }
  for (let i = init.length - 1; i >= 0; i--) {
    const container = init[i];
    const status = container === undefined ? undefined : newestContainer(runtime, container.name);
    if (container === undefined || status === undefined) continue;
    if (isRunning(status)) return { type: 'running' };
    if (status.state !== 'CONTAINER_EXITED') return { type: 'start', container };
    if (status.exitCode !== 0) {
      return (pod.spec.restartPolicy ?? 'Always') === 'Never' ? { type: 'failed' } : { type: 'start', container };
    }
    const next = init[i + 1];
    return next === undefined ? { type: 'done' } : { type: 'start', container: next };
  }
  const first = init[0];
  return first === undefined ? { type: 'done' } : { type: 'start', container: first };
}

function killVerdict(container: Container, status: RuntimeContainer, input: PlanInput): ContainerKill | undefined {
  const oldHash = status.annotations[input.hashAnnotation];
  if (oldHash !== undefined && oldHash !== containerHash(container)) {
    return { container: status, message: `Container ${container.name} definition changed, will be restarted` };
  }
  const verdict = input.verdicts.get(status.id);
  if (verdict === undefined) return undefined;
  const probes: Record<Verdict['reason'], string> = {
    livenessProbe: `Container ${container.name} failed liveness probe`,
    startupProbe: `Container ${container.name} failed startup probe`,
  };
  const restart = (input.pod.spec.restartPolicy ?? 'Always') !== 'Never' ? ', will be restarted' : '';
  const message = `${probes[verdict.reason]}${restart}`;
  return verdict.graceSeconds === undefined
    ? { container: status, message }
    : { container: status, message, graceSeconds: verdict.graceSeconds };
}

/** Containers that still run beside their successor, or are in an unknown state. They end before any start. */
function strays({ runtime }: PlanInput): ContainerKill[] {
  const kills: ContainerKill[] = [];
  for (const name of new Set(runtime.containers.map((container) => container.metadata.name))) {
    containersNamed(runtime, name).forEach((container, i) => {
      if (container.state === 'CONTAINER_UNKNOWN') {
        kills.push({ container, message: 'Container is in "unknown" state, try killing it before restart' });
      } else if (i > 0 && isRunning(container)) kills.push({ container, message: killingMessage(name) });
    });
  }
  return kills;
}

function leftovers(input: PlanInput): Pick<Extract<PodPlan, { type: 'run' }>, 'remove' | 'removeSandboxes'> {
  const { runtime, keptDead } = input;
  const remove: RuntimeContainer[] = [];
  const names = new Set(runtime.containers.map((container) => container.metadata.name));
  for (const name of names) {
    const [newest, ...older] = containersNamed(runtime, name);
    if (newest?.state === 'CONTAINER_CREATED') remove.push(newest);
    remove.push(
      ...older.filter(
        (container, i) => container.state === 'CONTAINER_CREATED' || (isOver(container) && i >= keptDead),
      ),
    );
  }
  const needed = new Set(
    runtime.containers.filter((container) => !remove.includes(container)).map((container) => container.podSandboxId),
  );
  const removeSandboxes = runtime.sandboxes.filter(
    (sandbox, i) => i > 0 && sandbox.state === 'SANDBOX_NOTREADY' && !needed.has(sandbox.id),
  );
  return { remove, removeSandboxes };
}

function planWithoutSandbox(input: PlanInput, attempt: number): PodPlan {
  const { pod, runtime } = input;
  const policy = pod.spec.restartPolicy ?? 'Always';
  // Policy Never: containers must not run a second time.
  if (policy === 'Never' && attempt > 0 && runtime.containers.length > 0) return { type: 'finish' };
  const main = pod.spec.containers.filter(({ name }) => mustStart(input, name));
  if (main.length === 0) return { type: 'finish' };
  const firstInit = pod.spec.initContainers?.[0];
  // A new sandbox reruns the init containers.
  const start =
    firstInit === undefined
      ? main.map((container) => startOf('main', container, input))
      : [startOf('init', firstInit, input)];
  const kill = runtime.containers
    .filter((container) => isRunning(container))
    .map((container) => ({ container, message: 'Pod sandbox changed, it will be killed and re-created.' }));
  return { type: 'run', createSandbox: attempt, kill, start, ...leftovers(input) };
}

export function plan(input: PlanInput): PodPlan {
  const { pod, runtime } = input;
  const attempt = nextSandboxAttempt(input);
  if (attempt !== undefined) return planWithoutSandbox(input, attempt);

  const stray = strays(input);
  // Their exit codes are part of the next plan.
  if (stray.length > 0) return { type: 'run', kill: stray, start: [], remove: [], removeSandboxes: [] };
  const start: ContainerStart[] = [];
  const kill: ContainerKill[] = [];
  for (const container of pod.spec.ephemeralContainers ?? []) {
    if (newestContainer(runtime, container.name) === undefined) start.push(startOf('ephemeral', container, input));
  }
  const sandboxId = runtime.sandboxes[0]?.id;
  const init = initProgressInSandbox(input, sandboxId);
  if (init.type === 'failed') return { type: 'finish' };
  if (init.type === 'start') start.push(startOf('init', init.container, input));
  if (init.type !== 'done') return { type: 'run', kill, start, ...leftovers(input) };

  let keptCount = 0;
  for (const container of pod.spec.containers) {
    const status = newestContainer(runtime, container.name);
    if (status === undefined || !isRunning(status)) {
      if (mustStart(input, container.name)) start.push(startOf('main', container, input));
      continue;
    }
    const verdict = killVerdict(container, status, input);
    if (verdict === undefined) keptCount++;
    else kill.push(verdict);
  }
  if (keptCount === 0 && start.length === 0 && kill.length === 0) return { type: 'finish' };
  return { type: 'run', kill, start, ...leftovers(input) };
}

/** Ignores main containers of earlier sandboxes: they do not prove that init ran in this one. */
function initProgressInSandbox(input: PlanInput, sandboxId: string | undefined): InitProgress {
  const { runtime } = input;
  const containers = runtime.containers.filter((container) => container.podSandboxId === sandboxId);
  return initProgress({ ...input, runtime: { ...runtime, containers } });
}

/** Text of the Killing event when the pod ends. */
export function killingMessage(name: string): string {
  return `Stopping container ${name}`;
}
