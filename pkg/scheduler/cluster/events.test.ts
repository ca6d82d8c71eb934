import t from 'tap';
import type { Node } from '#api/core/v1/types.gen.js';
import { type ClusterEvent, nodeEvents } from '#scheduler/cluster/events.js';

const condition = (status: string, lastHeartbeatTime: string) => ({ type: 'Ready', status, lastHeartbeatTime });
const old: Node = {
  metadata: { name: 'n', labels: { a: '1' } },
  spec: { unschedulable: true },
  status: { allocatable: { cpu: '1' }, conditions: [condition('True', '2022-05-03T00:00:00Z')] },
};
const { metadata, spec, status } = old;

const rows: [name: string, node: Node, events: ClusterEvent[]][] = [
  ['nothing', old, []],
  ['a heartbeat', { ...old, status: { ...status, conditions: [condition('True', '2022-05-03T00:05:00Z')] } }, []],
  ['not ready', { ...old, status: { ...status, conditions: [condition('False', '')] } }, ['NodeConditionChange']],
  ['uncordoned', { ...old, spec: {} }, ['NodeSpecUnschedulableChange']],
  ['more room', { ...old, status: { ...status, allocatable: { cpu: '2' } } }, ['NodeAllocatableChange']],
  ['other labels', { ...old, metadata: { ...metadata, labels: {} } }, ['NodeLabelChange']],
  ['a taint', { ...old, spec: { ...spec, taints: [{ key: 'a', effect: 'NoSchedule' }] } }, ['NodeTaintChange']],
  [
    'several at once, in the order of release 1.24',
    { ...old, spec: {}, metadata: { name: 'n' } },
    ['NodeSpecUnschedulableChange', 'NodeLabelChange'],
  ],
];

t.test('finds the events of a node change', (t) => {
  for (const [name, node, events] of rows) t.same(nodeEvents(node, old), events, name);
  t.same(nodeEvents(old, { ...old, spec: {} }), [], 'a cordon helps no pod');
  t.end();
});
