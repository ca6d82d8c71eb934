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
  ['no value', {}, [], 'ok'],
  ['cordoned', cordoned, [], no],
  ['cordoned, and tolerations are absent', cordoned, undefined, no],
  ['not cordoned, tolerated', {}, [{ key, operator: 'Exists' }], 'ok'],
  ['the taint alone, which TaintToleration checks', { taints: [{ key, effect: 'NoSchedule' }] }, [], 'ok'],
  ['cordoned and tainted', { ...cordoned, taints: [{ key, effect: 'NoSchedule' }] }, [], no],
  ['a toleration of the key', cordoned, [{ key, operator: 'Exists' }], 'ok'],
  ['a toleration of the key and the effect', cordoned, [{ key, operator: 'Exists', effect: 'NoSchedule' }], 'ok'],
  ['a toleration of another effect', cordoned, [{ key, operator: 'Exists', effect: 'NoExecute' }], no],
  ['a toleration of PreferNoSchedule only', cordoned, [{ key, operator: 'Exists', effect: 'PreferNoSchedule' }], no],
  ['a toleration of an empty effect', cordoned, [{ key, operator: 'Exists', effect: '' }], 'ok'],
  ['a toleration of all keys', cordoned, [{ operator: 'Exists' }], 'ok'],
  ['a toleration of all keys with the effect', cordoned, [{ operator: 'Exists', effect: 'NoSchedule' }], 'ok'],
  ['a toleration of all keys with another effect', cordoned, [{ operator: 'Exists', effect: 'NoExecute' }], no],
  ['a toleration of another key', cordoned, [{ key: `${key}d`, operator: 'Exists' }], no],
  ['a toleration without a value', cordoned, [{ key, operator: 'Equal' }], 'ok'],
  ['a toleration of an empty value', cordoned, [{ key, operator: 'Equal', value: '' }], 'ok'],
  ['a toleration of a value', cordoned, [{ key, operator: 'Equal', value: 'true' }], no],
  ['a toleration without an operator', cordoned, [{ key }], 'ok'],
  ['a toleration of a value without an operator', cordoned, [{ key, value: 'true' }], no],
  ['a toleration with an unknown operator', cordoned, [{ key, operator: 'In' }], no],
  ['a toleration with a time limit', cordoned, [{ key, operator: 'Exists', tolerationSeconds: 5 }], 'ok'],
  [
    'the second of two tolerations',
    cordoned,
    [
      { key: 'x', operator: 'Exists' },
      { key, operator: 'Exists' },
    ],
    'ok',
  ],
  [
    'none of two tolerations',
    cordoned,
    [
      { key: 'x', operator: 'Exists' },
      { key, value: 'y' },
    ],
    no,
  ],
  ['other taints, which TaintToleration checks', { taints: [{ key: 'x', effect: 'NoSchedule' }] }, [], 'ok'],
]);
