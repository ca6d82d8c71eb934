import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import t from 'tap';
import { events, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { PreemptionError, podsToPreempt } from '#nodeagent/admission/preemption.js';
import { nodeName, testPod } from '#nodeagent/testing/agent-fixture.js';
import { virtualAgent } from '#nodeagent/testing/virtual-agent.js';

const image = 'docker.io/test/app:1.0';
const asking = (cpu: number, memory = 0) => ({
  containers: [{ name: 'main', image, resources: { requests: { cpu: String(cpu), memory: `${memory}Mi` } } }],
});
const guaranteed = (cpu: number) => {
  const amounts = { cpu: String(cpu), memory: '1Mi' };
  return { containers: [{ name: 'main', image, resources: { requests: amounts, limits: amounts } }] };
};
const critical = { priority: 2_000_000_000 };

t.test('as few pods as possible are preempted, the lowest QoS class first', async (t) => {
  const others: Pod[] = [
    testPod('nothing', { containers: [{ name: 'main', image }] }),
    testPod('small', asking(1)),
    testPod('middle', asking(4)),
    testPod('large', asking(8)),
    testPod('sure', guaranteed(8)),
    testPod('critical', { ...asking(16), ...critical }),
  ];
  const victims = (cpu: number, more: { resource: string; amount: number }[] = []) =>
    podsToPreempt({
      pod: testPod('new', critical),
      others,
      shortages: [{ resource: 'cpu', amount: cpu * 1000 }, ...more].map(({ resource, amount }) => ({
        ...{ resource, requested: amount, used: 0, capacity: 0 },
      })),
      isCritical: ({ spec }) => spec.priority === critical.priority,
    }).map(({ metadata }) => metadata.name);
  t.same(victims(1), ['small']);
  t.same(victims(3), ['middle']);
  t.same(victims(5), ['large']);
  t.same(victims(12), ['large', 'middle']);
  t.same(victims(21), ['large', 'middle', 'small', 'sure']);
  t.same(victims(1, [{ resource: 'pods', amount: 1 }]), ['small']);
  t.throws(() => victims(22), PreemptionError);
  t.throws(() => victims(22), /no set of running pods found to reclaim resources: \[\(res: cpu, q: 1000\), \]/);
});

t.test('a static pod preempts others', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'preempt-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const args = [`--pod-manifest-path=${dir}`, '--file-check-frequency=1s'];
  const metrics = new Registry();
  const { api, isTrue, status, until, pass, reasons } = await virtualAgent(t, { args, dependencies: { metrics } });
  for (const [name, cpu] of [
    ['small', 4],
    ['large', 20],
  ] as const)
    api.seed(pods, testPod(name, asking(cpu)));
  await until(() => isTrue('small', 'Ready') && isTrue('large', 'Ready'));
  const manifest = (name: string, spec: object) =>
    writeFile(join(dir, name), JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec }));
  await manifest('web', asking(20));
  await until(() => isTrue(`web-${nodeName}`, 'Ready'));
  t.match(status('large'), {
    phase: 'Failed',
    reason: 'Preempting',
    message: 'Preempted in order to admit critical pod',
    containerStatuses: [{ state: { terminated: {} } }],
  });
  t.match(
    api.list(events).filter(({ reason }) => reason === 'Preempting'),
    [{ type: 'Warning', involvedObject: { name: 'large' } }],
  );
  t.match(await metrics.metrics(), /^nodeagent_preemptions\{preemption_signal="cpu"\} 1$/m);
  t.ok(isTrue('small', 'Ready'));

  await manifest('huge', asking(1000));
  await until(() => status(`huge-${nodeName}`)?.phase === 'Failed');
  t.match(status(`huge-${nodeName}`), {
    reason: 'UnexpectedAdmissionError',
    message:
      /^Pod Unexpected error while attempting to recover from admission failure: preemption: error finding a set/,
  });
  await manifest('elsewhere', { ...asking(20), nodeSelector: { no: 'where' } });
  await until(() => status(`elsewhere-${nodeName}`)?.phase === 'Failed');
  t.equal(
    status(`elsewhere-${nodeName}`)?.reason,
    'NodeAffinity',
    'no pod is preempted for one that cannot run anyway',
  );
  await pass(2000);
  t.ok(isTrue('small', 'Ready'));
  t.same(
    reasons('small').filter((reason) => reason === 'Preempting'),
    [],
  );
});
