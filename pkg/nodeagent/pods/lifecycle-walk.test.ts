/** Random walks through a pod's lifecycle on a model of its runtime, with failures, crashes and agent restarts. */

import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import type { PodSandboxStatus } from '#nodeagent/cri/cri.js';
import { type Action, type Input, initialState, type State, step, type Task } from '#nodeagent/pods/lifecycle.js';
import { plan } from '#nodeagent/pods/plan.js';
import type { Verdict } from '#nodeagent/probes/prober.js';
import { containerHash } from '#nodeagent/runtime/labels.js';
import type { PodRuntime, RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';

const walks = 150;
const eventsPerWalk = 150;
/** More steps than any pod of a walk needs to settle or end. */
const fairSteps = 300;
const never = Number.POSITIVE_INFINITY;
const hashAnnotation = 'hash';

class Walk {
  readonly trace: string[] = [];
  readonly #random: () => number;
  readonly #pod: Pod;
  #containers: RuntimeContainer[] = [];
  #sandboxes: PodSandboxStatus[] = [];
  readonly #verdicts = new Map<string, Verdict>();
  #created = 0;
  #state: State = initialState;
  #task: Task | undefined;
  #wakeUp = false;
  #silent = false;
  #mustEnd = false;
  #forgotten = false;
  /** The status reports that all containers have terminated. */
  #over = false;
  #deleted = false;

  constructor(random: () => number) {
    this.#random = random;
    const containers = ['a', 'b', 'c'].slice(0, 1 + this.#below(3)).map((name) => ({ name, image: 'app:1' }));
    const initContainers = ['i', 'j'].slice(0, this.#below(3)).map((name) => ({ name, image: 'app:1' }));
    const restartPolicy = ['Always', 'OnFailure', 'Never'][this.#below(3)] as string;
    this.#pod = { metadata: { name: 'p', uid: 'u' }, spec: { containers, initContainers, restartPolicy } };
  }

  /** Applies a random event. */
  wander(): void {
    this.#input({ type: 'changed' });
    for (let i = 0; i < eventsPerWalk && this.#state.phase !== 'gone'; i++) this.#event();
  }

  /** Runs without disturbances until the pod settles. */
  settle(): void {
    this.#runFairly();
    const next = plan(this.#planInput());
    const satisfied = next.type === 'run' && next.kill.length + next.start.length + next.remove.length === 0;
    const { phase } = this.#state;
    this.#check(
      phase === 'finished' ||
        phase === 'gone' ||
        (phase === 'resting' && satisfied && next.createSandbox === undefined),
      'settles in the desired state',
    );
  }

  /** Deletes the pod and runs until it ends. */
  end(): void {
    if (!this.#mustEnd) this.#askToEnd(30, this.#below(2) === 0);
    this.#runFairly();
    this.#check(this.#state.phase === 'gone', 'ends when deleted');
    this.#check(this.#containers.length + this.#sandboxes.length === 0, 'leaves nothing behind');
    this.#check(this.#forgotten || this.#deleted, 'lets the object go');
  }

  #runFairly(): void {
    for (let i = 0; i < fairSteps; i++) {
      if (this.#task !== undefined) this.#finishTask('well');
      else if (this.#wakeUp) this.#wake();
      else return;
    }
    this.#check(false, 'finishes its tasks');
  }

  #event(): void {
    const dice = this.#below(100);
    if (dice < 60 && this.#task !== undefined) {
      this.#finishTask(
        (['well', 'well', 'well', 'held', 'failed before', 'failed after'] as const)[this.#below(6)] ?? 'well',
      );
    } else if (dice < 70) this.#input({ type: 'changed' });
    else if (dice < 80 && this.#wakeUp) this.#wake();
    else if (dice < 90) this.#exit(this.#below(2));
    else if (dice < 93) this.#condemn();
    else if (dice < 95) this.#sandboxDies();
    else if (dice < 97) this.#restartAgent();
    else if (dice === 98 && this.#below(4) === 0) this.#askToEnd([30, 1, 0][this.#below(3)] ?? 0, this.#below(3) === 0);
  }

  #askToEnd(graceSeconds: number, forgotten: boolean): void {
    this.#mustEnd = true;
    this.#forgotten ||= forgotten;
    this.#input({ type: 'end', ending: { graceSeconds, forgotten: this.#forgotten } });
  }

  #wake(): void {
    this.#wakeUp = false;
    this.#input({ type: 'changed' });
  }

  /** Tasks under way may or may not have taken effect. */
  #restartAgent(): void {
    if (this.#state.phase === 'gone') return;
    this.#input({ type: 'stop' });
    if (this.#task !== undefined && this.#below(2) === 0) this.#apply(this.#task);
    // A late result starts nothing.
    this.#task = undefined;
    this.#input({ type: 'failed' });
    this.#wakeUp = false;
    this.#silent = false;
    this.#verdicts.clear();
    this.#state = initialState;
    this.#input(
      this.#mustEnd ? { type: 'end', ending: { graceSeconds: 30, forgotten: this.#forgotten } } : { type: 'changed' },
    );
  }

  #input(input: Input): void {
    const { state, actions } = step(this.#state, input);
    this.trace.push(`${this.#state.phase} + ${input.type} → ${state.phase}`);
    this.#state = state;
    for (const action of actions) this.#perform(action);
    const working = ['syncing', 'interrupted', 'finishing', 'terminating'].includes(state.phase);
    if (state.phase !== 'stopped') this.#check(working === (this.#task !== undefined), 'works in the states of work');
    if (state.phase === 'terminationDelayed') this.#check(this.#wakeUp, 'tries again');
  }

  #perform(action: Action): void {
    this.trace.push(`  ${action.type === 'run' ? action.task.type : action.type}`);
    switch (action.type) {
      case 'run':
        this.#check(this.#task === undefined, 'one task at a time');
        if (action.task.type === 'startContainer' || action.task.type === 'createSandbox') {
          this.#check(!this.#mustEnd, 'starts nothing for a pod that must end');
          this.#check(!this.#over, 'starts nothing for a pod that has ended');
        }
        if (action.task.type === 'conclude') this.#check(!this.#forgotten, 'reports no forgotten pod');
        this.#task = action.task;
        this.#wakeUp = false;
        return;
      case 'report':
        this.#check(!this.#silent, 'reports nothing after the last report');
        return;
      case 'silence':
        this.#silent = true;
        return;
      case 'hasten':
        this.#check(
          this.#task?.type === 'stopPod' && action.graceSeconds < this.#task.graceSeconds,
          'hastens a stop in progress',
        );
        return;
      case 'wakeAt':
      case 'retryIn':
        this.#check(this.#task === undefined, 'wakes up from rest');
        this.#wakeUp = true;
        return;
      case 'interrupt':
        return;
      default:
        return action satisfies never;
    }
  }

  #finishTask(how: 'well' | 'held' | 'failed before' | 'failed after'): void {
    const task = this.#task;
    if (task === undefined) return;
    this.trace.push(`${task.type} ${how}`);
    const starts = task.type === 'startContainer' || task.type === 'createSandbox';
    if (how !== 'failed before' && !(how === 'held' && starts)) this.#apply(task);
    this.#task = undefined;
    if (how.startsWith('failed')) this.#input({ type: 'failed' });
    else if (task.type === 'prepare' || task.type === 'observe') {
      const next = this.#over ? ({ type: 'finish' } as const) : plan(this.#planInput());
      this.#input({ type: 'planned', plan: next, wakeAt: never });
    } else if (how === 'held' && starts) this.#input({ type: 'done', acted: false, wakeAt: 1 });
    else this.#input({ type: 'done', acted: true, wakeAt: never });
  }

  #planInput() {
    const runtime: PodRuntime = {
      ...{ uid: 'u', name: 'p', namespace: 'default' },
      sandboxes: [...this.#sandboxes],
      containers: [...this.#containers],
    };
    return { pod: this.#pod, runtime, verdicts: this.#verdicts, hashAnnotation, keptDead: 1 };
  }

  #apply(task: Task): void {
    switch (task.type) {
      case 'startContainer':
        return this.#start(task.start.container.name, task.start.attempt);
      case 'createSandbox':
        for (const sandbox of this.#sandboxes) sandbox.state = 'SANDBOX_NOTREADY';
        this.#sandboxes.unshift(newSandbox(task.attempt));
        return;
      case 'killContainer':
        for (const container of this.#containers) if (container.id === task.kill.container.id) exit(container, 137);
        return;
      case 'removeContainer':
        this.#containers = this.#containers.filter(({ id }) => id !== task.container.id);
        return;
      case 'removeSandbox':
        this.#sandboxes = this.#sandboxes.filter(({ id }) => id !== task.sandbox.id);
        return;
      case 'finish':
        this.#over = true;
        return this.#stopAll();
      case 'stopPod':
        return this.#stopAll();
      case 'removePod':
        this.#check(!this.#containers.some(isUp), 'removes only stopped containers');
        this.#containers = [];
        this.#sandboxes = [];
        return;
      case 'deleteObject':
        this.#check(this.#containers.length + this.#sandboxes.length === 0, 'deletes the object last');
        this.#deleted = true;
        return;
      case 'prepare':
      case 'observe':
      case 'conclude':
        return;
      default:
        return task satisfies never;
    }
  }

  #start(name: string, attempt: number): void {
    const sandbox = this.#sandboxes[0];
    // The runtime rejects it.
    if (sandbox?.state !== 'SANDBOX_READY') return;
    const same = this.#containers.filter(({ metadata }) => metadata.name === name);
    this.#check(!same.some(isUp), 'never two of the same container');
    this.#check(!same.some(({ metadata }) => metadata.attempt === attempt), 'no name of a container twice');
    const image = 'app:1';
    this.#containers.unshift({
      ...{ id: `${name}-${this.#created++}`, podSandboxId: sandbox.id, metadata: { name, attempt } },
      // Some containers are created but do not start.
      state: this.#below(5) === 0 && this.#created < 40 ? 'CONTAINER_CREATED' : 'CONTAINER_RUNNING',
      ...{ createdAt: this.#created, startedAt: this.#created, finishedAt: 0, exitCode: 0, image, imageRef: '' },
      ...{ reason: '', message: '', labels: {}, mounts: [], logPath: '' },
      annotations: { [hashAnnotation]: containerHash({ name, image }) },
    });
  }

  #stopAll(): void {
    for (const container of this.#containers) if (isUp(container)) exit(container, 137);
    for (const sandbox of this.#sandboxes) sandbox.state = 'SANDBOX_NOTREADY';
  }

  #exit(code: number): void {
    const running = this.#containers.filter(isUp);
    const container = running[this.#below(Math.max(1, running.length))];
    if (container === undefined) return;
    exit(container, code);
    this.#input({ type: 'changed' });
  }

  #condemn(): void {
    const container = this.#containers.find(isUp);
    if (container === undefined) return;
    this.#verdicts.set(container.id, { reason: 'livenessProbe' });
    this.#input({ type: 'changed' });
  }

  #sandboxDies(): void {
    const [newest] = this.#sandboxes;
    if (newest === undefined) return;
    newest.state = 'SANDBOX_NOTREADY';
    this.#input({ type: 'changed' });
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #check(holds: boolean, what: string): void {
    if (!holds) throw new Error(`does not hold: ${what}`);
  }
}

function isUp(container: RuntimeContainer): boolean {
  return container.state === 'CONTAINER_RUNNING';
}

function exit(container: RuntimeContainer, code: number): void {
  container.state = 'CONTAINER_EXITED';
  container.exitCode = code;
}

function newSandbox(attempt: number): PodSandboxStatus {
  return {
    ...{ id: `sandbox-${attempt}`, metadata: { name: 'p', uid: 'u', namespace: 'default', attempt } },
    ...{ state: 'SANDBOX_READY', createdAt: attempt, labels: {}, annotations: {} },
    ...{ ips: ['10.0.0.2'], networkMode: 'POD' },
  };
}

t.test('whatever happens, a pod runs once and ends when deleted', async (t) => {
  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  t.comment(`SEED=${seed}`);
  const random = seededRandom(seed);
  for (let i = 0; i < walks; i++) {
    const walk = new Walk(random);
    try {
      walk.wander();
      walk.settle();
      walk.end();
    } catch (error) {
      t.fail((error as Error).message, { seed, walk: i, trace: walk.trace.slice(-60) });
      return;
    }
  }
  t.pass(`${walks} walks`);
});
