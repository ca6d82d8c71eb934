import t from 'tap';
import type { DaemonSet } from '#api/apps/v1/types.gen.js';
import type { Pod, PodSpec } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { daemonTemplate, targetNode, templateForNode } from '#controllers/daemonset/placement.js';

const set = (spec: Partial<PodSpec>): DaemonSet => ({
  metadata: {},
  spec: { template: { metadata: { labels: { a: 'b' } }, spec: { containers: [], ...spec } } },
});
const tolerations = (spec: Partial<PodSpec>) =>
  daemonTemplate(dialect, set(spec)).spec?.tolerations?.map(
    ({ key, operator, effect }) => `${key} ${operator} ${effect}`,
  );

t.test('daemons tolerate unhealthy nodes', (t) => {
  const added = [
    'node.orch.io/not-ready Exists NoExecute',
    'node.orch.io/unreachable Exists NoExecute',
    'node.orch.io/disk-pressure Exists NoSchedule',
    'node.orch.io/memory-pressure Exists NoSchedule',
    'node.orch.io/pid-pressure Exists NoSchedule',
    'node.orch.io/unschedulable Exists NoSchedule',
  ];
  t.same(tolerations({}), added);
  t.same(tolerations({ hostNetwork: true }), [...added, 'node.orch.io/network-unavailable Exists NoSchedule']);
  const own = { key: 'node.orch.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 };
  const template = daemonTemplate(dialect, set({ tolerations: [{ key: 'x', operator: 'Exists' }, own] }));
  t.equal(template.spec?.tolerations?.length, 7);
  t.equal(template.spec?.tolerations?.[1]?.tolerationSeconds, undefined, 'without time limit');
  t.end();
});

t.test('affinity selects the node by name', (t) => {
  const preferred = [{ weight: 1, preference: { matchExpressions: [{ key: 'k', operator: 'Exists' }] } }];
  const required = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'k', operator: 'Exists' }] }] };
  const affinity = {
    podAntiAffinity: {},
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: preferred,
      requiredDuringSchedulingIgnoredDuringExecution: required,
    },
  };
  const { spec } = templateForNode(daemonTemplate(dialect, set({ affinity })), 'n1');
  const nodeSelectorTerms = [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }];
  t.same(spec?.affinity, {
    podAntiAffinity: {},
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: preferred,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
    },
  });
  const pod: Pod = { metadata: {}, spec: spec ?? { containers: [] } };
  t.equal(targetNode(pod), 'n1');
  t.equal(targetNode({ ...pod, spec: { ...pod.spec, nodeName: 'n2' } }), 'n2');
  t.equal(targetNode({ metadata: {}, spec: { containers: [] } }), undefined);
  t.end();
});
