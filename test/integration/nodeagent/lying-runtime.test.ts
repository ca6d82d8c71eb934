/**
 * A runtime that returns false responses of every kind for a minute: nothing may start twice, no false status may
 * remain, and pods recover once the responses are correct again.
 */
import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import type { Container, ContainerStatus, CRI, PodSandbox, PodSandboxStatus } from '#nodeagent/cri/cri.js';
import { CRIError, type CRIErrorCode } from '#nodeagent/cri/errors.js';
import { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import { SimulatedChecker } from '#nodeagent/simulated/node.js';
import type { SimulatedRuntime } from '#nodeagent/simulated/runtime.js';
import { testPod } from '#nodeagent/testing/agent-fixture.js';
import { overrideCalls } from '#nodeagent/testing/override-calls.js';
import { virtualAgent } from '#nodeagent/testing/virtual-agent.js';
import { problemsOf } from '#test/integration/nodeagent/chaos/checks.js';
import { RecordedRuns } from '#test/integration/nodeagent/chaos/recorded-runs.js';
import { Statuses } from '#test/integration/nodeagent/chaos/statuses.js';

type Calls = { -readonly [K in keyof CRI]?: CRI[K] };
/** Overrides that return false responses. */
type Lie = (real: SimulatedRuntime) => Calls;

const labels = new RuntimeLabels(orchDialect);
const { podUID: uidLabel } = labels;
const liesForMs = 60_000;
/** The longest back-off is five minutes. */
const settle = { steps: 40, stepMs: 15_000 };
t.setTimeout(240_000);
const decadeMs = 10 * 365 * 24 * 3_600_000;
const unknownID = 'f'.repeat(64);

/** A false response that changes whole lists. */
const listing = (change: <T extends Container | PodSandbox>(listed: T[]) => T[]): Lie => {
  return (real) => ({
    listContainers: async (filter) => change(await real.listContainers(filter)),
    listPodSandbox: async (filter) => change(await real.listPodSandbox(filter)),
  });
};

const container = (change: (status: ContainerStatus) => Partial<ContainerStatus>): Lie => {
  return (real) => ({
    containerStatus: async (id) => {
      const status = await real.containerStatus(id);
      return { ...status, ...change(status) };
    },
  });
};

const sandbox = (change: (status: PodSandboxStatus) => Partial<PodSandboxStatus>): Lie => {
  return (real) => ({
    podSandboxStatus: async (id) => {
      const status = await real.podSandboxStatus(id);
      return { ...status, ...change(status) };
    },
  });
};

const deny = async () => {
  throw new CRIError('NotFound', 'there is no such thing');
};

/** A container of an unknown pod. */
const phantom = (name: string, attempt: number): Container => ({
  ...{ id: `${name}-phantom`.padEnd(64, '0'), podSandboxId: unknownID, image: 'x', imageRef: 'x', createdAt: 0 },
  ...{ metadata: { name, attempt }, state: 'CONTAINER_RUNNING', annotations: {} },
  labels: { [uidLabel]: 'phantom', [labels.podName]: 'phantom', [labels.podNamespace]: 'default' },
});

const lies: Record<string, Lie> = {
  'lists are empty': listing(() => []),
  'lists tell everything twice': listing((listed) => [...listed, ...listed]),
  'lists lack half': listing((listed) => listed.filter((_, i) => i % 2 === 0)),
  'lists know of no filter': (real) => ({
    listContainers: () => real.listContainers(),
    listPodSandbox: () => real.listPodSandbox(),
  }),
  'lists have no labels': listing((listed) => listed.map((each) => ({ ...each, labels: {} }))),
  'lists have no ids': listing((listed) => listed.map((each) => ({ ...each, id: '' }))),
  'lists give all one id': listing((listed) => listed.map((each) => ({ ...each, id: unknownID }))),
  'lists give others to each pod': listing((listed) =>
    listed.map((each, i) => ({ ...each, labels: listed.at(i - 1)?.labels ?? {} })),
  ),
  'lists count from elsewhere': listing((listed) =>
    listed.map((each) => ({ ...each, metadata: { ...each.metadata, attempt: 4_294_967_295 } })),
  ),
  'lists have unwanted containers': (real) => ({
    listContainers: async (filter) => [...(await real.listContainers(filter)), phantom('main', 0), phantom('x', 7)],
  }),
  'all that is listed has ended': listing((listed) =>
    listed.map((each) => ({ ...each, state: 'podSandboxId' in each ? 'CONTAINER_EXITED' : 'SANDBOX_NOTREADY' })),
  ),
  'all that is listed runs': listing((listed) =>
    listed.map((each) => ({ ...each, state: 'podSandboxId' in each ? 'CONTAINER_RUNNING' : 'SANDBOX_READY' })),
  ),
  'states in lists are unknown': (real) => ({
    listContainers: async (filter) =>
      (await real.listContainers(filter)).map((each) => ({ ...each, state: 'CONTAINER_UNKNOWN' })),
  }),
  'statuses deny what is listed': () => ({ containerStatus: deny, podSandboxStatus: deny }),
  'statuses are of others': (real) => ({
    containerStatus: async () => real.containerStatus((await real.listContainers())[0]?.id ?? ''),
    podSandboxStatus: async () => real.podSandboxStatus((await real.listPodSandbox())[0]?.id ?? ''),
  }),
  'what runs has ended': container(({ state }) =>
    state === 'CONTAINER_RUNNING' ? { state: 'CONTAINER_EXITED', exitCode: 0, reason: 'Completed' } : {},
  ),
  'what has ended runs': container(({ state }) => (state === 'CONTAINER_EXITED' ? { state: 'CONTAINER_RUNNING' } : {})),
  'sandboxes that are ready are not': sandbox(() => ({ state: 'SANDBOX_NOTREADY' })),
  'sandboxes have no address': sandbox(() => ({ ips: [] })),
  'sandboxes are on the network of the host': sandbox(() => ({ networkMode: 'NODE' })),
  'everything happens in ten years': container(({ createdAt, startedAt, finishedAt }) => ({
    createdAt: createdAt + decadeMs,
    startedAt: startedAt + decadeMs,
    finishedAt: finishedAt + decadeMs,
  })),
  'everything ended before it began': container(({ startedAt }) => ({ createdAt: 1, finishedAt: -startedAt })),
  'created objects have unknown IDs': (real) => ({
    runPodSandbox: async (config) => (await real.runPodSandbox(config)) && unknownID,
    createContainer: async (...args) => (await real.createContainer(...args)) && unknownID,
  }),
  'created containers have the ID of another': (real) => ({
    createContainer: async (...args) =>
      (await real.createContainer(...args)) && ((await real.listContainers())[0]?.id ?? ''),
  }),
  'nothing is ever created': () => ({
    runPodSandbox: async () => unknownID,
    createContainer: async () => unknownID,
    startContainer: async () => undefined,
  }),
  'nothing is ever ended': () => ({
    stopContainer: async () => undefined,
    stopPodSandbox: async () => undefined,
    removeContainer: async () => undefined,
    removePodSandbox: async () => undefined,
  }),
  'images come and are not there': () => ({ imageStatus: async () => undefined, pullImage: async () => '' }),
  'the runtime has no conditions': () => ({ status: async () => [] }),
  'events are all about unknown containers': () => ({
    subscribe(handler) {
      for (let i = 0; i < 100; i++) handler.onEvent({ id: `${i}`, became: 'stopped', podUID: `${i}` });
      handler.onConnected(true);
      return () => undefined;
    },
  }),
};

const codes: readonly CRIErrorCode[] = [
  'AlreadyExists',
  'InvalidArgument',
  'DeadlineExceeded',
  'Unavailable',
  'Cancelled',
  'Unimplemented',
  'Unknown',
];
const methods = [
  ...(['runPodSandbox', 'stopPodSandbox', 'removePodSandbox', 'podSandboxStatus', 'listPodSandbox'] as const),
  ...(['createContainer', 'startContainer', 'stopContainer', 'removeContainer', 'containerStatus'] as const),
  ...(['listContainers', 'imageStatus', 'pullImage', 'listImages', 'imageFsInfo', 'status', 'version'] as const),
] as const;

/** Every method fails twice with a code, before or after it has acted. */
function failing(code: CRIErrorCode, hasActed: boolean): Lie {
  return (real) => {
    const failuresLeft = new Map<string, number>(methods.map((method) => [method, 2]));
    const calls = methods.map((method) => {
      const call = real[method] as (...args: unknown[]) => Promise<unknown>;
      const wrapped = async (...args: unknown[]) => {
        const remaining = failuresLeft.get(method) ?? 0;
        failuresLeft.set(method, remaining - 1);
        if (remaining <= 0) return call.apply(real, args);
        if (hasActed) await call.apply(real, args).catch(() => undefined);
        throw new CRIError(code, `${method} failed`);
      };
      return [method, wrapped];
    });
    return Object.fromEntries(calls) as Calls;
  };
}

for (const code of codes) {
  lies[`every call fails with ${code}`] = failing(code, false);
  lies[`every call is done, and fails with ${code}`] = failing(code, true);
}

for (const [what, lie] of Object.entries(lies)) {
  t.test(what, async (t) => {
    let real: SimulatedRuntime | undefined;
    const calls: Calls = {};
    const agent = await virtualAgent(t, {
      dependencies: (_, runtime) => {
        real = runtime;
        return { cri: overrideCalls(runtime, calls), checker: new SimulatedChecker(runtime) };
      },
    });
    if (real === undefined) throw new Error('there is no runtime');
    const runtime = real;
    const { api, clock, main, until } = agent;
    const recordedRuns = new RecordedRuns(runtime, uidLabel);
    const statuses = new Statuses(recordedRuns);
    api.intercept(() => {
      statuses.check(api.list(pods));
      return undefined;
    });
    const exits = (after: string, code: number) => ({
      'sim.orch.io/exit-after': after,
      'sim.orch.io/exit-code': String(code),
    });
    const init = { name: 'init', image: 'docker.io/test/init:1', command: ['true'] };
    for (const name of ['stays', 'goes']) api.seed(pods, testPod(name));
    api.seed(pods, testPod('once', { restartPolicy: 'Never', initContainers: [init] }));
    api.seed(pods, testPod('ends', { restartPolicy: 'Never' }, exits('30s', 3)));
    api.seed(pods, testPod('again', {}, exits('20s', 4)));
    await until(() => ['stays', 'goes', 'once', 'ends', 'again'].every((name) => main(name)?.state?.running));

    Object.assign(calls, lie(runtime));
    api.seed(pods, testPod('late'));
    api.seed(pods, testPod('brief', { restartPolicy: 'Never' }, exits('10s', 5)));
    const remove = (name: string) =>
      api.client.resource(pods).delete(name, { namespace: 'default', gracePeriodSeconds: 5 });
    await remove('goes');
    await clock.advance(liesForMs);
    for (const method of Object.keys(calls) as (keyof CRI)[]) delete calls[method];
    const problems = async () => [
      ...(await problemsOf({ ...{ runtime, recordedRuns, uidLabel }, pods: api.list(pods) })),
      ...[...recordedRuns.twice].map((run) => `twice: ${run}`),
    ];
    const settled = async (findProblems: () => Promise<unknown[]>) => {
      for (let step = 0; step < settle.steps && (await findProblems()).length > 0; step++)
        await clock.advance(settle.stepMs);
      t.same(await findProblems(), []);
    };
    const wrong = () => [
      ...(api.get(pods, 'default/goes') === undefined ? [] : ['goes is there']),
      ...['stays', 'late'].flatMap((name) => (main(name)?.state?.running ? [] : [`${name} does not run`])),
    ];
    await settled(async () => [...(await problems()), ...wrong()]);
    for (const { metadata } of api.list(pods)) await remove(metadata.name ?? '');
    await settled(async () => [...(await problems()), ...api.list(pods), ...(await runtime.listPodSandbox())]);
    for (const problem of statuses.problems) t.comment(`for a while: ${problem}`);
  });
}
