import { once } from 'node:events';
import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Container, Pod, PodSpec } from '#api/core/v1/types.gen.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { Simulation } from '#nodeagent/simulated/simulation.js';
import { testPod } from '#nodeagent/testing/agent-fixture.js';
import { virtualAgent } from '#nodeagent/testing/virtual-agent.js';

const prefix = 'sim.orch.io/';
const image = 'docker.io/test/app:1.0';
const main: Container = { name: 'main', image };

/** `settings`: without the prefix. */
function podWith(name: string, settings: Record<string, string>, spec: Partial<PodSpec> = {}): Pod {
  return testPod(
    name,
    spec,
    Object.fromEntries(Object.entries(settings).map(([key, text]) => [`${prefix}${key}`, text])),
  );
}

/** The pod as one of a Job. */
function ofJob(pod: Pod, uid = 'job-uid'): Pod {
  const owned = copyJson(pod);
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'job', uid, controller: true, blockOwnerDeletion: true };
  owned.metadata.ownerReferences = [owner];
  return owned as Pod;
}

type Agent = Awaited<ReturnType<typeof virtualAgent>>;

const phaseOf = ({ status }: Agent, name: string) => status(name)?.phase;
const logOf = async ({ runtime }: Agent, name: string, container = 'main') => {
  for (const path of await runtime.logFiles.list('')) t.comment(path);
  const [one] = await runtime.listContainers();
  const { logPath } = await runtime.containerStatus(one?.id ?? '');
  const file = await runtime.logFiles.open(logPath);
  const text = (await file?.read(0, 65_536))?.toString() ?? '';
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => line.replace(/^\S+ /, `${name}/${container} `));
};

t.test('a container fails twice and then succeeds', async (t) => {
  const agent = await virtualAgent(t);
  const settings = { 'exit-after': '1s', 'exit-code': '1,1,0', 'exit-message': 'done' };
  agent.api.seed(pods, podWith('retry', settings, { restartPolicy: 'OnFailure' }));
  await agent.until(() => phaseOf(agent, 'retry') === 'Succeeded');
  t.match(agent.main('retry'), {
    restartCount: 2,
    state: { terminated: { exitCode: 0, reason: 'Completed', message: 'done' } },
  });
});

t.test('attempts of a Job are counted over its pods', async (t) => {
  const agent = await virtualAgent(t);
  for (const name of ['first', 'second', 'third']) {
    agent.api.seed(pods, ofJob(podWith(name, { 'exit-code': '7,7,0' }, { restartPolicy: 'Never' })));
    await agent.until(() => ['Succeeded', 'Failed'].includes(phaseOf(agent, name) ?? ''));
  }
  t.same(
    ['first', 'second', 'third'].map((name) => phaseOf(agent, name)),
    ['Failed', 'Failed', 'Succeeded'],
  );
});

t.test('unknown programs end in Jobs and init containers, and run elsewhere', async (t) => {
  const agent = await virtualAgent(t);
  const { api, until, isTrue } = agent;
  api.seed(pods, ofJob(testPod('job', { restartPolicy: 'Never' })));
  api.seed(pods, ofJob(testPod('endless', { containers: [{ ...main, command: ['sleep', 'infinity'] }] })));
  api.seed(pods, testPod('web', { initContainers: [{ name: 'init', image }] }));
  api.seed(pods, testPod('bare', { restartPolicy: 'Never' }));
  await until(() => phaseOf(agent, 'job') === 'Succeeded');
  await until(() => isTrue('web', 'Ready') && isTrue('endless', 'Ready') && isTrue('bare', 'Ready'));
  await agent.clock.advance(3_600_000);
  t.same(
    ['web', 'endless', 'bare'].map((name) => phaseOf(agent, name)),
    ['Running', 'Running', 'Running'],
  );
});

t.test('a crash loop backs off', async (t) => {
  const agent = await virtualAgent(t);
  agent.api.seed(pods, podWith('loop', { 'exit-after': '2s', 'exit-code': '3' }));
  await agent.until(() => (agent.main('loop')?.restartCount ?? 0) >= 3);
  await agent.until(() => agent.main('loop')?.state?.waiting?.reason === 'CrashLoopBackOff');
});

t.test('images fail to be pulled, though the node has them, and later succeed', async (t) => {
  const agent = await virtualAgent(t);
  const { api, main: container, until, isTrue, reasons, pass } = agent;
  api.seed(pods, testPod('before'));
  await until(() => isTrue('before', 'Ready'));
  const message = 'failed to resolve reference: not found';
  api.seed(pods, podWith('bad', { 'pull-failure': message, 'pull-failure-times': '2' }));
  await until(() => container('bad')?.state?.waiting?.reason === 'ErrImagePull');
  t.match(container('bad')?.state?.waiting?.message, message);
  await until(() => container('bad')?.state?.waiting?.reason === 'ImagePullBackOff');
  t.equal(container('bad')?.state?.waiting?.message, `Back-off pulling image "${image}"`);
  await until(() => isTrue('bad', 'Ready'));
  await pass(100);
  t.ok(reasons('bad').includes('Failed') && reasons('bad').includes('BackOff'));
});

t.test('probes are ready late, unready and unhealthy, each for itself', async (t) => {
  const agent = await virtualAgent(t);
  const { api, clock, until, isTrue, main: container } = agent;
  const probe = { httpGet: { path: '/', port: 80 }, periodSeconds: 1, failureThreshold: 1 };
  const probed = { containers: [{ ...main, readinessProbe: probe, livenessProbe: probe }] };
  const settings = { 'ready-after': '20s', 'unready-after': '40s', 'unhealthy-after': '60s' };
  api.seed(pods, podWith('slow', settings, probed));
  await until(() => container('slow')?.state?.running !== undefined);
  await clock.advance(15_000);
  t.notOk(isTrue('slow', 'Ready'));
  t.equal(container('slow')?.restartCount, 0, 'liveness does not wait');
  await clock.advance(10_000);
  t.ok(isTrue('slow', 'Ready'));
  await clock.advance(20_000);
  t.notOk(isTrue('slow', 'Ready'));
  t.equal(container('slow')?.restartCount, 0);
  await until(() => container('slow')?.restartCount === 1);
});

t.test('HTTP answers decide probes and speak on connections', async (t) => {
  const agent = await virtualAgent(t);
  const { api, until, isTrue, status, runtime, clock } = agent;
  const probe = { httpGet: { path: '/ready', port: 80 }, periodSeconds: 1, failureThreshold: 1 };
  const http = JSON.stringify({
    '/ready': [{ until: '5s', status: 503 }, 200],
    '/v': { body: 'one', headers: { 'X-A': 'b' } },
  });
  api.seed(pods, podWith('web', { http }, { containers: [{ ...main, readinessProbe: probe }] }));
  await until(() => status('web')?.phase === 'Running');
  t.notOk(isTrue('web', 'Ready'));
  const ask = async (path: string) => {
    const stream = runtime.connect(status('web')?.podIP ?? '', 80);
    if (stream === undefined) throw new Error('no connection');
    let text = '';
    stream.on('data', (chunk) => {
      text += chunk;
    });
    stream.write(`GET ${path} HTTP/1.1\r\nHost: web\r\n\r\n`);
    await once(stream, 'end');
    return text;
  };
  t.match(await ask('/ready'), /^HTTP\/1.1 503 /);
  await until(() => isTrue('web', 'Ready'));
  t.match(await ask('/ready'), /^HTTP\/1.1 200 /);
  t.match(await ask('/v?x=1'), /^HTTP\/1.1 200 OK\r\n[\s\S]*x-a: b\r\n[\s\S]*\r\n\r\none$/);
  t.match(await ask('/other'), /^HTTP\/1.1 404 /);
  await clock.advance(1);
});

t.test('commands are answered', async (t) => {
  const agent = await virtualAgent(t);
  const { api, until, isTrue, runtime } = agent;
  const exec = 'cat /version: "1.2\\n"\n"pg_isready *": { stderr: "no response", exit-code: 2 }';
  api.seed(pods, podWith('db', { exec }));
  await until(() => isTrue('db', 'Ready'));
  const [container] = await runtime.listContainers();
  const run = async (...cmd: string[]) => {
    const result = await runtime.execSync({ containerId: container?.id ?? '', cmd, timeoutSeconds: 0 });
    return [String(result.stdout), String(result.stderr), result.exitCode];
  };
  t.same(await run('cat', '/version'), ['1.2\n', '', 0]);
  t.same(await run('pg_isready', '-q'), ['', 'no response', 2]);
  t.same(await run('echo', 'else'), ['else\n', '', 0], 'other commands are those of every simulated container');
});

t.test('a container writes its log, at a rate and up to a count', async (t) => {
  const agent = await virtualAgent(t);
  const settings = { log: 'hello\nworld\n', 'log-every': '1s', 'log-text': 'tick {n}', 'log-count': '2' };
  agent.api.seed(pods, podWith('talk', settings));
  await agent.until(() => agent.isTrue('talk', 'Ready'));
  await agent.clock.advance(10_000);
  t.same(await logOf(agent, 'talk'), [
    'talk/main stdout F hello',
    'talk/main stdout F world',
    'talk/main stdout F tick 0',
    'talk/main stdout F tick 1',
  ]);
});

t.test('CPU and memory follow their settings, and too much memory ends the container', async (t) => {
  const agent = await virtualAgent(t);
  const { api, until, isTrue, runtime, clock, main: container } = agent;
  const resources = { requests: { cpu: '200m' }, limits: { memory: '100Mi' } };
  const settings = { cpu: '50%', memory: '0s=10Mi, 100s=210Mi' };
  api.seed(pods, podWith('load', settings, { containers: [{ ...main, resources }] }));
  await until(() => isTrue('load', 'Ready'));
  const stats = async () => (await runtime.listContainerStats())[0];
  const first = await stats();
  await clock.advance(10_000);
  const second = await stats();
  t.equal((second?.usageCoreNanoSeconds ?? 0) - (first?.usageCoreNanoSeconds ?? 0), 1e9, 'half of 200m for 10 s');
  t.ok((second?.workingSetBytes ?? 0) > (first?.workingSetBytes ?? 0));
  await until(() => container('load')?.lastState?.terminated?.reason === 'OOMKilled');
  t.equal(container('load')?.lastState?.terminated?.exitCode, 137);
});

t.test('containers of one controller share a use of CPU', async (t) => {
  const agent = await virtualAgent(t);
  const { api, until, isTrue, runtime, clock } = agent;
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'rs', uid: 'rs-uid', controller: true };
  for (const name of ['a', 'b']) {
    const pod = copyJson(podWith(name, { 'cpu-shared': '1' }));
    pod.metadata.ownerReferences = [owner];
    api.seed(pods, pod as Pod);
  }
  await until(() => isTrue('a', 'Ready') && isTrue('b', 'Ready'));
  const used = async () => (await runtime.listContainerStats()).map((each) => each.usageCoreNanoSeconds);
  const first = await used();
  await clock.advance(10_000);
  t.same(
    (await used()).map((each, i) => each - (first[i] ?? 0)),
    [5e9, 5e9],
    'half a core each',
  );
});

t.test('rules act where annotations are silent, and can be replaced', async (t) => {
  const agent = await virtualAgent(t);
  const { api, until, runtime } = agent;
  const rules = [
    { match: { name: 'named' }, behaviour: { 'exit-code': 5 } },
    { match: { owner: 'Job' }, behaviour: { 'exit-code': 6 } },
    { match: { image: '*/test/*', namespace: 'def*' }, behaviour: { 'exit-code': 7, 'exit-after': '1s' } },
  ];
  runtime.simulation.setRules(rules);
  const spec: Partial<PodSpec> = { restartPolicy: 'Never' };
  api.seed(pods, testPod('named', spec));
  api.seed(pods, ofJob(testPod('job', spec)));
  api.seed(pods, testPod('other', spec));
  api.seed(pods, podWith('annotated', { 'exit-code': '8' }, spec));
  const code = (name: string) => agent.main(name)?.state?.terminated?.exitCode;
  const names = ['named', 'job', 'other', 'annotated'];
  await until(() => names.every((name) => code(name) !== undefined));
  t.same(names.map(code), [5, 6, 7, 8]);
  runtime.simulation.setRules([]);
  api.seed(pods, testPod('again', spec));
  await until(() => agent.isTrue('again', 'Ready'));
});

t.test('wrong settings are told by events of the pod, once', async (t) => {
  const agent = await virtualAgent(t);
  const { api, until, isTrue, pass } = agent;
  const settings = { 'exit-after': 'soon', exit: '1', 'exit-code.other': '1', 'ready-after': '1s', cpu: '50%' };
  api.seed(pods, podWith('wrong', settings));
  await until(() => isTrue('wrong', 'Ready'));
  await pass(60_000);
  t.equal(agent.reasons('wrong').filter((reason) => reason === 'InvalidSimulation').length, 5);
});

t.test('the rules of a simulation are kept when new ones are wrong', async (t) => {
  const agent = await virtualAgent(t);
  const simulation = new Simulation(agent.clock);
  simulation.setRules('rules: [{behaviour: {exit-code: 1}}]');
  t.throws(() => simulation.setRules('rules: [{behaviour: {exit-code: x}}]'));
  t.equal(simulation.rules.length, 1);
});
