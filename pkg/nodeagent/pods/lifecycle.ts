/**
 * The lifecycle of one pod on its node, as a pure step function: state and input give the next state and the actions.
 *
 *     resting ⇄ syncing ──(completed, failed)──▶ finishing ──▶ finished
 *        │         │                                │            │
 *        │    interrupted                           │            │   deleted, or gone from the API
 *        └─────────┴──────────────┬─────────────────┴────────────┘
 *                                 ▼
 *         terminating: stopping → concluding → removing → deleting ──▶ gone
 *                                   ⇅
 *                          terminationDelayed
 *
 * In `syncing`, tasks start and restart containers one after the other. In `finished`, nothing runs and the object
 * stays. `terminating` stops everything, reports the end to the API, removes the pod's data on the node, and deletes
 * the object. In every state whose name ends in -ing (except `resting`), and in `interrupted`, exactly one task is
 * running; it answers with the input `planned`, `done` or `failed`.
 */
import { exponentialDelayMs } from '#apimachinery/backoff/backoff.js';
import type { PodSandboxStatus } from '#nodeagent/cri/cri.js';
import type { ContainerKill, ContainerStart, PodPlan } from '#nodeagent/pods/plan.js';
import type { RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';

/** Why the agent fails a pod: becomes reason and message of its status. */
export interface PodFailure {
  readonly reason: string;
  readonly message: string;
  /** The node rejected the pod at admission; nothing of it ever ran. */
  readonly isRefusal?: boolean;
  /** The node evicts the pod. */
  readonly isEviction?: boolean;
  /** Has no event, or one that is already recorded. */
  readonly isRecorded?: boolean;
  /** Time from SIGTERM to SIGKILL; default: the pod's own grace period. */
  readonly graceSeconds?: number;
}

/** How a pod ends. */
export interface Ending {
  /** Time from SIGTERM to SIGKILL. */
  readonly graceSeconds: number;
  /** The object is gone from the API: nothing more is reported or deleted. */
  readonly forgotten: boolean;
}

/** A unit of work; a pod runs one at a time. */
export type Task =
  /** First task of a sync: sets up volumes and plans. Answered by `planned`. */
  | { readonly type: 'prepare' }
  /** Reads the result of the earlier tasks, reports it and plans again. Answered by `planned`. */
  | { readonly type: 'observe' }
  | { readonly type: 'killContainer'; readonly kill: ContainerKill }
  | { readonly type: 'createSandbox'; readonly attempt: number }
  | { readonly type: 'removeContainer'; readonly container: RuntimeContainer }
  | { readonly type: 'removeSandbox'; readonly sandbox: PodSandboxStatus }
  | { readonly type: 'startContainer'; readonly start: ContainerStart }
  /** Ends all containers; keeps their exited state and the object. */
  | { readonly type: 'finish'; readonly failure?: PodFailure }
  /** Ends everything that runs. */
  | { readonly type: 'stopPod'; readonly graceSeconds: number }
  /** Resolves once the API has the last status. */
  | { readonly type: 'conclude' }
  /** Removes all data of the pod on the node. */
  | { readonly type: 'removePod' }
  | { readonly type: 'deleteObject' };

export type Action =
  /** Starts the only running task; cancels a scheduled wake-up. */
  | { readonly type: 'run'; readonly task: Task }
  /** Makes the running task stop waiting for an image. */
  | { readonly type: 'interrupt' }
  /** Shortens the grace period of containers that are being stopped. */
  | { readonly type: 'hasten'; readonly graceSeconds: number }
  | { readonly type: 'report' }
  /** Stops reporting: the last report stays true. */
  | { readonly type: 'silence' }
  /** Schedules a `changed` input: at an instant (monotonic ms), or after a delay. */
  | { readonly type: 'wakeAt'; readonly instant: number }
  | { readonly type: 'retryIn'; readonly ms: number };

export type Input =
  /** Something that the plan or the status depends on changed, or a wake-up is due. */
  | { readonly type: 'changed' }
  /** The pod is to end; may come again with a shorter grace period. */
  | { readonly type: 'end'; readonly ending: Ending }
  /** The agent stops; containers continue to run. */
  | { readonly type: 'stop' }
  /** `wakeAt`: when to plan again at the latest (monotonic ms); infinite for never. */
  | { readonly type: 'planned'; readonly plan: PlannedPod; readonly wakeAt: number }
  /** `acted`: the runtime's state may have changed. */
  | { readonly type: 'done'; readonly acted: boolean; readonly wakeAt: number }
  /** `isMount`: a volume could not be set up, which quick retries may not fix. */
  | { readonly type: 'failed'; readonly isMount?: boolean };

export type PlannedPod = Extract<PodPlan, { type: 'run' }> | { readonly type: 'finish'; readonly failure?: PodFailure };

export type TerminationStage = 'stopping' | 'concluding' | 'removing' | 'deleting';

export type State =
  /** Everything is as planned, or waits for a wake-up. */
  | { readonly phase: 'resting'; readonly failures: number }
  | {
      readonly phase: 'syncing';
      /** Plans executed in this sync. */
      readonly round: number;
      /** Tasks of the plan that follow the running one. */
      readonly rest: readonly Task[];
      /** A task of this round has changed the runtime's state. */
      readonly acted: boolean;
      readonly wakeAt: number;
      /** An input arrived during the sync: another sync follows. */
      readonly again: boolean;
      readonly failures: number;
    }
  /** The pod ends once the sync's running task answers. */
  | { readonly phase: 'interrupted'; readonly ending: Ending }
  | { readonly phase: 'finishing'; readonly ending: Ending | undefined; readonly failures: number }
  | { readonly phase: 'finished' }
  | {
      readonly phase: 'terminating';
      readonly stage: TerminationStage;
      readonly ending: Ending;
      readonly again: boolean;
      readonly failures: number;
    }
  /** A task failed and will be retried. */
  | {
      readonly phase: 'terminationDelayed';
      readonly stage: TerminationStage;
      readonly ending: Ending;
      readonly failures: number;
    }
  | { readonly phase: 'gone' }
  | { readonly phase: 'stopped' };

export interface Step {
  readonly state: State;
  /** In this order; at most one of them runs a task. */
  readonly actions: readonly Action[];
}

type In<P extends State['phase']> = Extract<State, { phase: P }>;

/** Bound of plans in one sync; more would mean that two plans undo each other. */
export const maxRounds = 16;
/** Retry delays; their maximum is as in release 1.24, for mounts and for everything else. */
const initialRetryMs = 500;
export const maxRetryMs = 122_000;
const maxSyncRetryMs = 10_000;

export const initialState: State = { phase: 'resting', failures: 0 };

export function step(state: State, input: Input): Step {
  if (input.type === 'stop') return stop(state);
  switch (state.phase) {
    case 'resting':
      return resting(state, input);
    case 'syncing':
      return syncing(state, input);
    case 'interrupted':
      return interrupted(state, input);
    case 'finishing':
      return finishing(state, input);
    case 'finished':
      return finished(state, input);
    case 'terminating':
      return terminating(state, input);
    case 'terminationDelayed':
      return terminationDelayed(state, input);
    case 'gone':
      return isAnswer(input) ? unexpected(state, input) : unchanged(state);
    case 'stopped':
      // The last task may answer after the stop.
      return unchanged(state);
    default:
      return state satisfies never;
  }
}

type Event = Exclude<Input, { type: 'stop' }>;

function stop(state: State): Step {
  if (state.phase === 'gone' || state.phase === 'stopped') return unchanged(state);
  return { state: { phase: 'stopped' }, actions: [{ type: 'interrupt' }] };
}

function resting(state: In<'resting'>, input: Event): Step {
  switch (input.type) {
    case 'changed':
      return beginSync(state.failures);
    case 'end':
      return terminate(input.ending);
    default:
      return unexpected(state, input);
  }
}

function syncing(state: In<'syncing'>, input: Event): Step {
  switch (input.type) {
    case 'changed':
      return unchanged({ ...state, again: true });
    case 'end':
      return {
        state: { phase: 'interrupted', ending: input.ending },
        actions: [...silence(input.ending), { type: 'interrupt' }],
      };
    case 'planned':
      return followPlan({ ...state, wakeAt: Math.min(state.wakeAt, input.wakeAt) }, input.plan);
    case 'done':
      return nextTask({
        ...state,
        acted: state.acted || input.acted,
        wakeAt: Math.min(state.wakeAt, input.wakeAt),
      });
    case 'failed':
      if (state.again) return beginSync(state.failures + 1);
      return retry(
        { phase: 'resting', failures: state.failures + 1 },
        input.isMount === true ? maxRetryMs : maxSyncRetryMs,
      );
    default:
      return input satisfies never;
  }
}

function interrupted(state: In<'interrupted'>, input: Event): Step {
  switch (input.type) {
    case 'changed':
      return unchanged(state);
    case 'end': {
      const ending = merged(state.ending, input.ending);
      return { state: { ...state, ending }, actions: silence(ending) };
    }
    // The outcome does not matter: most failures are caused by the interruption.
    case 'planned':
    case 'done':
    case 'failed':
      return terminate(state.ending);
    default:
      return input satisfies never;
  }
}

function finishing(state: In<'finishing'>, input: Event): Step {
  switch (input.type) {
    case 'changed':
      return unchanged(state);
    case 'end': {
      const ending = merged(state.ending, input.ending);
      return { state: { ...state, ending }, actions: silence(ending) };
    }
    case 'done':
      if (state.ending !== undefined) return terminate(state.ending);
      return { state: { phase: 'finished' }, actions: [{ type: 'report' }] };
    case 'failed':
      if (state.ending !== undefined) return terminate(state.ending);
      // The next sync will detect the pod's end again.
      return retry({ phase: 'resting', failures: state.failures + 1 });
    case 'planned':
      return unexpected(state, input);
    default:
      return input satisfies never;
  }
}

function finished(state: In<'finished'>, input: Event): Step {
  switch (input.type) {
    case 'changed':
      return { state, actions: [{ type: 'report' }] };
    case 'end':
      return terminate(input.ending);
    default:
      return unexpected(state, input);
  }
}

function terminating(state: In<'terminating'>, input: Event): Step {
  switch (input.type) {
    case 'changed':
      return unchanged({ ...state, again: true });
    case 'end': {
      const ending = merged(state.ending, input.ending);
      const sooner = state.stage === 'stopping' && ending.graceSeconds < state.ending.graceSeconds;
      const actions: Action[] = sooner ? [{ type: 'hasten', graceSeconds: ending.graceSeconds }] : [];
      return { state: { ...state, ending, again: true }, actions: [...silence(ending), ...actions] };
    }
    case 'done':
      return enterStage(nextStage(state), state.ending);
    case 'failed':
      if (state.again) return retryStage(state.stage, state.ending, state.failures + 1);
      return retry({
        phase: 'terminationDelayed',
        stage: state.stage,
        ending: state.ending,
        failures: state.failures + 1,
      });
    case 'planned':
      return unexpected(state, input);
    default:
      return input satisfies never;
  }
}

function terminationDelayed(state: In<'terminationDelayed'>, input: Event): Step {
  switch (input.type) {
    case 'changed':
      return retryStage(state.stage, state.ending, state.failures);
    case 'end': {
      const ending = merged(state.ending, input.ending);
      const { state: next, actions } = retryStage(state.stage, ending, state.failures);
      return { state: next, actions: [...silence(ending), ...actions] };
    }
    default:
      return unexpected(state, input);
  }
}

function beginSync(failures: number): Step {
  return {
    state: {
      phase: 'syncing',
      round: 0,
      rest: [],
      acted: false,
      wakeAt: Number.POSITIVE_INFINITY,
      again: false,
      failures,
    },
    actions: [{ type: 'run', task: { type: 'prepare' } }],
  };
}

function followPlan(state: In<'syncing'>, plan: PlannedPod): Step {
  if (plan.type === 'finish') {
    const { failure } = plan;
    const task: Task = failure === undefined ? { type: 'finish' } : { type: 'finish', failure };
    const next: State = { phase: 'finishing', ending: undefined, failures: state.failures };
    return { state: next, actions: [{ type: 'run', task }] };
  }
  const rest = tasksOf(plan);
  if (rest.length > 0 && state.round === maxRounds) {
    return retry({ phase: 'resting', failures: state.failures + 1 });
  }
  return nextTask({ ...state, round: state.round + 1, rest, acted: false });
}

/** The tasks of a plan, in execution order. */
function tasksOf(plan: Extract<PodPlan, { type: 'run' }>): Task[] {
  const kills = plan.kill.map((kill): Task => ({ type: 'killContainer', kill }));
  // Containers of the new sandbox are planned once the sandbox exists.
  if (plan.createSandbox !== undefined) return [...kills, { type: 'createSandbox', attempt: plan.createSandbox }];
  const leftovers: Task[] = [
    ...plan.remove.map((container): Task => ({ type: 'removeContainer', container })),
    ...plan.removeSandboxes.map((sandbox): Task => ({ type: 'removeSandbox', sandbox })),
  ];
  // Leftovers go first: a container that never started holds its successor's name.
  if (plan.remove.length > 0) return [...kills, ...leftovers];
  return [...kills, ...leftovers, ...plan.start.map((start): Task => ({ type: 'startContainer', start }))];
}

function nextTask(state: In<'syncing'>): Step {
  const [task, ...rest] = state.rest;
  if (task !== undefined) return { state: { ...state, rest }, actions: [{ type: 'run', task }] };
  if (state.acted) return { state, actions: [{ type: 'run', task: { type: 'observe' } }] };
  if (state.again) {
    const next = beginSync(0);
    return { state: next.state, actions: [{ type: 'report' }, ...next.actions] };
  }
  const wake: Action[] = Number.isFinite(state.wakeAt) ? [{ type: 'wakeAt', instant: state.wakeAt }] : [];
  return { state: { phase: 'resting', failures: 0 }, actions: [{ type: 'report' }, ...wake] };
}

function terminate(ending: Ending): Step {
  const { state, actions } = enterStage('stopping', ending);
  return { state, actions: [...silence(ending), ...actions] };
}

function enterStage(stage: TerminationStage | 'gone', ending: Ending): Step {
  if (stage === 'gone') return { state: { phase: 'gone' }, actions: [] };
  const { state, actions } = runStage(stage, ending, 0);
  // Containers are removed one by one, so report the complete status before the first removal.
  return { state, actions: stage === 'removing' ? [{ type: 'silence' }, ...actions] : actions };
}

function runStage(stage: TerminationStage, ending: Ending, failures: number): Step {
  const tasks: Record<TerminationStage, Task> = {
    stopping: { type: 'stopPod', graceSeconds: ending.graceSeconds },
    concluding: { type: 'conclude' },
    removing: { type: 'removePod' },
    deleting: { type: 'deleteObject' },
  };
  return {
    state: { phase: 'terminating', stage, ending, again: false, failures },
    actions: [{ type: 'run', task: tasks[stage] }],
  };
}

/** Skips API calls if the pod has been deleted from the API since the last try. */
function retryStage(stage: TerminationStage, ending: Ending, failures: number): Step {
  const isNeedless = ending.forgotten && (stage === 'concluding' || stage === 'deleting');
  return isNeedless
    ? enterStage(stage === 'concluding' ? 'removing' : 'gone', ending)
    : runStage(stage, ending, failures);
}

/** Skips the API stages if the pod is gone from the API. */
function nextStage({ stage, ending }: In<'terminating'>): TerminationStage | 'gone' {
  switch (stage) {
    case 'stopping':
      return ending.forgotten ? 'removing' : 'concluding';
    case 'concluding':
      return 'removing';
    case 'removing':
      return ending.forgotten ? 'gone' : 'deleting';
    case 'deleting':
      return 'gone';
    default:
      return stage satisfies never;
  }
}

function silence(ending: Ending): Action[] {
  return ending.forgotten ? [{ type: 'silence' }] : [];
}

/** The grace period only shrinks, and `forgotten` stays set. */
function merged(before: Ending | undefined, now: Ending): Ending {
  if (before === undefined) return now;
  return {
    graceSeconds: Math.min(before.graceSeconds, now.graceSeconds),
    forgotten: before.forgotten || now.forgotten,
  };
}

function retry(state: In<'resting'> | In<'terminationDelayed'>, maxMs = maxSyncRetryMs): Step {
  return {
    state,
    actions: [{ type: 'retryIn', ms: exponentialDelayMs(state.failures - 1, initialRetryMs, maxMs) }],
  };
}

function isAnswer(input: Input): boolean {
  return input.type === 'planned' || input.type === 'done' || input.type === 'failed';
}

function unchanged(state: State): Step {
  return { state, actions: [] };
}

function unexpected(state: State, input: Input): never {
  throw new Error(`invariant broken: ${input.type} came to a pod that is ${state.phase}`);
}
