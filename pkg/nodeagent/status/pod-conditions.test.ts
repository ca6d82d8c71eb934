import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject } from '#client/client.js';
import type { FakeApi } from '#client/testing/fake-api.js';
import { testPod } from '#nodeagent/testing/agent-fixture.js';
import { virtualAgent } from '#nodeagent/testing/virtual-agent.js';

const image = 'docker.io/test/app:1.0';

t.test("a readiness gate's condition is set by another client and affects readiness", async (t) => {
  const { api, status, isTrue, until, pass } = await virtualAgent(t);
  const gate = 'example.com/gate';
  api.seed(pods, testPod('web', { readinessGates: [{ conditionType: gate }] }));
  await until(() => isTrue('web', 'ContainersReady'));
  const ready = () => status('web')?.conditions?.find((c) => c.type === 'Ready');
  t.match(ready(), {
    status: 'False',
    reason: 'ReadinessGatesNotReady',
    message: `corresponding condition of pod readiness gate "${gate}" does not exist.`,
  });
  const set = (value: string) =>
    api.change(pods, 'default/web', (pod) => {
      const others = pod.status?.conditions?.filter((c) => c.type !== gate) ?? [];
      pod.status = { ...pod.status, conditions: [...others, { type: gate, status: value, reason: 'Said' }] };
    });
  set('False');
  await until(() => ready()?.message === `the status of pod readiness gate "${gate}" is not "True", but False`);
  set('True');
  await until(() => isTrue('web', 'Ready'));
  await pass(1000);
  t.match(
    status('web')?.conditions?.find((c) => c.type === gate),
    { status: 'True', reason: 'Said' },
    'and stays as it was said',
  );
  set('False');
  await until(() => !isTrue('web', 'Ready'));
});

t.test('statuses are sent by a separate client', async (t) => {
  const resources: string[] = [];
  const dependencies = ({ client }: FakeApi) => ({
    statusClient: {
      dialect: client.dialect,
      resource<T extends ApiObject>(type: ResourceType<T>) {
        resources.push(type.resource);
        return client.resource(type);
      },
      request: () => Promise.reject(new Error('unexpected')),
      close: () => Promise.resolve(),
    },
  });
  const { api, isTrue, until } = await virtualAgent(t, { dependencies });
  api.seed(pods, testPod('web'));
  await until(() => isTrue('web', 'Ready'));
  t.same(resources, ['pods']);
});

t.test('a crashing container of a terminating pod keeps its last state', async (t) => {
  const { api, main, until, pass } = await virtualAgent(t);
  api.seed(pods, testPod('crash', { containers: [{ name: 'main', image, command: ['sh', '-c', 'exit 3'] }] }));
  await until(() => main('crash')?.state?.waiting?.reason === 'CrashLoopBackOff');
  // A finalizer keeps the pod.
  api.change(pods, 'default/crash', (pod) => {
    pod.metadata.finalizers = ['example.com/look'];
  });
  await api.client.resource(pods).delete('crash', { namespace: 'default', gracePeriodSeconds: 1 });
  await pass(5000);
  t.match(main('crash')?.state, { terminated: { exitCode: 3, reason: 'Error' } });
});
