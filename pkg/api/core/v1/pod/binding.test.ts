import t from 'tap';
import { boundPod } from '#api/core/v1/pod/binding.js';
import type { Binding, Pod } from '#api/core/v1/types.gen.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft } from '#apimachinery/draft.js';
import { statusOf as statusIn } from '#apimachinery/errors/status.js';

function statusOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return statusIn(error);
  }
}

const now = Date.parse('2024-05-01T12:00:00Z');
const binding: Binding = { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } };

function pod(metadata: Pod['metadata'] = {}, nodeName?: string): Draft<Pod> {
  const spec = { containers: [], ...(nodeName === undefined ? {} : { nodeName }) };
  return { metadata: { name: 'p', uid: 'u', resourceVersion: '7', ...copyJson(metadata) }, spec };
}

t.test('the pod gets its node, the annotations of the binding, and the condition', async (t) => {
  const old: Draft<Pod> = {
    ...pod({ annotations: { a: '1' } }),
    status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  };
  const before = structuredClone(old);
  const bound = boundPod(old, { ...binding, metadata: { name: 'p', annotations: { b: '2' } } }, now);
  t.match(bound, { metadata: { annotations: { a: '1', b: '2' } }, spec: { nodeName: 'n' } });
  t.same(bound.status?.conditions, [
    { type: 'PodScheduled', status: 'True', lastTransitionTime: '2024-05-01T12:00:00Z' },
  ]);
  t.same(old, before, 'the old pod is not modified');
});

t.test('a pod that has a node or is being deleted cannot be bound', async (t) => {
  const rows: [name: string, current: Draft<Draft<Pod>>, metadata: Binding['metadata'], message: RegExp][] = [
    ['it has a node', pod({}, 'other'), {}, /pod p is already assigned to node "other"/],
    [
      'it is being deleted',
      pod({ deletionTimestamp: '2024-05-01T11:00:00Z' }),
      {},
      /pod p is being deleted, cannot be assigned/,
    ],
  ];
  for (const [name, current, metadata, message] of rows) {
    t.match(
      statusOf(() => boundPod(current, { ...binding, metadata }, now)),
      { code: 409, message },
      name,
    );
  }
});
