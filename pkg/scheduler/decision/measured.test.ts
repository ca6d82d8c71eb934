/** Which extension points of a decision are measured, in total and per plugin. */
import { Registry } from 'prom-client';
import t from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { metricsText } from '#daemon/metrics/registry.js';
import { podInfo } from '#scheduler/cluster/pod-info.js';
import { Algorithm } from '#scheduler/decision/algorithm.js';
import { measureExtensions, measureSteps } from '#scheduler/decision/measure-step.js';
import { schedulerMetrics } from '#scheduler/metrics/metrics.js';
import { defaultProfile } from '#scheduler/plugins/profiles.js';
import { Preemption } from '#scheduler/preemption/preemption.js';
import { Nominator } from '#scheduler/queue/nominator.js';
import { clusterOf, node, pod } from '#scheduler/testing/plugin-table.js';
import { boundClaim, claimVolumes, storageOf, volume } from '#scheduler/testing/storage.js';

const profile = defaultProfile(dialect);

t.test('every point of a decision is measured, single plugins once in ten decisions', async (t) => {
  const registry = new Registry();
  const taints = [{ key: 'own', effect: 'PreferNoSchedule' as const }];
  const cluster = clusterOf({
    nodes: ['a', 'b', 'c'].map((name) =>
      node(name, {}, { allocatable: { cpu: '4', memory: '8Gi', pods: '10' }, spec: { taints } }),
    ),
    storage: storageOf({ claims: [boundClaim('claim')], volumes: [volume('claim')] }),
  });
  const algorithm = new Algorithm({
    cluster,
    nominator: new Nominator(),
    random: () => 0,
    clock,
    times: schedulerMetrics(registry),
  });
  const info = podInfo(pod({ spec: { volumes: claimVolumes('claim') } }));
  for (let i = 0; i < 11; i++) algorithm.schedule(info, profile);
  const text = await metricsText(registry);
  const count = (name: string, labels: string) =>
    Number(new RegExp(`^${name}_count\\{${labels}[^}]*\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
  for (const point of ['PreFilter', 'Filter', 'PreScore', 'Score']) {
    const labels = `extension_point="${point}",status="Success"`;
    t.equal(count('scheduler_framework_extension_point_duration_seconds', labels), 11, point);
  }
  const plugins: [plugin: string, point: string, times: number][] = [
    // Prepared for the first pod of its kind, and begun in both measured decisions.
    ['VolumeBinding', 'PreFilter', 3],
    ['VolumeBinding', 'Filter', 6],
    ['TaintToleration', 'PreScore', 1],
    ['TaintToleration', 'Score', 6],
    ['TaintToleration', 'ScoreExtensionNormalize', 2],
    ['NodeResourcesFit', 'ScoreExtensionNormalize', 0],
  ];
  for (const [plugin, point, times] of plugins) {
    const labels = `plugin="${plugin}",extension_point="${point}"`;
    t.equal(count('scheduler_plugin_execution_duration_seconds', labels), times, `${plugin} ${point}`);
  }
});

t.test('adding and removing pods on trial is measured for the plugins that count pods', async (t) => {
  const registry = new Registry();
  const metrics = schedulerMetrics(registry);
  const there = { priority: 0, containers: [] };
  const cluster = clusterOf({
    nodes: [node('n', {}, { allocatable: { cpu: '4', memory: '8Gi', pods: '1' } })],
    pods: [{ spec: there }],
  });
  const nominator = new Nominator();
  nominator.add(podInfo(pod({ name: 'coming', spec: { priority: 10 } })), 'n');
  const algorithm = new Algorithm({ cluster, nominator, random: () => 0, clock, times: metrics });
  const info = podInfo(pod({ spec: { priority: 5 } }));
  t.throws(() => algorithm.schedule(info, profile));
  const series = async (point: string) =>
    [
      ...(await metricsText(registry)).matchAll(
        /execution_duration_seconds_count\{plugin="(\w+)",extension_point="(\w+)"/g,
      ),
    ]
      .filter(([, , at]) => at === point)
      .map(([, plugin]) => plugin)
      .sort();
  t.same(await series('PreFilterExtensionAddPod'), ['InterPodAffinity', 'PodTopologySpread']);
  t.same(await series('PreFilterExtensionRemovePod'), []);
  const preemption = new Preemption({ cluster, nominator, random: () => 0 });
  const step = measureSteps(metrics.pluginRecorder() ?? metrics.callRecorder(), clock);
  const { filters } = algorithm.plan(info, profile);
  preemption.attempt(
    info,
    filters,
    { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 },
    undefined,
    measureExtensions(step, profile.filters),
  );
  t.same(await series('PreFilterExtensionRemovePod'), ['InterPodAffinity', 'PodTopologySpread']);
});
