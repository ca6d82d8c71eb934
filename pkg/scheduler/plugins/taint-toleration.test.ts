import type { Taint, Toleration } from '#api/core/v1/types.gen.js';
import { taintToleration } from '#scheduler/plugins/taint-toleration.js';
import { answer, node, scores, table } from '#scheduler/testing/plugin-table.js';

/** `key=value:Effect`. */
function taint(text: string): Taint {
  const [, key = '', value, effect = ''] = /^([^=:]*)(?:=([^:]*))?:(.*)$/.exec(text) ?? [];
  return { key, effect, ...(value === undefined ? {} : { value }) };
}

const taints = (text: string) => text.split(' ').filter(Boolean).map(taint);
const ask = (there: string, ...tolerations: Toleration[]) =>
  answer(taintToleration, { spec: { tolerations } }, { nodes: [node('n', {}, { spec: { taints: taints(there) } })] });
const no = (shown: string) => `!node(s) had untolerated taint {${shown}}`;
const Exists = 'Exists';
const Equal = 'Equal';

table('no tolerations', (there: string) => ask(there), [
  ['no taint', '', 'ok'],
  ['not to be scheduled', 'a=1:NoSchedule', no('a: 1')],
  ['not to run', 'a=1:NoExecute', no('a: 1')],
  ['better not to be scheduled', 'a=1:PreferNoSchedule', 'ok'],
  ['without a value', 'a:NoSchedule', no('a: ')],
  ['with an empty value', 'a=:NoSchedule', no('a: ')],
  ['an unknown effect', 'a:Whatever', 'ok'],
  ['an empty effect', 'a:', 'ok'],
  ['the first of two is told', 'a=1:NoSchedule b=2:NoExecute', no('a: 1')],
  ['the first that matters is told', 'a=1:PreferNoSchedule b=2:NoExecute', no('b: 2')],
  ['two preferences', 'a:PreferNoSchedule b:PreferNoSchedule', 'ok'],
]);

const noSchedule = 'NoSchedule';
table('one toleration', (there: string, toleration: Toleration) => ask(there, toleration), [
  ['equal', 'a=1:NoSchedule', { key: 'a', operator: Equal, value: '1', effect: noSchedule }, 'ok'],
  ['equal by default', 'a=1:NoSchedule', { key: 'a', value: '1', effect: noSchedule }, 'ok'],
  ['equal by an empty operator', 'a=1:NoSchedule', { key: 'a', operator: '', value: '1' }, 'ok'],
  ['another value', 'a=1:NoSchedule', { key: 'a', operator: Equal, value: '2', effect: noSchedule }, no('a: 1')],
  ['no value', 'a=1:NoSchedule', { key: 'a', operator: Equal, effect: noSchedule }, no('a: 1')],
  ['no value, the taint has none', 'a:NoSchedule', { key: 'a', operator: Equal }, 'ok'],
  ['an empty value, the taint has none', 'a:NoSchedule', { key: 'a', operator: Equal, value: '' }, 'ok'],
  ['no value, the taint has an empty one', 'a=:NoSchedule', { key: 'a', operator: Equal }, 'ok'],
  ['a value, the taint has none', 'a:NoSchedule', { key: 'a', operator: Equal, value: '1' }, no('a: ')],
  ['another key', 'a=1:NoSchedule', { key: 'b', operator: Equal, value: '1' }, no('a: 1')],
  ['large letters are others', 'a=x:NoSchedule', { key: 'a', value: 'X' }, no('a: x')],
  ['any value', 'a=1:NoSchedule', { key: 'a', operator: Exists }, 'ok'],
  ['any value, none there', 'a:NoSchedule', { key: 'a', operator: Exists }, 'ok'],
  ['any value of another key', 'a=1:NoSchedule', { key: 'b', operator: Exists }, no('a: 1')],
  ['any effect', 'a=1:NoExecute', { key: 'a', operator: Exists, effect: '' }, 'ok'],
  ['another effect', 'a=1:NoExecute', { key: 'a', operator: Exists, effect: noSchedule }, no('a: 1')],
  ['the other effect', 'a=1:NoSchedule', { key: 'a', operator: Exists, effect: 'NoExecute' }, no('a: 1')],
  ['a preference only', 'a=1:NoSchedule', { key: 'a', operator: Exists, effect: 'PreferNoSchedule' }, no('a: 1')],
  ['all', 'a=1:NoExecute', { operator: Exists }, 'ok'],
  ['all with an empty key', 'a=1:NoExecute', { key: '', operator: Exists }, 'ok'],
  ['all of the effect', 'a=1:NoExecute', { operator: Exists, effect: 'NoExecute' }, 'ok'],
  ['all of another effect', 'a=1:NoSchedule', { operator: Exists, effect: 'NoExecute' }, no('a: 1')],
  ['no key, the value', 'a=1:NoSchedule', { operator: Equal, value: '1' }, 'ok'],
  ['no key, another value', 'a=1:NoSchedule', { operator: Equal, value: '2' }, no('a: 1')],
  ['an unknown operator', 'a=1:NoSchedule', { key: 'a', operator: 'NotEqual', value: '1' }, no('a: 1')],
  ['for a while', 'a=1:NoExecute', { key: 'a', operator: Exists, tolerationSeconds: 60 }, 'ok'],
  ['for no time', 'a=1:NoExecute', { key: 'a', operator: Exists, tolerationSeconds: 0 }, 'ok'],
  ['one of two taints', 'a=1:NoSchedule b=2:NoSchedule', { key: 'a', operator: Exists }, no('b: 2')],
  ['two taints of a key', 'a=1:NoSchedule a=2:NoExecute', { key: 'a', operator: Exists }, 'ok'],
  ['one of two effects of a key', 'a:NoSchedule a:NoExecute', { key: 'a', effect: noSchedule }, no('a: ')],
  ['all of two taints', 'a=1:NoSchedule b=2:NoExecute', { operator: Exists }, 'ok'],
  ['the one that matters', 'a=1:PreferNoSchedule b=2:NoSchedule', { key: 'b', operator: Exists }, 'ok'],
]);

const both = (there: string, a: Toleration, b: Toleration) => ask(there, a, b);
table('two tolerations', both, [
  ['one for each taint', 'a=1:NoSchedule b=2:NoExecute', { key: 'a', value: '1' }, { key: 'b', value: '2' }, 'ok'],
  ['the second is enough', 'a=1:NoSchedule', { key: 'b', operator: Exists }, { key: 'a', operator: Exists }, 'ok'],
  ['both for one', 'a=1:NoSchedule b=2:NoExecute', { key: 'a', value: '1' }, { key: 'a' }, no('b: 2')],
  ['key of one, value of the other', 'a=1:NoSchedule', { key: 'a', value: '2' }, { key: 'b', value: '1' }, no('a: 1')],
]);

const prefer = 'PreferNoSchedule';
/** Scores of nodes with these taints. */
const score = (there: readonly string[], ...tolerations: Toleration[]) =>
  scores(
    taintToleration,
    { spec: { tolerations } },
    { nodes: there.map((text, i) => node(`n${i}`, {}, { spec: { taints: taints(text) } })) },
  );
table('scores without tolerations', (...there: string[]) => score(there), [
  ['no taints', '', '', [100, 100]],
  ['one has one', '', `a:${prefer}`, [100, 0]],
  ['both have one', `a:${prefer}`, `b:${prefer}`, [0, 0]],
  ['one and two', `a:${prefer}`, `a:${prefer} b:${prefer}`, [50, 0]],
  ['none, one and three', '', `a:${prefer}`, `a:${prefer} b:${prefer} c:${prefer}`, [100, 67, 0]],
  ['others do not count', 'a:NoSchedule', `b:${prefer}`, [100, 0]],
  ['others besides do not count', `a:NoExecute b:${prefer}`, `b:${prefer}`, [0, 0]],
  ['the same key twice counts twice', `a=1:${prefer} a=2:${prefer}`, `a=1:${prefer}`, [0, 50]],
]);
const liked = (toleration: Toleration, ...there: string[]) => score(there, toleration);
table('scores with a toleration', liked, [
  ['of one of them', { key: 'a', operator: Exists }, `a:${prefer}`, `b:${prefer}`, [100, 0]],
  ['of the effect', { key: 'a', operator: Exists, effect: prefer }, `a:${prefer}`, `b:${prefer}`, [100, 0]],
  ['of an empty effect', { key: 'a', operator: Exists, effect: '' }, `a:${prefer}`, `b:${prefer}`, [100, 0]],
  ['of another effect', { key: 'a', operator: Exists, effect: noSchedule }, `a:${prefer}`, '', [0, 100]],
  ['of another value', { key: 'a', value: '2' }, `a=1:${prefer}`, `a=2:${prefer}`, [0, 100]],
  ['of all', { operator: Exists }, `a:${prefer}`, `b:${prefer} c:${prefer}`, [100, 100]],
  ['of one of two', { key: 'a', operator: Exists }, `a:${prefer} b:${prefer}`, `b:${prefer} c:${prefer}`, [50, 0]],
]);
