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
  ['a NoSchedule taint', 'a=1:NoSchedule', no('a: 1')],
  ['a NoExecute taint', 'a=1:NoExecute', no('a: 1')],
  ['a PreferNoSchedule taint', 'a=1:PreferNoSchedule', 'ok'],
  ['a taint without a value', 'a:NoSchedule', no('a: ')],
  ['a taint with an empty value', 'a=:NoSchedule', no('a: ')],
  ['a taint with an unknown effect', 'a:Whatever', 'ok'],
  ['a taint with an empty effect', 'a:', 'ok'],
  ['the reason names the first taint', 'a=1:NoSchedule b=2:NoExecute', no('a: 1')],
  ['the reason skips PreferNoSchedule taints', 'a=1:PreferNoSchedule b=2:NoExecute', no('b: 2')],
  ['two PreferNoSchedule taints', 'a:PreferNoSchedule b:PreferNoSchedule', 'ok'],
]);

const noSchedule = 'NoSchedule';
table('one toleration', (there: string, toleration: Toleration) => ask(there, toleration), [
  ['Equal', 'a=1:NoSchedule', { key: 'a', operator: Equal, value: '1', effect: noSchedule }, 'ok'],
  ['no operator means Equal', 'a=1:NoSchedule', { key: 'a', value: '1', effect: noSchedule }, 'ok'],
  ['an empty operator means Equal', 'a=1:NoSchedule', { key: 'a', operator: '', value: '1' }, 'ok'],
  ['Equal, another value', 'a=1:NoSchedule', { key: 'a', operator: Equal, value: '2', effect: noSchedule }, no('a: 1')],
  ['Equal, no value', 'a=1:NoSchedule', { key: 'a', operator: Equal, effect: noSchedule }, no('a: 1')],
  ['Equal, both without a value', 'a:NoSchedule', { key: 'a', operator: Equal }, 'ok'],
  ['Equal, an empty value and a taint without', 'a:NoSchedule', { key: 'a', operator: Equal, value: '' }, 'ok'],
  ['Equal, no value and a taint with an empty value', 'a=:NoSchedule', { key: 'a', operator: Equal }, 'ok'],
  ['Equal, a value and a taint without', 'a:NoSchedule', { key: 'a', operator: Equal, value: '1' }, no('a: ')],
  ['Equal, another key', 'a=1:NoSchedule', { key: 'b', operator: Equal, value: '1' }, no('a: 1')],
  ['values are case-sensitive', 'a=x:NoSchedule', { key: 'a', value: 'X' }, no('a: x')],
  ['Exists', 'a=1:NoSchedule', { key: 'a', operator: Exists }, 'ok'],
  ['Exists, a taint without a value', 'a:NoSchedule', { key: 'a', operator: Exists }, 'ok'],
  ['Exists, another key', 'a=1:NoSchedule', { key: 'b', operator: Exists }, no('a: 1')],
  ['an empty effect tolerates all effects', 'a=1:NoExecute', { key: 'a', operator: Exists, effect: '' }, 'ok'],
  ['NoExecute is not tolerated', 'a=1:NoExecute', { key: 'a', operator: Exists, effect: noSchedule }, no('a: 1')],
  ['NoSchedule is not tolerated', 'a=1:NoSchedule', { key: 'a', operator: Exists, effect: 'NoExecute' }, no('a: 1')],
  ['only a preference', 'a=1:NoSchedule', { key: 'a', operator: Exists, effect: 'PreferNoSchedule' }, no('a: 1')],
  ['Exists, no key', 'a=1:NoExecute', { operator: Exists }, 'ok'],
  ['Exists, an empty key', 'a=1:NoExecute', { key: '', operator: Exists }, 'ok'],
  ['Exists, no key, the effect', 'a=1:NoExecute', { operator: Exists, effect: 'NoExecute' }, 'ok'],
  ['Exists, no key, another effect', 'a=1:NoSchedule', { operator: Exists, effect: 'NoExecute' }, no('a: 1')],
  ['Equal, no key', 'a=1:NoSchedule', { operator: Equal, value: '1' }, 'ok'],
  ['Equal, no key, another value', 'a=1:NoSchedule', { operator: Equal, value: '2' }, no('a: 1')],
  ['an unknown operator', 'a=1:NoSchedule', { key: 'a', operator: 'NotEqual', value: '1' }, no('a: 1')],
  ['a time limit', 'a=1:NoExecute', { key: 'a', operator: Exists, tolerationSeconds: 60 }, 'ok'],
  ['a time limit of zero', 'a=1:NoExecute', { key: 'a', operator: Exists, tolerationSeconds: 0 }, 'ok'],
  ['one of two taints is tolerated', 'a=1:NoSchedule b=2:NoSchedule', { key: 'a', operator: Exists }, no('b: 2')],
  ['two taints with the tolerated key', 'a=1:NoSchedule a=2:NoExecute', { key: 'a', operator: Exists }, 'ok'],
  ['one of two effects of the key', 'a:NoSchedule a:NoExecute', { key: 'a', effect: noSchedule }, no('a: ')],
  ['all keys of two taints are tolerated', 'a=1:NoSchedule b=2:NoExecute', { operator: Exists }, 'ok'],
  ['only NoSchedule must be tolerated', 'a=1:PreferNoSchedule b=2:NoSchedule', { key: 'b', operator: Exists }, 'ok'],
]);

const both = (there: string, a: Toleration, b: Toleration) => ask(there, a, b);
table('two tolerations', both, [
  ['one for each taint', 'a=1:NoSchedule b=2:NoExecute', { key: 'a', value: '1' }, { key: 'b', value: '2' }, 'ok'],
  ['the second matches', 'a=1:NoSchedule', { key: 'b', operator: Exists }, { key: 'a', operator: Exists }, 'ok'],
  ['both match one taint', 'a=1:NoSchedule b=2:NoExecute', { key: 'a', value: '1' }, { key: 'a' }, no('b: 2')],
  ['matching parts of both', 'a=1:NoSchedule', { key: 'a', value: '2' }, { key: 'b', value: '1' }, no('a: 1')],
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
  ['one of two nodes has a taint', '', `a:${prefer}`, [100, 0]],
  ['both nodes have a taint', `a:${prefer}`, `b:${prefer}`, [0, 0]],
  ['one taint and two taints', `a:${prefer}`, `a:${prefer} b:${prefer}`, [50, 0]],
  ['no taint, one taint and three taints', '', `a:${prefer}`, `a:${prefer} b:${prefer} c:${prefer}`, [100, 67, 0]],
  ['taints with other effects do not count', 'a:NoSchedule', `b:${prefer}`, [100, 0]],
  ['taints with other effects do not count beside PreferNoSchedule', `a:NoExecute b:${prefer}`, `b:${prefer}`, [0, 0]],
  ['two taints with the same key count twice', `a=1:${prefer} a=2:${prefer}`, `a=1:${prefer}`, [0, 50]],
]);
const liked = (toleration: Toleration, ...there: string[]) => score(there, toleration);
table('scores with a toleration', liked, [
  ['of one of two taints', { key: 'a', operator: Exists }, `a:${prefer}`, `b:${prefer}`, [100, 0]],
  ['with the effect', { key: 'a', operator: Exists, effect: prefer }, `a:${prefer}`, `b:${prefer}`, [100, 0]],
  ['with an empty effect', { key: 'a', operator: Exists, effect: '' }, `a:${prefer}`, `b:${prefer}`, [100, 0]],
  ['with another effect', { key: 'a', operator: Exists, effect: noSchedule }, `a:${prefer}`, '', [0, 100]],
  ['with another value', { key: 'a', value: '2' }, `a=1:${prefer}`, `a=2:${prefer}`, [0, 100]],
  ['of all taints', { operator: Exists }, `a:${prefer}`, `b:${prefer} c:${prefer}`, [100, 100]],
  ['of one taint each', { key: 'a', operator: Exists }, `a:${prefer} b:${prefer}`, `b:${prefer} c:${prefer}`, [50, 0]],
]);
