import t from 'tap';
import type { PodSandboxStatus } from '#nodeagent/cri/cri.js';
import {
  type Action,
  type Ending,
  type Input,
  maxRounds,
  type PlannedPod,
  type State,
  step,
  type Task,
} from '#nodeagent/pods/lifecycle.js';
import type { RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';

const never = Number.POSITIVE_INFINITY;
const start = {
  type: 'startContainer',
  start: { kind: 'main', container: { name: 'a' }, attempt: 0 },
} as const satisfies Task;
const nothing = { kill: [], start: [], remove: [], removeSandboxes: [] };

const syncing = { round: 0, rest: [], acted: false, wakeAt: never, again: false, failures: 0 } as const;
const ending = { graceSeconds: 30, forgotten: false };
const forgotten = { graceSeconds: 30, forgotten: true };
const terminating = { ending, again: false, failures: 0 };

/** Every phase, with every variation that affects decisions. */
const states = {
  resting: { phase: 'resting', failures: 0 },
  'resting after failures': { phase: 'resting', failures: 3 },
  syncing: { phase: 'syncing', ...syncing },
  'syncing, more to do': { phase: 'syncing', ...syncing, round: 1, rest: [start] },
  'syncing, has acted': { phase: 'syncing', ...syncing, round: 1, acted: true },
  'syncing, once more': { phase: 'syncing', ...syncing, round: 1, again: true },
  'syncing, too often': { phase: 'syncing', ...syncing, round: maxRounds },
  'syncing, with a time': { phase: 'syncing', ...syncing, round: 1, wakeAt: 5000 },
  interrupted: { phase: 'interrupted', ending },
  'interrupted, forgotten': { phase: 'interrupted', ending: forgotten },
  finishing: { phase: 'finishing', ending: undefined, failures: 0 },
  'finishing, to end': { phase: 'finishing', ending, failures: 0 },
  finished: { phase: 'finished' },
  stopping: { phase: 'terminating', stage: 'stopping', ...terminating },
  'stopping, once more': { phase: 'terminating', stage: 'stopping', ...terminating, again: true },
  'stopping, forgotten': { phase: 'terminating', stage: 'stopping', ...terminating, ending: forgotten },
  concluding: { phase: 'terminating', stage: 'concluding', ...terminating },
  removing: { phase: 'terminating', stage: 'removing', ...terminating },
  'removing, forgotten': { phase: 'terminating', stage: 'removing', ...terminating, ending: forgotten },
  deleting: { phase: 'terminating', stage: 'deleting', ...terminating },
  'stopping, delayed': { phase: 'terminationDelayed', stage: 'stopping', ending, failures: 2 },
  'concluding, delayed': { phase: 'terminationDelayed', stage: 'concluding', ending, failures: 2 },
  'removing, delayed': { phase: 'terminationDelayed', stage: 'removing', ending, failures: 2 },
  'deleting, delayed': { phase: 'terminationDelayed', stage: 'deleting', ending, failures: 2 },
  gone: { phase: 'gone' },
  stopped: { phase: 'stopped' },
} as const satisfies Record<string, State>;

const inputs = {
  changed: { type: 'changed' },
  end: { type: 'end', ending },
  'end sooner': { type: 'end', ending: { graceSeconds: 1, forgotten: false } },
  forgotten: { type: 'end', ending: forgotten },
  stop: { type: 'stop' },
  'plan: start': {
    type: 'planned',
    plan: { type: 'run', ...nothing, start: [start.start] },
    wakeAt: never,
  },
  'plan: nothing': { type: 'planned', plan: { type: 'run', ...nothing }, wakeAt: 7000 },
  'plan: over': { type: 'planned', plan: { type: 'finish' }, wakeAt: never },
  'done, acted': { type: 'done', acted: true, wakeAt: never },
  'done, held': { type: 'done', acted: false, wakeAt: 9000 },
  failed: { type: 'failed' },
} as const satisfies Record<string, Input>;

/** The result of each input in each state. `never`: no running task could give this result. */
type Row = Record<keyof typeof inputs, string>;
const answers = (outcome: string) => ({
  'plan: start': outcome,
  'plan: nothing': outcome,
  'plan: over': outcome,
  'done, acted': outcome,
  'done, held': outcome,
  failed: outcome,
});

const table: Record<keyof typeof states, Row> = {
  resting: {
    changed: 'syncing 0; run prepare',
    end: 'stopping 30s; run stopPod 30',
    'end sooner': 'stopping 1s; run stopPod 1',
    forgotten: 'stopping 30s forgotten; silence; run stopPod 30',
    stop: 'stopped; interrupt',
    ...answers('never'),
  },
  'resting after failures': {
    changed: 'syncing 0 after 3; run prepare',
    end: 'stopping 30s; run stopPod 30',
    'end sooner': 'stopping 1s; run stopPod 1',
    forgotten: 'stopping 30s forgotten; silence; run stopPod 30',
    stop: 'stopped; interrupt',
    ...answers('never'),
  },
  syncing: {
    changed: 'syncing 0 again',
    end: 'interrupted 30s; interrupt',
    'end sooner': 'interrupted 1s; interrupt',
    forgotten: 'interrupted 30s forgotten; silence; interrupt',
    stop: 'stopped; interrupt',
    'plan: start': 'syncing 1; run startContainer',
    'plan: nothing': 'resting; report; wake at 7000',
    'plan: over': 'finishing; run finish',
    'done, acted': 'syncing 0; run observe',
    'done, held': 'resting; report; wake at 9000',
    failed: 'resting after 1; retry in 500',
  },
  'syncing, more to do': {
    changed: 'syncing 1 again',
    end: 'interrupted 30s; interrupt',
    'end sooner': 'interrupted 1s; interrupt',
    forgotten: 'interrupted 30s forgotten; silence; interrupt',
    stop: 'stopped; interrupt',
    'plan: start': 'syncing 2; run startContainer',
    'plan: nothing': 'resting; report; wake at 7000',
    'plan: over': 'finishing; run finish',
    'done, acted': 'syncing 1; run startContainer',
    'done, held': 'syncing 1; run startContainer',
    failed: 'resting after 1; retry in 500',
  },
  'syncing, has acted': {
    changed: 'syncing 1 again',
    end: 'interrupted 30s; interrupt',
    'end sooner': 'interrupted 1s; interrupt',
    forgotten: 'interrupted 30s forgotten; silence; interrupt',
    stop: 'stopped; interrupt',
    'plan: start': 'syncing 2; run startContainer',
    'plan: nothing': 'resting; report; wake at 7000',
    'plan: over': 'finishing; run finish',
    'done, acted': '=; run observe',
    'done, held': 'syncing 1; run observe',
    failed: 'resting after 1; retry in 500',
  },
  'syncing, once more': {
    changed: '=',
    end: 'interrupted 30s; interrupt',
    'end sooner': 'interrupted 1s; interrupt',
    forgotten: 'interrupted 30s forgotten; silence; interrupt',
    stop: 'stopped; interrupt',
    'plan: start': 'syncing 2 again; run startContainer',
    'plan: nothing': 'syncing 0; report; run prepare',
    'plan: over': 'finishing; run finish',
    'done, acted': 'syncing 1 again; run observe',
    'done, held': 'syncing 0; report; run prepare',
    failed: 'syncing 0 after 1; run prepare',
  },
  'syncing, too often': {
    changed: 'syncing 16 again',
    end: 'interrupted 30s; interrupt',
    'end sooner': 'interrupted 1s; interrupt',
    forgotten: 'interrupted 30s forgotten; silence; interrupt',
    stop: 'stopped; interrupt',
    'plan: start': 'resting after 1; retry in 500',
    'plan: nothing': 'resting; report; wake at 7000',
    'plan: over': 'finishing; run finish',
    'done, acted': 'syncing 16; run observe',
    'done, held': 'resting; report; wake at 9000',
    failed: 'resting after 1; retry in 500',
  },
  'syncing, with a time': {
    changed: 'syncing 1 again',
    end: 'interrupted 30s; interrupt',
    'end sooner': 'interrupted 1s; interrupt',
    forgotten: 'interrupted 30s forgotten; silence; interrupt',
    stop: 'stopped; interrupt',
    'plan: start': 'syncing 2; run startContainer',
    'plan: nothing': 'resting; report; wake at 5000',
    'plan: over': 'finishing; run finish',
    'done, acted': 'syncing 1; run observe',
    'done, held': 'resting; report; wake at 5000',
    failed: 'resting after 1; retry in 500',
  },
  interrupted: {
    changed: '=',
    end: '=',
    'end sooner': 'interrupted 1s',
    forgotten: 'interrupted 30s forgotten; silence',
    stop: 'stopped; interrupt',
    ...answers('stopping 30s; run stopPod 30'),
  },
  'interrupted, forgotten': {
    changed: '=',
    end: '=; silence',
    'end sooner': 'interrupted 1s forgotten; silence',
    forgotten: '=; silence',
    stop: 'stopped; interrupt',
    ...answers('stopping 30s forgotten; silence; run stopPod 30'),
  },
  finishing: {
    changed: '=',
    end: 'finishing 30s',
    'end sooner': 'finishing 1s',
    forgotten: 'finishing 30s forgotten; silence',
    stop: 'stopped; interrupt',
    ...answers('never'),
    'done, acted': 'finished; report',
    'done, held': 'finished; report',
    failed: 'resting after 1; retry in 500',
  },
  'finishing, to end': {
    changed: '=',
    end: '=',
    'end sooner': 'finishing 1s',
    forgotten: 'finishing 30s forgotten; silence',
    stop: 'stopped; interrupt',
    ...answers('never'),
    'done, acted': 'stopping 30s; run stopPod 30',
    'done, held': 'stopping 30s; run stopPod 30',
    failed: 'stopping 30s; run stopPod 30',
  },
  finished: {
    changed: '=; report',
    end: 'stopping 30s; run stopPod 30',
    'end sooner': 'stopping 1s; run stopPod 1',
    forgotten: 'stopping 30s forgotten; silence; run stopPod 30',
    stop: 'stopped; interrupt',
    ...answers('never'),
  },
  stopping: {
    changed: 'stopping 30s again',
    end: 'stopping 30s again',
    'end sooner': 'stopping 1s again; hasten 1',
    forgotten: 'stopping 30s forgotten again; silence',
    stop: 'stopped; interrupt',
    ...answers('never'),
    'done, acted': 'concluding 30s; run conclude',
    'done, held': 'concluding 30s; run conclude',
    failed: 'stopping delayed after 1; retry in 500',
  },
  'stopping, once more': {
    changed: '=',
    end: '=',
    'end sooner': 'stopping 1s again; hasten 1',
    forgotten: 'stopping 30s forgotten again; silence',
    stop: 'stopped; interrupt',
    ...answers('never'),
    'done, acted': 'concluding 30s; run conclude',
    'done, held': 'concluding 30s; run conclude',
    failed: 'stopping 30s after 1; run stopPod 30',
  },
  'stopping, forgotten': {
    changed: 'stopping 30s forgotten again',
    end: 'stopping 30s forgotten again; silence',
    'end sooner': 'stopping 1s forgotten again; silence; hasten 1',
    forgotten: 'stopping 30s forgotten again; silence',
    stop: 'stopped; interrupt',
    ...answers('never'),
    'done, acted': 'removing 30s forgotten; silence; run removePod',
    'done, held': 'removing 30s forgotten; silence; run removePod',
    failed: 'stopping delayed after 1; retry in 500',
  },
  concluding: {
    changed: 'concluding 30s again',
    end: 'concluding 30s again',
    'end sooner': 'concluding 1s again',
    forgotten: 'concluding 30s forgotten again; silence',
    stop: 'stopped; interrupt',
    ...answers('never'),
    'done, acted': 'removing 30s; silence; run removePod',
    'done, held': 'removing 30s; silence; run removePod',
    failed: 'concluding delayed after 1; retry in 500',
  },
  removing: {
    changed: 'removing 30s again',
    end: 'removing 30s again',
    'end sooner': 'removing 1s again',
    forgotten: 'removing 30s forgotten again; silence',
    stop: 'stopped; interrupt',
    ...answers('never'),
    'done, acted': 'deleting 30s; run deleteObject',
    'done, held': 'deleting 30s; run deleteObject',
    failed: 'removing delayed after 1; retry in 500',
  },
  'removing, forgotten': {
    changed: 'removing 30s forgotten again',
    end: 'removing 30s forgotten again; silence',
    'end sooner': 'removing 1s forgotten again; silence',
    forgotten: 'removing 30s forgotten again; silence',
    stop: 'stopped; interrupt',
    ...answers('never'),
    'done, acted': 'gone',
    'done, held': 'gone',
    failed: 'removing delayed after 1; retry in 500',
  },
  deleting: {
    changed: 'deleting 30s again',
    end: 'deleting 30s again',
    'end sooner': 'deleting 1s again',
    forgotten: 'deleting 30s forgotten again; silence',
    stop: 'stopped; interrupt',
    ...answers('never'),
    'done, acted': 'gone',
    'done, held': 'gone',
    failed: 'deleting delayed after 1; retry in 500',
  },
  'stopping, delayed': {
    changed: 'stopping 30s after 2; run stopPod 30',
    end: 'stopping 30s after 2; run stopPod 30',
    'end sooner': 'stopping 1s after 2; run stopPod 1',
    forgotten: 'stopping 30s forgotten after 2; silence; run stopPod 30',
    stop: 'stopped; interrupt',
    ...answers('never'),
  },
  'concluding, delayed': {
    changed: 'concluding 30s after 2; run conclude',
    end: 'concluding 30s after 2; run conclude',
    'end sooner': 'concluding 1s after 2; run conclude',
    forgotten: 'removing 30s forgotten; silence; silence; run removePod',
    stop: 'stopped; interrupt',
    ...answers('never'),
  },
  'deleting, delayed': {
    changed: 'deleting 30s after 2; run deleteObject',
    end: 'deleting 30s after 2; run deleteObject',
    'end sooner': 'deleting 1s after 2; run deleteObject',
    forgotten: 'gone; silence',
    stop: 'stopped; interrupt',
    ...answers('never'),
  },
  'removing, delayed': {
    changed: 'removing 30s after 2; run removePod',
    end: 'removing 30s after 2; run removePod',
    'end sooner': 'removing 1s after 2; run removePod',
    forgotten: 'removing 30s forgotten after 2; silence; run removePod',
    stop: 'stopped; interrupt',
    ...answers('never'),
  },
  gone: {
    changed: '=',
    end: '=',
    'end sooner': '=',
    forgotten: '=',
    stop: '=',
    ...answers('never'),
  },
  stopped: {
    changed: '=',
    end: '=',
    'end sooner': '=',
    forgotten: '=',
    stop: '=',
    ...answers('='),
  },
};

/** For example `run prepare`, `wake at 5000`, `retry in 500`, `hasten 1`, `interrupt`. */
function describeAction(action: Action): string {
  switch (action.type) {
    case 'run':
      return `run ${action.task.type}${action.task.type === 'stopPod' ? ` ${action.task.graceSeconds}` : ''}`;
    case 'wakeAt':
      return `wake at ${action.instant}`;
    case 'retryIn':
      return `retry in ${action.ms}`;
    case 'hasten':
      return `hasten ${action.graceSeconds}`;
    default:
      return action.type;
  }
}

/** `=` for the same state; otherwise its phase and the deciding fields. */
function described(state: State, before: State): string {
  if (JSON.stringify(state) === JSON.stringify(before)) return '=';
  switch (state.phase) {
    case 'resting':
      return `resting${after(state.failures)}`;
    case 'syncing':
      return `syncing ${state.round}${after(state.failures)}${state.again ? ' again' : ''}`;
    case 'interrupted':
      return `interrupted ${endingOf(state.ending)}`;
    case 'finishing':
      return state.ending === undefined ? 'finishing' : `finishing ${endingOf(state.ending)}`;
    case 'terminating':
      return `${state.stage} ${endingOf(state.ending)}${after(state.failures)}${state.again ? ' again' : ''}`;
    case 'terminationDelayed':
      return `${state.stage} delayed${after(state.failures)}`;
    default:
      return state.phase;
  }
}

const after = (failures: number) => (failures === 0 ? '' : ` after ${failures}`);

function endingOf({ graceSeconds, forgotten: gone }: Ending): string {
  return `${graceSeconds}s${gone ? ' forgotten' : ''}`;
}

function outcome(state: State, input: Input): string {
  try {
    const { state: next, actions } = step(state, input);
    return [described(next, state), ...actions.map(describeAction)].join('; ');
  } catch (error) {
    return (error as Error).message.startsWith('invariant broken') ? 'never' : String(error);
  }
}

t.test('every input in every state has the outcome of the table', async (t) => {
  for (const [name, state] of Object.entries(states)) {
    for (const [given, input] of Object.entries(inputs)) {
      const expected = table[name as keyof typeof states][given as keyof typeof inputs];
      t.equal(outcome(state, input), expected, `${name} + ${given}`);
    }
  }
});

t.test("a plan's tasks run in order, one at a time", async (t) => {
  const container = { id: 'old' } as RuntimeContainer;
  const sandbox = { id: 'dead' } as PodSandboxStatus;
  const kill = { container, message: '' };
  const tasks = (plan: Partial<Extract<PlannedPod, { type: 'run' }>>): string[] => {
    const done: string[] = [];
    let next = step(
      { phase: 'syncing', ...syncing },
      { type: 'planned', plan: { type: 'run', ...nothing, ...plan }, wakeAt: never },
    );
    for (;;) {
      const task = next.actions.find((action) => action.type === 'run')?.task;
      if (task === undefined || task.type === 'observe') return done;
      done.push(task.type);
      next = step(next.state, { type: 'done', acted: true, wakeAt: never });
    }
  };
  t.same(tasks({ kill: [kill], removeSandboxes: [sandbox], start: [start.start, start.start] }), [
    'killContainer',
    'removeSandbox',
    'startContainer',
    'startContainer',
  ]);
  t.same(tasks({ kill: [kill], createSandbox: 1, start: [start.start] }), ['killContainer', 'createSandbox']);
  t.same(tasks({ remove: [container], start: [start.start] }), ['removeContainer'], 'leftovers hold names');
});

t.test('failures back off', async (t) => {
  const delays = (input: Input) =>
    Array.from({ length: 10 }, (_, failures) =>
      step({ phase: 'syncing', ...syncing, failures }, input)
        .actions.map(describeAction)
        .join(),
    );
  const growing = [500, 1000, 2000, 4000, 8000];
  t.same(
    delays({ type: 'failed' }),
    [...growing, ...Array(5).fill(10_000)].map((ms) => `retry in ${ms}`),
  );
  t.same(
    delays({ type: 'failed', isMount: true }),
    [...growing, 16_000, 32_000, 64_000, 122_000, 122_000].map((ms) => `retry in ${ms}`),
  );
});
