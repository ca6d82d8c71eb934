/** An agent with a runtime that hangs or gives false responses, on a virtual clock. */
import t from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import type { CRI, RuntimeEventHandler } from '#nodeagent/cri/cri.js';
import { CRIError } from '#nodeagent/cri/errors.js';
import { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import { SimulatedChecker } from '#nodeagent/simulated/node.js';
import type { SimulatedRuntime } from '#nodeagent/simulated/runtime.js';
import { nodeName, testPod } from '#nodeagent/testing/agent-fixture.js';
import { overrideCalls } from '#nodeagent/testing/override-calls.js';
import { virtualAgent } from '#nodeagent/testing/virtual-agent.js';

type Calls = { -readonly [K in keyof CRI]?: CRI[K] };

/** An agent whose runtime responds with `calls`; events are off unless overridden. */
async function agentWithFaults(t: { teardown(fn: () => unknown): void }, calls: Calls = {}) {
  let real: SimulatedRuntime | undefined;
  const agent = await virtualAgent(t, {
    dependencies: (_, runtime) => {
      real = runtime;
      return { cri: overrideCalls(runtime, calls), checker: new SimulatedChecker(runtime) };
    },
  });
  if (real === undefined) throw new Error('there is no runtime');
  return { ...agent, calls, real };
}

/** A runtime without events; it is listed every second. */
const withoutEvents = (handler: RuntimeEventHandler) => {
  handler.onConnected(false);
  return () => undefined;
};

const hangs = () => new Promise<never>(() => undefined);

t.test('a node with an unresponsive runtime reports it after 30 seconds and keeps its lease', async (t) => {
  const { api, calls, clock, until } = await agentWithFaults(t);
  const ready = () => api.get(nodes, nodeName)?.status?.conditions?.find(({ type }) => type === 'Ready');
  const renewed = () => api.get(leases, `orch-node-lease/${nodeName}`)?.spec.renewTime;
  await until(() => ready()?.status === 'True');
  Object.assign(calls, { status: hangs, listImages: hangs, imageFsInfo: hangs, listPodSandbox: hangs });
  await clock.advance(20_000);
  t.equal(ready()?.status, 'True', 'a short restart of the runtime is not reported');
  await clock.advance(30_000);
  t.match(ready(), { status: 'False', reason: 'NodeagentNotReady', message: 'container runtime is down' });
  const before = renewed();
  await clock.advance(240_000);
  t.not(renewed(), before);
  t.match(
    ready()?.message,
    /^\[container runtime is down, PLEG is not healthy: pleg was last seen active \dm\d+s ago; threshold is 3m0s\]$/,
  );
});

t.test('a container without a readable status hides no other', async (t) => {
  const { api, calls, real, status, until } = await agentWithFaults(t, { subscribe: withoutEvents });
  let unreadableID = '';
  calls.containerStatus = async (id) => {
    if (id === unreadableID) throw new CRIError('Unknown', 'its shim is gone');
    return real.containerStatus(id);
  };
  calls.createContainer = async (...args) => {
    const id = await real.createContainer(...args);
    if (args[2].metadata.name === 'first') unreadableID = id;
    return id;
  };
  api.seed(pods, testPod('first'));
  await until(() => unreadableID !== '');
  api.seed(pods, testPod('second', { restartPolicy: 'Never' }, { 'sim.orch.io/exit-after': '20s' }));
  await until(() => status('second')?.phase === 'Succeeded');
  t.equal(status('first')?.phase, 'Pending', 'no status is invented');
  unreadableID = '';
  await until(() => status('first')?.phase === 'Running');
  t.equal((await real.listContainers()).length, 2);
});

t.test('a container missing from a list is queried before it is restarted', async (t) => {
  const { api, calls, real, main, until, clock } = await agentWithFaults(t, { subscribe: withoutEvents });
  api.seed(pods, testPod('web'));
  await until(() => main('web')?.state?.running !== undefined);
  calls.listContainers = async () => [];
  calls.listPodSandbox = async () => [];
  await clock.advance(30_000);
  t.equal((await real.listContainers()).length, 1);
  t.equal((await real.listPodSandbox()).length, 1);
  t.ok(main('web')?.state?.running);
  delete calls.listPodSandbox;
  delete calls.listContainers;
  // Neither listed nor in a status: removed.
  for (const { id } of await real.listContainers()) await real.removeContainer(id);
  await until(() => main('web')?.restartCount === 1);
});

t.test('duplicate list entries count once, and those without a name are ignored', async (t) => {
  const { api, calls, real, main, until, clock } = await agentWithFaults(t, { subscribe: withoutEvents });
  calls.listContainers = async (filter) => {
    const listed = await real.listContainers(filter);
    return [...listed, ...listed, ...listed.map((each) => ({ ...each, id: '' }))];
  };
  calls.listPodSandbox = async (filter) => {
    const listed = await real.listPodSandbox(filter);
    return [...listed, ...listed];
  };
  api.seed(pods, testPod('web'));
  await until(() => main('web')?.state?.running !== undefined);
  await clock.advance(30_000);
  t.match(main('web'), { restartCount: 0, state: { running: {} } });
  t.equal((await real.listContainers()).length, 1);
});

t.test('a container in an unknown state is stopped and restarted as its policy allows', async (t) => {
  const { api, calls, real, main, until, clock } = await agentWithFaults(t, { subscribe: withoutEvents });
  const isUnknown = new Set<string>();
  const withoutState = <T extends { id: string; state: string }>(each: T): T =>
    isUnknown.has(each.id) && each.state === 'CONTAINER_RUNNING' ? { ...each, state: 'CONTAINER_UNKNOWN' } : each;
  calls.listContainers = async (filter) => (await real.listContainers(filter)).map(withoutState);
  calls.containerStatus = async (id) => withoutState(await real.containerStatus(id));
  for (const restartPolicy of ['Never', 'Always'])
    api.seed(pods, testPod(restartPolicy.toLowerCase(), { restartPolicy }));
  const runs = (name: string) => main(name)?.state?.running !== undefined;
  await until(() => runs('never') && runs('always'));
  for (const { id } of await real.listContainers()) isUnknown.add(id);
  await until(() => main('always')?.restartCount === 1 && runs('always'));
  await until(() => main('never')?.state?.terminated !== undefined);
  await clock.advance(60_000);
  t.match(main('never'), { restartCount: 0, state: { terminated: { exitCode: 143 } } });
  const running = (await real.listContainers()).filter(({ state }) => state === 'CONTAINER_RUNNING');
  t.same(
    running.map(({ metadata }) => metadata.attempt),
    [1],
  );
});

t.test('a container that starts after a failed call is kept', async (t) => {
  const { api, calls, real, main, until, clock } = await agentWithFaults(t, { subscribe: withoutEvents });
  // The call fails; the runtime starts the container after the agent has listed it and before it acts.
  let lateID = '';
  calls.startContainer = async (id) => {
    lateID = id;
    throw new CRIError('DeadlineExceeded', 'no answer in time');
  };
  let lists = 0;
  calls.containerStatus = async (id) => {
    if (id === lateID && lists++ === 1) await real.startContainer(id);
    return real.containerStatus(id);
  };
  api.seed(pods, testPod('late', { restartPolicy: 'Never' }));
  await until(() => main('late')?.state?.running !== undefined);
  await clock.advance(30_000);
  t.same(
    (await real.listContainers()).map(({ id, state }) => [id, state]),
    [[lateID, 'CONTAINER_RUNNING']],
  );
  t.equal(main('late')?.restartCount, 0);
});

t.test('the attempt number of a late start is not reused', async (t) => {
  const { api, calls, real, main, until } = await agentWithFaults(t, { subscribe: withoutEvents });
  const attempts: number[] = [];
  const start = async (id: string) => {
    await real.startContainer(id);
    attempts.push((await real.containerStatus(id)).metadata.attempt);
  };
  // The call fails; the runtime starts the container between the agent's listing and its removal call.
  calls.startContainer = async () => {
    calls.startContainer = start;
    throw new CRIError('DeadlineExceeded', 'no answer in time');
  };
  calls.removeContainer = async (id) => {
    delete calls.removeContainer;
    await start(id);
    return real.removeContainer(id);
  };
  api.seed(pods, testPod('late'));
  await until(() => main('late')?.state?.running !== undefined);
  t.same(attempts, [0, 1]);
  t.equal(main('late')?.restartCount, 1);
});

t.test('a container still listed is not gone, whatever its status says', async (t) => {
  const { api, calls, real, main, until, clock } = await agentWithFaults(t, { subscribe: withoutEvents });
  api.seed(pods, testPod('stays'));
  await until(() => main('stays')?.state?.running !== undefined);
  calls.removePodSandbox = async () => undefined;
  await api.client.resource(pods).delete('stays', { namespace: 'default', gracePeriodSeconds: 1 });
  await clock.advance(30_000);
  t.ok(api.get(pods, 'default/stays'));
  delete calls.removePodSandbox;
  await until(() => api.get(pods, 'default/stays') === undefined);
  t.same(await real.listPodSandbox(), []);
});

t.test("a pod's end is reported before its sandbox has stopped", async (t) => {
  const { api, calls, real, main, until } = await agentWithFaults(t, { subscribe: withoutEvents });
  let stop = async () => {};
  calls.stopPodSandbox = (id) =>
    new Promise((resolve, reject) => {
      stop = () => real.stopPodSandbox(id).then(resolve, reject);
    });
  const prefix = `sim.${orchDialect.labelDomain}`;
  const ends = { [`${prefix}/exit-after`]: '1s', [`${prefix}/exit-code`]: '4' };
  api.seed(pods, testPod('brief', { restartPolicy: 'Never' }, ends));
  await until(() => api.get(pods, 'default/brief')?.status?.phase === 'Failed');
  t.equal(main('brief')?.state?.terminated?.exitCode, 4);
  const states = async () => (await real.listPodSandbox()).map(({ state }) => state);
  t.same(await states(), ['SANDBOX_READY']);
  await stop();
  t.same(await states(), ['SANDBOX_NOTREADY']);
});

t.test('an orphaned pod is removed, however often that fails', async (t) => {
  const { calls, real, until } = await agentWithFaults(t, { subscribe: withoutEvents });
  let refused = 0;
  calls.stopPodSandbox = async (id) => {
    if (refused++ < 3) throw new CRIError('Unknown', 'not now');
    return real.stopPodSandbox(id);
  };
  let removed = '';
  calls.removePodSandbox = async (id) => {
    removed = id;
    return real.removePodSandbox(id);
  };
  const namespaceOptions = { network: 'POD', pid: 'CONTAINER', ipc: 'POD' } as const;
  const id = await real.runPodSandbox({
    metadata: { name: 'orphan', uid: 'unknown', namespace: 'default', attempt: 0 },
    ...{ hostname: 'orphan', logDirectory: '', portMappings: [], annotations: {} },
    labels: new RuntimeLabels(orchDialect).pod(testPod('orphan')),
    linux: { securityContext: { namespaceOptions } },
  });
  await until(() => removed === id);
  t.same([refused, await real.listPodSandbox()], [4, []]);
});
