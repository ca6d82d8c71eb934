import type { NodeSelectorRequirement, NodeSelectorTerm, PodSpec } from '#api/core/v1/types.gen.js';
import { nodeAffinity } from '#scheduler/plugins/node-affinity.js';
import { answer, node, scores, table } from '#scheduler/testing/plugin-table.js';

const no = "!node(s) didn't match Pod's node affinity/selector";
const enforced = "!node(s) didn't match scheduler-enforced node affinity";
const plugin = nodeAffinity();
type Labels = Record<string, string>;

/** `key op value value`. */
function requirement(text: string): NodeSelectorRequirement {
  const [key = '', operator = '', ...values] = text.split(' ');
  return { key, operator, ...(values.length === 0 ? {} : { values }) };
}

/** Requirements are separated by `,`; those on fields begin with `@`. */
function term(text: string): NodeSelectorTerm {
  const parts = text.split(/, */).filter(Boolean);
  const labels = parts.filter((part) => !part.startsWith('@'));
  const fields = parts.filter((part) => part.startsWith('@')).map((part) => part.slice(1));
  return {
    ...(labels.length === 0 ? {} : { matchExpressions: labels.map(requirement) }),
    ...(fields.length === 0 ? {} : { matchFields: fields.map(requirement) }),
  };
}

const required = (...terms: string[]): Partial<PodSpec> => ({
  affinity: {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms.map(term) } },
  },
});
const ask = (labels: Labels, spec: Partial<PodSpec>) => answer(plugin, { spec }, { nodes: [node('n', labels)] });

table('node selectors', (labels: Labels, nodeSelector: Labels) => ask(labels, { nodeSelector }), [
  ['empty', {}, {}, 'ok'],
  ['empty, labels', { a: '1' }, {}, 'ok'],
  ['the label', { a: '1' }, { a: '1' }, 'ok'],
  ['the label among others', { a: '1', b: '2' }, { a: '1' }, 'ok'],
  ['another value', { a: '1' }, { a: '2' }, no],
  ['another key', { a: '1' }, { b: '1' }, no],
  ['no labels', {}, { a: '1' }, no],
  ['two', { a: '1', b: '2' }, { a: '1', b: '2' }, 'ok'],
  ['one of two', { a: '1' }, { a: '1', b: '2' }, no],
  ['an empty value', { a: '' }, { a: '' }, 'ok'],
  ['an empty value, no label', {}, { a: '' }, no],
  ['large letters are others', { a: 'x' }, { a: 'X' }, no],
  ['a name that every object has', {}, { constructor: 'x' }, no],
]);

table('one required term', (labels: Labels, text: string) => ask(labels, required(text)), [
  ['one of the values', { a: '1' }, 'a In 1 2', 'ok'],
  ['none of the values', { a: '3' }, 'a In 1 2', no],
  ['in values, no label', {}, 'a In 1 2', no],
  ['in no values', { a: '1' }, 'a In', no],
  ['not in the values', { a: '3' }, 'a NotIn 1 2', 'ok'],
  ['not in, but it is', { a: '1' }, 'a NotIn 1 2', no],
  ['not in, no label', {}, 'a NotIn 1 2', 'ok'],
  ['exists', { a: '1' }, 'a Exists', 'ok'],
  ['exists, empty', { a: '' }, 'a Exists', 'ok'],
  ['exists, no label', { b: '1' }, 'a Exists', no],
  ['exists with values makes no sense', { a: '1' }, 'a Exists 1', no],
  ['does not exist', {}, 'a DoesNotExist', 'ok'],
  ['does not exist, but it does', { a: '' }, 'a DoesNotExist', no],
  ['greater', { a: '6' }, 'a Gt 5', 'ok'],
  ['greater, equal', { a: '5' }, 'a Gt 5', no],
  ['greater, less', { a: '4' }, 'a Gt 5', no],
  ['greater, as numbers and not as texts', { a: '10' }, 'a Gt 9', 'ok'],
  ['greater, below zero', { a: '-1' }, 'a Gt -2', 'ok'],
  ['greater, no number', { a: 'x' }, 'a Gt 5', no],
  ['greater than no number', { a: '6' }, 'a Gt x', no],
  ['greater, a fraction', { a: '5.5' }, 'a Gt 5', no],
  ['greater than a fraction', { a: '6' }, 'a Gt 5.5', no],
  ['greater, an exponent', { a: '1e3' }, 'a Gt 5', no],
  ['greater, empty', { a: '' }, 'a Gt -1', no],
  ['greater, no label', {}, 'a Gt 5', no],
  ['greater than two values', { a: '9' }, 'a Gt 5 6', no],
  ['greater than no value', { a: '9' }, 'a Gt', no],
  ['greater, leading zeros', { a: '007' }, 'a Gt 6', 'ok'],
  ['less', { a: '4' }, 'a Lt 5', 'ok'],
  ['less, equal', { a: '5' }, 'a Lt 5', no],
  ['less, greater', { a: '6' }, 'a Lt 5', no],
  ['less, as numbers and not as texts', { a: '9' }, 'a Lt 10', 'ok'],
  ['less, no number', { a: 'x' }, 'a Lt 5', no],
  ['large numbers', { a: '9007199254740993' }, 'a Gt 9007199254740992', 'ok'],
  ['an unknown operator', { a: '1' }, 'a Like 1', no],
  ['both of two', { a: '1', b: '2' }, 'a In 1, b In 2', 'ok'],
  ['one of two', { a: '1', b: '3' }, 'a In 1, b In 2', no],
  ['two that no label meets', { a: '1' }, 'a In 1, a In 2', no],
  ['between two numbers', { a: '7' }, 'a Gt 5, a Lt 9', 'ok'],
  ['outside of two numbers', { a: '9' }, 'a Gt 5, a Lt 9', no],
  ['an empty term matches nothing', { a: '1' }, '', no],
  ['the name', {}, '@metadata.name In n', 'ok'],
  ['another name', {}, '@metadata.name In m', no],
  ['not another name', {}, '@metadata.name NotIn m', 'ok'],
  ['not the name', {}, '@metadata.name NotIn n', no],
  ['a field that there is not', {}, '@metadata.uid In n', no],
  ['the name and a label', { a: '1' }, '@metadata.name In n, a In 1', 'ok'],
  ['the name and another label', { a: '2' }, '@metadata.name In n, a In 1', no],
  ['another name and the label', { a: '1' }, '@metadata.name In m, a In 1', no],
  ['two names that exclude each other', {}, '@metadata.name In n, @metadata.name In m', '!pod affinity terms conflict'],
]);

table('several required terms', (labels: Labels, ...terms: string[]) => ask(labels, required(...terms)), [
  ['none at all', { a: '1' }, no],
  ['the first', { a: '1' }, 'a In 1', 'a In 2', 'ok'],
  ['the second', { a: '2' }, 'a In 1', 'a In 2', 'ok'],
  ['neither', { a: '3' }, 'a In 1', 'a In 2', no],
  ['an empty one and one that holds', { a: '1' }, '', 'a In 1', 'ok'],
  ['an empty one and one that does not', { a: '2' }, '', 'a In 1', no],
  ['one that makes no sense and one that holds', { a: '1' }, 'a Gt x', 'a In 1', 'ok'],
  ['parts of both', { a: '1', b: '2' }, 'a In 1, b In 1', 'a In 2, b In 2', no],
  ['the name by the second', {}, '@metadata.name In m', '@metadata.name In n', 'ok'],
  ['two other names', {}, '@metadata.name In m', '@metadata.name In o', no],
  ['another name or a label', { a: '1' }, '@metadata.name In m', 'a In 1', 'ok'],
  ['a conflict and the name', {}, '@metadata.name In m, @metadata.name In o', '@metadata.name In n', 'ok'],
]);

const with_ = (labels: Labels, nodeSelector: Labels, text: string) => ask(labels, { ...required(text), nodeSelector });
table('a selector and a required term', with_, [
  ['both hold', { a: '1', b: '2' }, { a: '1' }, 'b In 2', 'ok'],
  ['the selector only', { a: '1' }, { a: '1' }, 'b In 2', no],
  ['the term only', { b: '2' }, { a: '1' }, 'b In 2', no],
  ['they exclude each other', { a: '1' }, { a: '1' }, 'a NotIn 1', no],
]);

const adding = (text: string | undefined) =>
  nodeAffinity({ addedAffinity: text === undefined ? {} : (required(text).affinity?.nodeAffinity ?? {}) });
const added = (labels: Labels, text: string | undefined, own: string | undefined) =>
  answer(adding(text), { spec: own === undefined ? {} : required(own) }, { nodes: [node('n', labels)] });
table('with added affinity', added, [
  ['none', {}, undefined, undefined, 'ok'],
  ['it holds', { a: '1' }, 'a In 1', undefined, 'ok'],
  ['it does not', { a: '2' }, 'a In 1', undefined, enforced],
  ['both hold', { a: '1', b: '2' }, 'a In 1', 'b In 2', 'ok'],
  ['only the pod’s own holds', { b: '2' }, 'a In 1', 'b In 2', enforced],
  ['only the added one holds', { a: '1' }, 'a In 1', 'b In 2', no],
  ['neither: the added one is told', {}, 'a In 1', 'b In 2', enforced],
  ['by name', {}, '@metadata.name In n', undefined, 'ok'],
  ['by another name', {}, '@metadata.name In m', undefined, enforced],
]);

type Weighted = readonly [weight: number, text: string];
const preferred = (...terms: Weighted[]): NonNullable<NonNullable<PodSpec['affinity']>['nodeAffinity']> => ({
  preferredDuringSchedulingIgnoredDuringExecution: terms.map(([weight, text]) => ({ weight, preference: term(text) })),
});
const nodes = [node('x', { a: '1' }), node('y', { a: '1', b: '5' }), node('z', {})];
const score = (...terms: Weighted[]) =>
  scores(plugin, { spec: { affinity: { nodeAffinity: preferred(...terms) } } }, { nodes });
table('scores of nodes with a=1, with a=1 and b=5, and with nothing', score, [
  ['no preference', [0, 0, 0]],
  ['no node has it', [10, 'c Exists'], [0, 0, 0]],
  ['two have it', [10, 'a In 1'], [100, 100, 0]],
  ['one has it', [10, 'b Exists'], [0, 100, 0]],
  ['the weight of a single one does not matter', [1, 'b Exists'], [0, 100, 0]],
  ['weights add up', [10, 'a In 1'], [30, 'b In 5'], [25, 100, 0]],
  ['a heavier one that another node has', [10, 'a In 1'], [90, 'a DoesNotExist'], [11, 11, 100]],
  ['all have it', [7, 'c DoesNotExist'], [100, 100, 100]],
  ['without weight', [0, 'a In 1'], [0, 0, 0]],
  ['an empty term matches no node', [10, ''], [5, 'b Exists'], [0, 100, 0]],
  ['numbers', [10, 'b Gt 4'], [10, 'b Lt 5'], [0, 100, 0]],
  ['both requirements of a term', [10, 'a In 1, b In 5'], [0, 100, 0]],
  ['the name', [10, '@metadata.name In z'], [0, 0, 100]],
  ['the name and a label', [10, '@metadata.name In z, a In 1'], [5, 'a In 1'], [100, 100, 0]],
  ['a third is cut', [1, 'a In 1'], [2, 'b Exists'], [33, 100, 0]],
]);

const addedScore = (own: Weighted, other: Weighted) =>
  scores(
    nodeAffinity({ addedAffinity: preferred(other) }),
    { spec: { affinity: { nodeAffinity: preferred(own) } } },
    { nodes },
  );
table('scores with an added preference', addedScore, [
  ['both count', [10, 'a In 1'], [10, 'b Exists'], [50, 100, 0]],
  ['only the added one is met', [10, 'c Exists'], [10, 'b Exists'], [0, 100, 0]],
]);
