import t from 'tap';
import type { Pod, PodSpec, PodStatus } from '#api/core/v1/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { expositionText } from '#daemon/metrics/exposition.js';
import { podResourceFamilies } from '#scheduler/metrics/pod-resources.js';

const pod = (name: string, spec: Partial<PodSpec>, status: PodStatus = {}): Pod => ({
  metadata: { name, namespace: 'shop' },
  spec: { containers: [], schedulerName: 'default-scheduler', ...spec },
  status,
});
const asking = (requests: Record<string, string>, limits: Record<string, string> = {}) => ({
  name: 'main',
  resources: { requests, limits },
});

const seriesOf = (pods: readonly Pod[]) =>
  expositionText(podResourceFamilies(pods, kubernetesDialect))
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

t.test('requests and limits have the names, labels and units of 1.24', async (t) => {
  const requests = {
    ...{ cpu: '100m', memory: '1Ki', 'ephemeral-storage': '1M', 'hugepages-2Mi': '2Mi' },
    ...{ 'attachable-volumes-csi-x': '3', 'example.com/gpu': '2', storage: '5' },
  };
  const text = expositionText(
    podResourceFamilies(
      [pod('web', { nodeName: 'n1', priority: 7, containers: [asking(requests, { cpu: '1500m' })] })],
      kubernetesDialect,
    ),
  );
  const labels = (resource: string, unit: string) =>
    `{namespace="shop",pod="web",node="n1",scheduler="default-scheduler",priority="7",resource="${resource}",unit="${unit}"}`;
  t.match(
    text,
    '# HELP kube_pod_resource_request [ALPHA] Resources requested by workloads on the cluster, broken down by pod. This shows the resource usage the scheduler and kubelet expect per pod for resources along with the unit for the resource if any.\n# TYPE kube_pod_resource_request gauge\n',
    'the text of requests',
  );
  t.match(text, '# HELP kube_pod_resource_limit [ALPHA] Resources limit for workloads on the cluster, ', 'of limits');
  for (const [resource, unit, amount] of [
    ['cpu', 'cores', '0.1'],
    ['memory', 'bytes', '1024'],
    ['ephemeral-storage', 'bytes', '1000000'],
    ['storage', 'bytes', '5'],
    ['hugepages-2Mi', 'bytes', '2097152'],
    ['attachable-volumes-csi-x', 'integer', '3'],
    ['example.com/gpu', '', '2'],
  ] as const)
    t.match(text, `kube_pod_resource_request${labels(resource, unit)} ${amount}\n`, resource);
  t.match(text, `kube_pod_resource_limit${labels('cpu', 'cores')} 1.5\n`, 'a limit');
});

t.test('the sum of containers, the largest init container and the overhead count', async (t) => {
  const spec = {
    initContainers: [asking({ cpu: '3' })],
    containers: [asking({ cpu: '1' }), asking({ cpu: '1' })],
    overhead: { cpu: '250m', memory: '1' },
  };
  const series = seriesOf([pod('web', spec)]);
  t.match(series[0], /resource="cpu".* 3.25$/, 'requests');
  t.match(series[1], /resource="memory".* 1$/, 'overhead alone');
  t.equal(series.length, 2, 'overhead limits nothing');
});

t.test('pods that have ended on a node, zeros and invalid quantities have no series', async (t) => {
  const containers = [asking({ cpu: '1', memory: '0' })];
  for (const phase of ['Succeeded', 'Failed']) {
    t.equal(seriesOf([pod('a', { containers, nodeName: 'n1' }, { phase })]).length, 0, `${phase} on a node`);
    t.equal(seriesOf([pod('a', { containers }, { phase })]).length, 1, `${phase} without a node`);
  }
  t.match(seriesOf([pod('a', { containers })])[0], /node="",scheduler="default-scheduler",priority=""/, 'waiting');
  t.same(seriesOf([pod('a', { containers: [asking({ cpu: 'x' })] })]), [], 'an invalid quantity');
  t.match(podResourceFamilies([], orchDialect)[0], { name: 'orch_pod_resource_limit' }, 'the other dialect');
});
