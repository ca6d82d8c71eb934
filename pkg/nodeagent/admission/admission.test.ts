import t from 'tap';
import { appArmorPrefix } from '#api/core/v1/pod/parts/annotations.js';
import { events, nodes, pods } from '#api/core/v1/resources.gen.js';
import { runtimeclasses } from '#api/node/v1/resources.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import { SimulatedMachine } from '#nodeagent/simulated/node.js';
import { nodeName, startAgent, testPod } from '#nodeagent/testing/agent-fixture.js';
import { virtualAgent } from '#nodeagent/testing/virtual-agent.js';

const main = { name: 'main', image: 'docker.io/test/app:1.0' };
const asking = (cpu: string) => ({ containers: [{ ...main, resources: { requests: { cpu } } }] });
const message = (used: number) =>
  `Node didn't have enough resource: cpu, requested: 20000, used: ${used}, capacity: 32000`;

t.test('a pod without enough resources fails and never starts', async (t) => {
  const { api, clock, runtime, fixture, status, isTrue, until, reasons, pass } = await virtualAgent(t);
  api.seed(pods, testPod('first', asking('20')));
  await until(() => isTrue('first', 'Ready'));
  api.seed(pods, testPod('second', asking('20')));
  await until(() => status('second')?.phase === 'Failed');
  const refused = { phase: 'Failed', reason: 'OutOfcpu', message: `Pod ${message(20_000)}` };
  t.match(status('second'), refused);
  t.equal(status('second')?.containerStatuses, undefined);
  await until(() => reasons('second').includes('OutOfcpu'));
  const event = api.list(events).find((event) => event.reason === 'OutOfcpu');
  t.match(event, { type: 'Warning', message: message(20_000) });
  t.equal((await runtime.listPodSandbox()).length, 1);
  await fixture.stop();

  const again = startAgent({ clock, api, runtime });
  t.teardown(() => again.stop());
  await pass(30_000);
  t.match(status('second'), refused);
  t.equal(status('second')?.containerStatuses, undefined, 'the next agent makes nothing up');
  t.ok(isTrue('first', 'Ready'));
  await api.client.resource(pods).delete('first', { namespace: 'default', gracePeriodSeconds: 1 });
  await until(() => api.get(pods, 'default/first') === undefined);
  api.seed(pods, testPod('third', asking('20')));
  await until(() => isTrue('third', 'Ready'));
  for (const name of ['second', 'third']) {
    await api.client.resource(pods).delete(name, { namespace: 'default', gracePeriodSeconds: 1 });
    await until(() => api.get(pods, `default/${name}`) === undefined);
  }
});

t.test('pods that already run when the agent starts are not admitted again', async (t) => {
  const { api, clock, runtime, fixture, status, isTrue, main: container, until, pass } = await virtualAgent(t);
  api.change(nodes, nodeName, ({ metadata }) => {
    metadata.labels = { ...metadata.labels, disk: 'ssd' };
  });
  api.seed(pods, testPod('kept', { nodeSelector: { disk: 'ssd' } }));
  await until(() => isTrue('kept', 'Ready'));
  await fixture.stop();
  api.change(nodes, nodeName, ({ metadata }) => {
    metadata.labels = { ...metadata.labels, disk: 'hdd' };
  });
  api.seed(pods, testPod('late', { nodeSelector: { disk: 'ssd' } }));
  const again = startAgent({ clock, api, runtime });
  t.teardown(() => again.stop());
  await until(() => status('late')?.phase === 'Failed');
  t.match(status('late'), { reason: 'NodeAffinity', message: 'Pod Predicate NodeAffinity failed' });
  await pass(5000);
  t.match(container('kept'), { restartCount: 0, ready: true });
});

t.test('a rejection relies on a fresh read from the API', async (t) => {
  const { api, isTrue, status, until, pass } = await virtualAgent(t);
  let isAway = true;
  api.intercept(({ verb, resource }) => {
    if (verb !== 'get' || resource !== 'nodes') return undefined;
    if (isAway) return serviceUnavailable('not now');
    // The watch event has not arrived yet.
    return {
      ...api.get(nodes, nodeName),
      metadata: { ...api.get(nodes, nodeName)?.metadata, labels: { disk: 'ssd' } },
    };
  });
  api.seed(pods, testPod('web', { nodeSelector: { disk: 'ssd' } }));
  await pass(2000);
  t.equal(status('web')?.phase, 'Pending');
  isAway = false;
  await until(() => isTrue('web', 'Ready'));
});

t.test('an AppArmor profile that cannot be enforced blocks the pod', async (t) => {
  const profile = { [`${appArmorPrefix(orchDialect)}main`]: 'localhost/mine' };
  const without = await virtualAgent(t);
  without.api.seed(pods, testPod('confined', {}, profile));
  await without.until(() => without.status('confined')?.reason === 'AppArmor');
  t.match(without.status('confined'), {
    phase: 'Pending',
    message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host',
    containerStatuses: [{ state: { waiting: { reason: 'Blocked' } } }],
  });
  t.same(await without.runtime.listPodSandbox(), []);
  await without.api.client.resource(pods).delete('confined', { namespace: 'default', gracePeriodSeconds: 1 });
  await without.until(() => without.api.get(pods, 'default/confined') === undefined);

  const machine = new SimulatedMachine({ address: '192.0.2.1', appArmor: true });
  const { api, runtime, isTrue, until } = await virtualAgent(t, { dependencies: { machine } });
  const profiles: (string | undefined)[] = [];
  const create = runtime.createContainer.bind(runtime);
  runtime.createContainer = (id, config, sandbox) => {
    profiles.push(config.linux.securityContext.apparmorProfile);
    return create(id, config, sandbox);
  };
  api.seed(pods, testPod('confined', {}, profile));
  await until(() => isTrue('confined', 'Ready'));
  t.same(profiles, ['localhost/mine']);
});

t.test('a runtime class selects the handler; the pod waits until the class exists', async (t) => {
  const { api, runtime, isTrue, until, reasons } = await virtualAgent(t);
  const handlers: (string | undefined)[] = [];
  const run = runtime.runPodSandbox.bind(runtime);
  runtime.runPodSandbox = (...args: Parameters<typeof run> | [...Parameters<typeof run>, string]) => {
    handlers.push(args[1]);
    return run(args[0]);
  };
  api.seed(pods, testPod('web', { runtimeClassName: 'fast' }));
  await until(() => reasons('web').includes('FailedCreatePodSandBox'));
  const event = api.list(events).find((event) => event.reason === 'FailedCreatePodSandBox');
  t.equal(event?.message, 'Failed to create pod sandbox: runtimeclass.node.orch.io "fast" not found');
  t.same(handlers, []);
  api.seed(runtimeclasses, { metadata: { name: 'fast' }, handler: 'quick' });
  await until(() => isTrue('web', 'Ready'));
  t.same(handlers, ['quick']);
});
