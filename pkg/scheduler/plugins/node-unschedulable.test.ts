import type { Node, Toleration } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { nodeUnschedulable } from '#scheduler/plugins/node-unschedulable.js';
import { answer, node, table } from '#scheduler/testing/plugin-table.js';

const plugin = nodeUnschedulable(dialect);
const key = dialect.taints.unschedulable;
const no = '!node(s) were unschedulable';
const cordoned: Node['spec'] = { unschedulable: true };
const ask = (spec: Node['spec'], tolerations: Toleration[] | undefined) =>
  answer(plugin, { spec: tolerations === undefined ? {} : { tolerations } }, { nodes: [node('n', {}, { spec })] });

table('cordoned nodes', ask, [
  ['not cordoned', { unschedulable: false }, [], 'ok'],
  ['nothing said', {}, [], 'ok'],
  ['cordoned', cordoned, [], no],
  ['cordoned, nothing said of tolerations', cordoned, undefined, no],
  ['not cordoned, tolerated', {}, [{ key, operator: 'Exists' }], 'ok'],
  ['only the taint: that is for others to refuse', { taints: [{ key, effect: 'NoSchedule' }] }, [], 'ok'],
  ['cordoned and tainted', { ...cordoned, taints: [{ key, effect: 'NoSchedule' }] }, [], no],
  ['the key, any value and effect', cordoned, [{ key, operator: 'Exists' }], 'ok'],
  ['the key and the effect', cordoned, [{ key, operator: 'Exists', effect: 'NoSchedule' }], 'ok'],
  ['another effect', cordoned, [{ key, operator: 'Exists', effect: 'NoExecute' }], no],
  ['a preference only', cordoned, [{ key, operator: 'Exists', effect: 'PreferNoSchedule' }], no],
  ['an empty effect is any', cordoned, [{ key, operator: 'Exists', effect: '' }], 'ok'],
  ['all keys', cordoned, [{ operator: 'Exists' }], 'ok'],
  ['all keys of the effect', cordoned, [{ operator: 'Exists', effect: 'NoSchedule' }], 'ok'],
  ['all keys of another effect', cordoned, [{ operator: 'Exists', effect: 'NoExecute' }], no],
  ['another key', cordoned, [{ key: `${key}d`, operator: 'Exists' }], no],
  ['equal to no value', cordoned, [{ key, operator: 'Equal' }], 'ok'],
  ['equal to an empty value', cordoned, [{ key, operator: 'Equal', value: '' }], 'ok'],
  ['equal to a value', cordoned, [{ key, operator: 'Equal', value: 'true' }], no],
  ['no operator is equal', cordoned, [{ key }], 'ok'],
  ['no operator, a value', cordoned, [{ key, value: 'true' }], no],
  ['an unknown operator', cordoned, [{ key, operator: 'In' }], no],
  ['for a while only', cordoned, [{ key, operator: 'Exists', tolerationSeconds: 5 }], 'ok'],
  [
    'the second of two',
    cordoned,
    [
      { key: 'x', operator: 'Exists' },
      { key, operator: 'Exists' },
    ],
    'ok',
  ],
  [
    'neither of two',
    cordoned,
    [
      { key: 'x', operator: 'Exists' },
      { key, value: 'y' },
    ],
    no,
  ],
  ['other taints are for others', { taints: [{ key: 'x', effect: 'NoSchedule' }] }, [], 'ok'],
]);
