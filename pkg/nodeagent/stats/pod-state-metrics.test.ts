import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { expositionText } from '#daemon/metrics/exposition.js';
import { podStateFamilies } from '#nodeagent/stats/pod-state-metrics.js';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'shop', uid: 'u1' },
  spec: { containers: [{ name: 'main' }] },
  status: {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'False' }],
    containerStatuses: [
      {
        name: 'main',
        image: 'i',
        imageID: 'i',
        ready: false,
        restartCount: 3,
        state: { waiting: { reason: 'CrashLoopBackOff' } },
        lastState: { terminated: { exitCode: 1, reason: 'Error' } },
      },
    ],
  },
};

t.test('only true states have a series', async (t) => {
  const lines = expositionText(podStateFamilies([pod], kubernetesDialect))
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const podLabels = 'namespace="shop",pod="web",uid="u1"';
  t.same(lines, [
    `kube_pod_status_phase{${podLabels},phase="Running"} 1`,
    `kube_pod_status_ready{${podLabels},condition="false"} 1`,
    `kube_pod_container_status_restarts_total{${podLabels},container="main"} 3`,
    `kube_pod_container_status_waiting_reason{${podLabels},container="main",reason="CrashLoopBackOff"} 1`,
    `kube_pod_container_status_last_terminated_reason{${podLabels},container="main",reason="Error"} 1`,
  ]);
});

t.test('a pod without a status is pending', async (t) => {
  const text = expositionText(podStateFamilies([{ metadata: { name: 'p' }, spec: { containers: [] } }], orchDialect));
  t.match(text, /^orch_pod_status_phase\{namespace="",pod="p",uid="",phase="Pending"\} 1$/m);
  t.match(text, /^orch_pod_status_ready\{.*condition="false"\} 1$/m);
});
