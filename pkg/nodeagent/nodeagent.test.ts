import t from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { configmaps, events, nodes, pods } from '#api/core/v1/resources.gen.js';
import type { PodSpec, PodStatus } from '#api/core/v1/types.gen.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import { SimulatedMachine } from '#nodeagent/simulated/node.js';
import { nodeName, startAgent, testPod } from '#nodeagent/testing/agent-fixture.js';
import { virtualAgent } from '#nodeagent/testing/virtual-agent.js';

const prefix = 'sim.orch.io/';
const image = 'docker.io/test/app:1.0';

const command = (...words: string[]): Partial<PodSpec> => ({ containers: [{ name: 'main', image, command: words }] });

t.test('the node registers, reports and renews its lease', async (t) => {
  const { api, clock } = await virtualAgent(t);
  const node = api.get(nodes, nodeName);
  t.match(node, {
    metadata: { labels: { 'orch.io/hostname': nodeName, 'orch.io/os': 'linux' } },
    status: {
      capacity: { cpu: '32', pods: '110', memory: '134217728Ki' },
      allocatable: { memory: '134115328Ki' },
      addresses: [
        { type: 'InternalIP', address: '192.0.2.1' },
        { type: 'Hostname', address: nodeName },
      ],
      nodeInfo: { containerRuntimeVersion: 'simulated://1.0.0', kubeletVersion: 'v1.24.0' },
    },
  });
  t.equal(node?.status?.conditions?.find((c) => c.type === 'Ready')?.status, 'True');
  const lease = () => api.get(leases, `orch-node-lease/${nodeName}`)?.spec.renewTime;
  const first = lease();
  await clock.advance(10_000);
  t.not(lease(), first, 'renewed every ten seconds');
  api.takeWrites();
  await clock.advance(60_000);
  t.same(
    api.takeWrites().filter((line) => !line.includes('leases')),
    [],
    'a node that does not change writes nothing but its lease',
  );
  await clock.advance(300_000);
  t.ok(api.takeWrites().includes(`patch nodes/status ${nodeName}`), 'but its status every five minutes');
});

t.test("a dual-stack node and its pods on the host's network have both addresses", async (t) => {
  const { api, status, isTrue, until } = await virtualAgent(t, { args: ['--node-ip=192.0.2.7,2001:db8::7'] });
  t.same(api.get(nodes, nodeName)?.status?.addresses, [
    { type: 'InternalIP', address: '192.0.2.7' },
    { type: 'InternalIP', address: '2001:db8::7' },
    { type: 'Hostname', address: nodeName },
  ]);
  api.seed(pods, testPod('host', { hostNetwork: true }));
  await until(() => isTrue('host', 'Ready'));
  t.match(status('host'), {
    hostIP: '192.0.2.7',
    podIP: '192.0.2.7',
    podIPs: [{ ip: '192.0.2.7' }, { ip: '2001:db8::7' }],
  });
});

t.test("a node's address follows the machine's and is kept while there is none", async (t) => {
  let addresses = ['192.0.2.7'];
  const machine = new SimulatedMachine();
  machine.addresses = async () => {
    if (addresses.length === 0) throw new Error('no such address');
    return { addresses };
  };
  const { api, clock, until } = await virtualAgent(t, { dependencies: { machine } });
  const address = () => api.get(nodes, nodeName)?.status?.addresses?.[0]?.address;
  t.equal(address(), '192.0.2.7');
  addresses = ['198.51.100.7'];
  await until(() => address() === '198.51.100.7');
  addresses = [];
  await clock.advance(60_000);
  t.equal(address(), '198.51.100.7');
});

t.test('a node marked unreachable reports ready at once', async (t) => {
  const { api, pass } = await virtualAgent(t);
  api.change(nodes, nodeName, (node) => {
    for (const c of node.status?.conditions ?? []) if (c.type === 'Ready') c.status = 'Unknown';
  });
  await pass(100);
  t.equal(api.get(nodes, nodeName)?.status?.conditions?.find((c) => c.type === 'Ready')?.status, 'True');
});

t.test('a pod runs, becomes ready, and disappears when deleted', async (t) => {
  const { api, pass, runtime, isTrue, status, until, reasons } = await virtualAgent(t);
  api.seed(pods, testPod('web'));
  await until(() => isTrue('web', 'Ready'));
  t.match(status('web'), {
    phase: 'Running',
    hostIP: '192.0.2.1',
    podIP: /^10\.244\.0\./,
    qosClass: 'BestEffort',
    containerStatuses: [{ name: 'main', ready: true, started: true, restartCount: 0, containerID: /^simulated:\/\// }],
  });
  await pass(100);
  t.same(reasons('web'), ['MissingClusterDNS', 'Pulling', 'Pulled', 'Created', 'Started']);
  api.takeWrites();
  await pass(60_000);
  t.same(
    api.takeWrites().filter((line) => line.includes('pods')),
    [],
    'nothing is written while nothing changes',
  );
  await api.client.resource(pods).delete('web', { namespace: 'default', gracePeriodSeconds: 30 });
  await until(() => api.get(pods, 'default/web') === undefined);
  t.same(await runtime.listPodSandbox(), []);
  t.same(await runtime.listContainers(), []);
  t.equal(runtime.logFiles.size, 0);
});

t.test('the back-off of a crashing container is 10 s, 20 s, … 5 min, and resets after ten minutes', async (t) => {
  const { api, pass, main, until, runtime } = await virtualAgent(t);
  api.seed(pods, testPod('crash', command('false')));
  const delays: string[] = [];
  for (const restarts of [1, 2, 3, 4, 5, 6, 7]) {
    await until(
      () => main('crash')?.restartCount === restarts && main('crash')?.state?.waiting?.reason === 'CrashLoopBackOff',
    );
    delays.push(/^back-off (\S+) /.exec(main('crash')?.state?.waiting?.message ?? '')?.[1] ?? '');
  }
  t.same(delays, ['10s', '20s', '40s', '1m20s', '2m40s', '5m0s', '5m0s']);
  t.match(main('crash'), { lastState: { terminated: { exitCode: 1, reason: 'Error' } }, ready: false, started: false });
  t.equal((await runtime.listContainers()).length, 2, 'only the last run and the one before are kept');
  await pass(100);
});

t.test('restart policies determine the phase', async (t) => {
  const { api, status, until } = await virtualAgent(t);
  api.seed(pods, testPod('done', { ...command('true'), restartPolicy: 'Never' }));
  api.seed(pods, testPod('failed', { ...command('sh', '-c', 'exit 3'), restartPolicy: 'Never' }));
  api.seed(pods, testPod('job', { ...command('true'), restartPolicy: 'OnFailure' }));
  await until(
    () => ['done', 'job'].every((name) => status(name)?.phase === 'Succeeded') && status('failed')?.phase === 'Failed',
  );
  t.match(status('failed')?.containerStatuses?.[0]?.state, { terminated: { exitCode: 3, reason: 'Error' } });
  t.match(
    status('done')?.conditions?.find((c) => c.type === 'Ready'),
    { status: 'False', reason: 'PodCompleted' },
  );
});

t.test('init containers run first, and failures are retried', async (t) => {
  const { api, status, isTrue, until } = await virtualAgent(t);
  const init = (name: string, words: string[]) => ({ name, image, command: words });
  api.seed(pods, testPod('good', { initContainers: [init('one', ['true']), init('two', ['sleep', '5'])] }));
  api.seed(pods, testPod('bad', { initContainers: [init('one', ['false'])] }));
  await until(() => status('good')?.initContainerStatuses?.[1]?.state?.running !== undefined);
  t.match(
    status('good')?.conditions?.find((c) => c.type === 'Initialized'),
    {
      status: 'False',
      reason: 'ContainersNotInitialized',
      message: 'containers with incomplete status: [two]',
    },
  );
  t.match(status('good')?.containerStatuses?.[0]?.state, { waiting: { reason: 'PodInitializing' } });
  await until(() => isTrue('good', 'Ready'));
  await until(() => status('bad')?.initContainerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff');
  t.equal(status('bad')?.phase, 'Pending');
});

t.test('pulls of a missing image back off', async (t) => {
  const { api, runtime, clock, main, until, reasons } = await virtualAgent(t);
  const pulls: number[] = [];
  const pull = runtime.pullImage.bind(runtime);
  runtime.pullImage = (...args) => {
    pulls.push(clock.now());
    return pull(...args);
  };
  api.seed(pods, testPod('lost', command('true'), { [`${prefix}pull-failure`]: 'no such image' }));
  await until(() => main('lost')?.state?.waiting?.reason === 'ErrImagePull');
  t.equal(main('lost')?.state?.waiting?.message, 'rpc error: code = Unknown desc = no such image');
  await until(() => main('lost')?.state?.waiting?.reason === 'ImagePullBackOff');
  t.equal(main('lost')?.state?.waiting?.message, 'Back-off pulling image "docker.io/test/app:1.0"');
  await until(() => pulls.length === 4);
  const gaps = pulls.slice(1).map((at, n) => Math.round((at - (pulls[n] ?? 0)) / 1000));
  t.ok((gaps[0] ?? 0) >= 10 && (gaps[1] ?? 0) >= 20 && (gaps[2] ?? 0) >= 40, `waits ${gaps.join()}`);
  t.ok(reasons('lost').includes('Failed'));
  const never = { name: 'main', image: 'docker.io/test/other:1.0', imagePullPolicy: 'Never' };
  api.seed(pods, testPod('never', { containers: [never] }));
  await until(() => main('never')?.state?.waiting?.reason === 'ErrImageNeverPull');
  api.seed(pods, testPod('wrong', { containers: [{ name: 'main', image: 'Not An Image' }] }));
  await until(() => main('wrong')?.state?.waiting?.reason === 'InvalidImageName');
});

t.test('probes determine readiness and restarts', async (t) => {
  const { api, main, isTrue, until, reasons, pass } = await virtualAgent(t);
  const probe = { httpGet: { path: '/', port: 80 }, periodSeconds: 5, failureThreshold: 2 };
  const container = { name: 'main', image };
  api.seed(
    pods,
    testPod('slow', { containers: [{ ...container, readinessProbe: probe }] }, { [`${prefix}ready-after`]: '20s' }),
  );
  await until(() => main('slow')?.state?.running !== undefined);
  t.notOk(isTrue('slow', 'Ready'));
  t.equal(
    api.get(pods, 'default/slow')?.status?.conditions?.find((c) => c.type === 'ContainersReady')?.message,
    'containers with unready status: [main]',
  );
  await until(() => isTrue('slow', 'Ready'));
  api.seed(
    pods,
    testPod('sick', { containers: [{ ...container, livenessProbe: probe }] }, { [`${prefix}unhealthy-after`]: '30s' }),
  );
  await until(() => main('sick')?.restartCount === 1 && main('sick')?.state?.running !== undefined);
  await pass(100);
  t.ok(['Unhealthy', 'Killing'].every((reason) => reasons('sick').includes(reason)));
  api.seed(
    pods,
    testPod(
      'late',
      { containers: [{ ...container, startupProbe: { ...probe, failureThreshold: 30 }, readinessProbe: probe }] },
      { [`${prefix}ready-after`]: '60s' },
    ),
  );
  await until(() => main('late')?.state?.running !== undefined);
  t.equal(main('late')?.started, false);
  await until(() => main('late')?.started === true && isTrue('late', 'Ready'));
});

const withConfigMap = (name: string): Partial<PodSpec> => ({
  volumes: [{ name: 'v', configMap: { name } }],
  containers: [{ name: 'main', image, volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
});

t.test('a pod waits for the objects it refers to', async (t) => {
  const { api, main, status, isTrue, until, reasons, pass } = await virtualAgent(t);
  api.seed(pods, testPod('volume', withConfigMap('cfg')));
  const env = [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'cfg', key: 'a' } } }];
  api.seed(pods, testPod('env', { containers: [{ name: 'main', image, env }] }));
  await until(
    () =>
      reasons('volume').includes('FailedMount') && main('env')?.state?.waiting?.reason === 'CreateContainerConfigError',
  );
  t.equal(main('env')?.state?.waiting?.message, 'configmap "cfg" not found');
  t.equal(status('volume')?.phase, 'Pending');
  api.seed(configmaps, { metadata: { name: 'cfg', namespace: 'default' }, data: { a: '1' } });
  await pass(2000);
  t.ok(isTrue('env', 'Ready') && isTrue('volume', 'Ready'), 'the pods start once the objects exist');
});

t.test('retries of a failing volume back off', async (t) => {
  const { api, pass } = await virtualAgent(t);
  api.seed(pods, testPod('waits', withConfigMap('none')));
  await pass(60_000);
  const failures = api.list(events).filter((event) => event.reason === 'FailedMount');
  const tries = failures.reduce((sum, { count = 1 }) => sum + count, 0);
  t.ok(tries > 2 && tries < 10, `${tries} in a minute`);
});

t.test('a pod keeps its final status until its cleanup succeeds', async (t) => {
  const { api, runtime, isTrue, until } = await virtualAgent(t);
  api.seed(pods, testPod('web', { terminationGracePeriodSeconds: 1 }));
  await until(() => isTrue('web', 'Ready'));
  const remove = runtime.removePodSandbox.bind(runtime);
  let failures = 0;
  runtime.removePodSandbox = (id) => (failures++ < 2 ? Promise.reject(new Error('busy')) : remove(id));
  const states: object[] = [];
  api.intercept(({ verb, subresource, body }) => {
    const { containerStatuses = [] } = (body as { status?: PodStatus } | undefined)?.status ?? {};
    if (verb === 'patch' && subresource === 'status') states.push(...containerStatuses.map(({ state = {} }) => state));
    return undefined;
  });
  await api.client.resource(pods).delete('web', { namespace: 'default', gracePeriodSeconds: 1 });
  await until(() => api.get(pods, 'default/web') === undefined);
  t.equal(failures, 3);
  t.same(
    states.flatMap((state) => Object.keys(state)),
    ['terminated'],
  );
});

t.test('a new agent removes a cleaned-up pod with its final status', async (t) => {
  const { api, clock, runtime, fixture, isTrue, until } = await virtualAgent(t);
  api.seed(pods, testPod('web', { terminationGracePeriodSeconds: 1 }));
  await until(() => isTrue('web', 'Ready'));
  let tried = 0;
  const stop = api.intercept(({ verb, resource, body }) => {
    const last = (body as { gracePeriodSeconds?: number } | undefined)?.gracePeriodSeconds === 0;
    if (verb !== 'delete' || resource !== 'pods' || !last) return undefined;
    tried++;
    return serviceUnavailable('not now');
  });
  await api.client.resource(pods).delete('web', { namespace: 'default', gracePeriodSeconds: 1 });
  await until(() => tried > 0);
  await fixture.stop();
  t.same(await runtime.listContainers(), []);
  stop();
  const states: object[] = [];
  api.intercept(({ verb, subresource, body }) => {
    const { containerStatuses = [] } = (body as { status?: PodStatus } | undefined)?.status ?? {};
    if (verb === 'patch' && subresource === 'status') states.push(...containerStatuses.map(({ state = {} }) => state));
    return undefined;
  });
  const again = startAgent({ clock, api, runtime });
  t.teardown(() => again.stop());
  await until(() => api.get(pods, 'default/web') === undefined);
  t.notOk(states.some((state) => 'waiting' in state));
});

t.test('a container that ignores SIGTERM is killed after its grace period', async (t) => {
  const { api, pass } = await virtualAgent(t);
  api.seed(pods, testPod('deaf', {}, { [`${prefix}stop-latency`]: 'never' }));
  await pass(1000);
  await api.client.resource(pods).delete('deaf', { namespace: 'default', gracePeriodSeconds: 20 });
  await pass(19_000);
  t.ok(api.get(pods, 'default/deaf'));
  await pass(2000);
  t.equal(api.get(pods, 'default/deaf'), undefined);
});

t.test('a restarted agent adopts running pods and ends orphans', async (t) => {
  const { api, pass, clock, runtime, fixture, isTrue, main, until } = await virtualAgent(t);
  for (const name of ['kept', 'deleted', 'gone']) api.seed(pods, testPod(name));
  await until(() => ['kept', 'deleted', 'gone'].every((name) => isTrue(name, 'Ready')));
  const before = main('kept')?.containerID;
  await fixture.stop();
  await api.client.resource(pods).delete('deleted', { namespace: 'default', gracePeriodSeconds: 30 });
  api.remove(pods, 'default/gone');
  const again = startAgent({ clock, api, runtime });
  t.teardown(() => again.stop());
  await until(() => api.get(pods, 'default/deleted') === undefined);
  await pass(1000);
  const running = await runtime.listContainers();
  t.equal(running.length, 1, 'one container runs');
  t.equal(`simulated://${running[0]?.id}`, before, 'and it is the same');
  t.match(main('kept'), { restartCount: 0, ready: true });
});

t.test('a crashed sandbox is replaced', async (t) => {
  const { api, runtime, isTrue, main, until } = await virtualAgent(t);
  api.seed(pods, testPod('web'));
  await until(() => isTrue('web', 'Ready'));
  const [sandbox] = await runtime.listPodSandbox();
  await runtime.stopPodSandbox(sandbox?.id ?? '');
  await until(() => main('web')?.restartCount === 1 && isTrue('web', 'Ready'));
  const ready = await runtime.listPodSandbox({ state: 'SANDBOX_READY' });
  t.equal(ready.length, 1);
});

t.test('recreation of an unsuitable sandbox backs off', async (t) => {
  const { api, runtime, pass } = await virtualAgent(t);
  let created = 0;
  const run = runtime.runPodSandbox.bind(runtime);
  runtime.runPodSandbox = (...args) => {
    created++;
    return run(...args);
  };
  const status = runtime.podSandboxStatus.bind(runtime);
  runtime.podSandboxStatus = async (id) => ({ ...(await status(id)), networkMode: 'NODE' });
  api.seed(pods, testPod('web'));
  await pass(120_000);
  t.ok(created > 3 && created < 12, `${created} in two minutes`);
});

t.test('a pod past its deadline fails', async (t) => {
  const { api, status, runtime, until } = await virtualAgent(t);
  api.seed(pods, testPod('job', { activeDeadlineSeconds: 60 }));
  await until(() => status('job')?.phase === 'Failed');
  t.match(status('job'), { reason: 'DeadlineExceeded' });
  t.same(await runtime.listContainers({ state: 'CONTAINER_RUNNING' }), []);
});

t.test('a status overwritten by another client is restored', async (t) => {
  const { api, pass, isTrue, status, until } = await virtualAgent(t);
  api.seed(pods, testPod('web'));
  await until(() => isTrue('web', 'Ready'));
  api.change(pods, 'default/web', (pod) => {
    if (pod.status !== undefined) pod.status.phase = 'Pending';
  });
  await pass(1000);
  t.equal(status('web')?.phase, 'Running');
});
