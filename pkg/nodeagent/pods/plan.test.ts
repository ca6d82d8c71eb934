import t from 'tap';
import type { ContainerStatus, Pod, PodSpec, PodStatus } from '#api/core/v1/types.gen.js';
import { type PodPlan, plan } from '#nodeagent/pods/plan.js';
import type { Verdict } from '#nodeagent/probes/prober.js';
import { containerHash } from '#nodeagent/runtime/labels.js';
import type { PodRuntime, RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';

const hashAnnotation = 'hash';
const image = 'app:1';

interface Run {
  name: string;
  state: 'created' | 'running' | 'unknown' | number;
  attempt?: number;
  sandbox?: number;
  hash?: string;
}

const states = {
  created: 'CONTAINER_CREATED',
  running: 'CONTAINER_RUNNING',
  unknown: 'CONTAINER_UNKNOWN',
} as const;

/** A container; a number as state is an exit code. The first run given is the newest. */
function container(run: Run, index: number): RuntimeContainer {
  const { name, state, attempt = 0, sandbox = 0 } = run;
  return {
    id: `${name}-${attempt}`,
    podSandboxId: `sandbox-${sandbox}`,
    metadata: { name, attempt },
    state: typeof state === 'number' ? 'CONTAINER_EXITED' : states[state],
    createdAt: 1000 - index,
    startedAt: 1000,
    finishedAt: 2000,
    exitCode: typeof state === 'number' ? state : 0,
    image,
    imageRef: 'sha256:1',
    reason: '',
    message: '',
    labels: {},
    annotations: { [hashAnnotation]: run.hash ?? containerHash({ name, image }) },
    mounts: [],
    logPath: '',
  };
}

function runtime(runs: Run[], sandboxes: ('ready' | 'dead')[] = ['ready']): PodRuntime {
  return {
    uid: 'u',
    name: 'p',
    namespace: 'default',
    sandboxes: sandboxes.map((state, i) => ({
      id: `sandbox-${sandboxes.length - 1 - i}`,
      metadata: { name: 'p', uid: 'u', namespace: 'default', attempt: sandboxes.length - 1 - i },
      state: state === 'ready' ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY',
      createdAt: 1000 - i,
      labels: {},
      annotations: {},
      ips: state === 'ready' ? ['10.0.0.2'] : [],
      networkMode: 'POD',
    })),
    containers: runs.map(container),
  };
}

function pod(spec: Partial<PodSpec> = {}, status: PodStatus = {}): Pod {
  return { metadata: { name: 'p', uid: 'u' }, spec: { containers: [{ name: 'a', image }], ...spec }, status };
}

/** Describes the plan, such as `sandbox 0`, `kill a-0`, `start a 1`, `remove a-0`, `finish`. */
function describePlan(result: PodPlan): string[] {
  if (result.type === 'finish') return ['finish'];
  return [
    ...(result.createSandbox === undefined ? [] : [`sandbox ${result.createSandbox}`]),
    ...result.kill.map(({ container: c }) => `kill ${c.id}`),
    ...result.start.map(
      ({ kind, container: c, attempt }) => `start ${kind === 'main' ? '' : `${kind} `}${c.name} ${attempt}`,
    ),
    ...result.remove.map((c) => `remove ${c.id}`),
    ...result.removeSandboxes.map((s) => `remove ${s.id}`),
  ];
}

const two: Partial<PodSpec> = {
  containers: [
    { name: 'a', image },
    { name: 'b', image },
  ],
};
const init: Partial<PodSpec> = {
  initContainers: [
    { name: 'i', image },
    { name: 'j', image },
  ],
};

function ended(name: string, exitCode: number): ContainerStatus {
  return { name, image, imageID: '', ready: false, restartCount: 3, state: { terminated: { exitCode } } };
}

const table: {
  name: string;
  spec?: Partial<PodSpec>;
  status?: PodStatus;
  runtime: PodRuntime;
  verdicts?: Record<string, Verdict>;
  expected: string[];
}[] = [
  {
    name: 'an empty runtime: sandbox and all containers',
    spec: two,
    runtime: runtime([], []),
    expected: ['sandbox 0', 'start a 0', 'start b 0'],
  },
  {
    name: 'a sandbox: containers',
    spec: two,
    runtime: runtime([{ name: 'a', state: 'running' }]),
    expected: ['start b 0'],
  },
  { name: 'all containers run: nothing to do', runtime: runtime([{ name: 'a', state: 'running' }]), expected: [] },
  { name: 'Always restarts success', runtime: runtime([{ name: 'a', state: 0 }]), expected: ['start a 1'] },
  {
    name: 'OnFailure restarts failure',
    spec: { restartPolicy: 'OnFailure' },
    runtime: runtime([{ name: 'a', state: 1 }]),
    expected: ['start a 1'],
  },
  {
    name: 'OnFailure finishes on success',
    spec: { restartPolicy: 'OnFailure' },
    runtime: runtime([{ name: 'a', state: 0 }]),
    expected: ['finish'],
  },
  {
    name: 'Never restarts nothing',
    spec: { restartPolicy: 'Never' },
    runtime: runtime([{ name: 'a', state: 1 }]),
    expected: ['finish'],
  },
  {
    name: 'Never waits for other containers',
    spec: { ...two, restartPolicy: 'Never' },
    runtime: runtime([
      { name: 'a', state: 1 },
      { name: 'b', state: 'running' },
    ]),
    expected: [],
  },
  ...(['Never', 'OnFailure'] as const).map((restartPolicy) => ({
    name: `${restartPolicy} does not restart a container that the API reports as terminated and the runtime has lost`,
    spec: { ...two, restartPolicy },
    status: { containerStatuses: [ended('a', 0)] },
    runtime: runtime([{ name: 'b', state: 'running' }]),
    expected: [],
  })),
  {
    name: 'no sandbox is created for it either',
    spec: { restartPolicy: 'Never' },
    status: { containerStatuses: [ended('a', 1)] },
    runtime: runtime([], []),
    expected: ['finish'],
  },
  {
    name: 'a failed run that the runtime has lost is followed by the next',
    spec: { restartPolicy: 'OnFailure' },
    status: { containerStatuses: [ended('a', 1)] },
    runtime: runtime([]),
    expected: ['start a 4'],
  },
  {
    name: 'a created container that did not start is replaced by the same run',
    runtime: runtime([{ name: 'a', state: 'created', attempt: 2 }]),
    expected: ['start a 2', 'remove a-2'],
  },
  {
    name: 'a container in an unknown state is killed before it is replaced',
    spec: { restartPolicy: 'Never' },
    runtime: runtime([{ name: 'a', state: 'unknown' }]),
    expected: ['kill a-0'],
  },
  {
    name: 'a container that runs beside its successor is killed first',
    spec: two,
    runtime: runtime([
      { name: 'a', state: 'running', attempt: 1 },
      { name: 'a', state: 'running', attempt: 0 },
    ]),
    expected: ['kill a-0'],
  },
  {
    name: 'the previous run is kept, older ones are removed',
    runtime: runtime([
      { name: 'a', state: 'running', attempt: 3 },
      { name: 'a', state: 1, attempt: 2 },
      { name: 'a', state: 1, attempt: 1 },
      { name: 'a', state: 1, attempt: 0 },
    ]),
    expected: ['remove a-1', 'remove a-0'],
  },
  { name: 'init containers run first, one by one', spec: init, runtime: runtime([]), expected: ['start init i 0'] },
  {
    name: 'a running init container is awaited',
    spec: init,
    runtime: runtime([{ name: 'i', state: 'running' }]),
    expected: [],
  },
  {
    name: 'the next init container',
    spec: init,
    runtime: runtime([{ name: 'i', state: 0 }]),
    expected: ['start init j 0'],
  },
  {
    name: 'a failed init container runs again',
    spec: init,
    runtime: runtime([{ name: 'i', state: 1 }]),
    expected: ['start init i 1'],
  },
  {
    name: 'a failed init container ends a pod that never restarts',
    spec: { ...init, restartPolicy: 'Never' },
    runtime: runtime([{ name: 'i', state: 1 }]),
    expected: ['finish'],
  },
  {
    name: 'main containers follow the init containers',
    spec: init,
    runtime: runtime([
      { name: 'j', state: 0 },
      { name: 'i', state: 0 },
    ]),
    expected: ['start a 0'],
  },
  {
    name: 'an existing main container implies completed init containers',
    spec: init,
    runtime: runtime([{ name: 'a', state: 1 }]),
    expected: ['start a 1'],
  },
  {
    name: 'a dead sandbox and all its containers are replaced',
    runtime: runtime([{ name: 'a', state: 137 }], ['dead']),
    expected: ['sandbox 1', 'start a 1'],
  },
  {
    name: 'containers still running in a dead sandbox are killed',
    runtime: runtime([{ name: 'a', state: 'running' }], ['dead']),
    expected: ['sandbox 1', 'kill a-0', 'start a 1'],
  },
  {
    name: 'in a new sandbox init containers run again',
    spec: init,
    runtime: runtime(
      [
        { name: 'a', state: 137 },
        { name: 'j', state: 0 },
        { name: 'i', state: 0 },
      ],
      ['dead'],
    ),
    expected: ['sandbox 1', 'start init i 1'],
  },
  {
    name: 'in a new sandbox an old main container implies nothing',
    spec: init,
    runtime: runtime(
      [
        { name: 'a', state: 137 },
        { name: 'j', state: 0 },
        { name: 'i', state: 0 },
      ],
      ['ready', 'dead'],
    ),
    expected: ['start init i 1'],
  },
  {
    name: 'a pod that never restarts does not survive its sandbox',
    spec: { restartPolicy: 'Never' },
    runtime: runtime([{ name: 'a', state: 137 }], ['dead']),
    expected: ['finish'],
  },
  {
    name: 'after success, a pod with a dead sandbox is finished',
    spec: { restartPolicy: 'OnFailure' },
    runtime: runtime([{ name: 'a', state: 0 }], ['dead']),
    expected: ['finish'],
  },
  {
    name: 'of two ready sandboxes one is removed',
    runtime: runtime([{ name: 'a', state: 'running', sandbox: 1 }], ['ready', 'ready']),
    expected: ['sandbox 2', 'kill a-0', 'start a 1'],
  },
  {
    name: 'an empty dead sandbox is removed',
    runtime: runtime([{ name: 'a', state: 'running', sandbox: 1 }], ['ready', 'dead']),
    expected: ['remove sandbox-0'],
  },
  {
    name: 'a changed image causes a restart',
    runtime: runtime([{ name: 'a', state: 'running', hash: 'other' }]),
    expected: ['kill a-0'],
  },
  {
    name: 'a failed liveness probe causes a restart',
    runtime: runtime([{ name: 'a', state: 'running' }]),
    verdicts: { 'a-0': { reason: 'livenessProbe' } },
    expected: ['kill a-0'],
  },
  {
    name: 'an ephemeral container is started once',
    spec: { ephemeralContainers: [{ name: 'e', image }] },
    runtime: runtime([{ name: 'a', state: 'running' }]),
    expected: ['start ephemeral e 0'],
  },
  {
    name: 'an ephemeral container is not restarted',
    spec: { ephemeralContainers: [{ name: 'e', image }] },
    runtime: runtime([
      { name: 'e', state: 1 },
      { name: 'a', state: 'running' },
    ]),
    expected: [],
  },
];

for (const row of table) {
  t.test(row.name, async (t) => {
    const verdicts = new Map(Object.entries(row.verdicts ?? {}));
    t.same(
      describePlan(
        plan({ pod: pod(row.spec, row.status), runtime: row.runtime, verdicts, hashAnnotation, keptDead: 1 }),
      ),
      row.expected,
    );
  });
}

t.test("a sandbox must match the pod's host networking", async (t) => {
  const result = plan({
    pod: pod({ hostNetwork: true }),
    runtime: runtime([{ name: 'a', state: 'running' }]),
    verdicts: new Map(),
    hashAnnotation,
    keptDead: 1,
  });
  t.same(describePlan(result), ['sandbox 1', 'kill a-0', 'start a 1']);
});

t.test('as many exited runs are kept as the options ask for', async (t) => {
  const runs = [4, 3, 2, 1, 0].map((attempt): Run => ({ name: 'a', attempt, state: attempt === 4 ? 'running' : 1 }));
  for (const [keptDead, expected] of [
    [1, ['remove a-2', 'remove a-1', 'remove a-0']],
    [3, ['remove a-0']],
  ] as const) {
    const input = { pod: pod(), verdicts: new Map(), hashAnnotation, keptDead };
    t.same(describePlan(plan({ ...input, runtime: runtime(runs) })), expected, `${keptDead} runs`);
  }
});
