/** Eviction while memory really runs out. */
import { pod, shell, sleeper } from '#test/e2e/pods.js';
import { conditionOf, type Lab, type Scenario } from '#test/vm/lab.js';

export const eviction: Scenario = {
  name: 'eviction',
  what: 'eviction under real memory pressure: the pod beyond its request goes, others stay, the condition comes and goes',
  async run(lab) {
    const { cluster } = lab;
    await cluster.install(
      "'--nodeagent-arg=eviction-hard=memory.available<500Mi'",
      '--nodeagent-arg=eviction-pressure-transition-period=10s',
    );
    await pressure(lab);
  },
};

async function pressure({ checks, cluster }: Lab): Promise<void> {
  const resources = { requests: { memory: '64Mi' } };
  await cluster.create(pod('modest', [shell(sleeper, { resources })]));
  await cluster.podReady('modest');
  // Fills a volume in memory, which counts as the pod's, in steps that the agent can follow.
  const fill =
    'i=0; while true; do dd if=/dev/zero of=/memory/$i bs=1M count=16 2>/dev/null; i=$((i+1)); sleep 1; done';
  await cluster.create(
    pod('greedy', [shell(fill, { resources, volumeMounts: [{ name: 'memory', mountPath: '/memory' }] })], {
      volumes: [{ name: 'memory', emptyDir: { medium: 'Memory' } }],
    }),
  );
  const evicted = await cluster.untilPod('greedy', 'is evicted', ({ status }) => status?.phase === 'Failed', 240_000);
  checks.equal(evicted.status?.reason, 'Evicted', 'the greedy pod is evicted');
  checks.match(
    evicted.status?.message ?? '',
    /^The node was low on resource: memory\. Container main was using \d+\w*, which exceeds its request of 64Mi\. $/,
    'its message is that of 1.24',
  );
  await cluster.untilNode('is under pressure', ({ status, spec }) => {
    const taint = spec?.taints?.some(({ key }) => key.endsWith('/memory-pressure')) === true;
    return conditionOf(status, 'MemoryPressure') === 'True' && taint;
  });
  checks.ok(true, 'the node has the condition and the taint');
  checks.equal((await cluster.get('modest')).status?.phase, 'Running', 'the modest pod stays');
  await cluster.untilNode(
    'has memory again',
    ({ status }) => conditionOf(status, 'MemoryPressure') === 'False',
    180_000,
  );
  checks.ok(true, 'the condition goes after the transition period');
  const events = await cluster.ctl(
    'get',
    'events',
    '-o',
    'jsonpath={range .items[*]}{.reason} {.involvedObject.name}{"\\n"}{end}',
  );
  checks.match(events, /^Evicted greedy$/m, 'an event names the evicted pod');
  checks.match(events, /^EvictionThresholdMet vm$/m, 'an event says that the threshold was met');
}
