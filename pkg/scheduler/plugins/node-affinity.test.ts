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
  ['an empty selector', {}, {}, 'ok'],
  ['an empty selector and a labelled node', { a: '1' }, {}, 'ok'],
  ['the node has the label', { a: '1' }, { a: '1' }, 'ok'],
  ['the node has the label among others', { a: '1', b: '2' }, { a: '1' }, 'ok'],
  ['the label has another value', { a: '1' }, { a: '2' }, no],
  ['the node has another label', { a: '1' }, { b: '1' }, no],
  ['the node has no labels', {}, { a: '1' }, no],
  ['the node has both labels', { a: '1', b: '2' }, { a: '1', b: '2' }, 'ok'],
  ['the node has one of two labels', { a: '1' }, { a: '1', b: '2' }, no],
  ['an empty value', { a: '' }, { a: '' }, 'ok'],
  ['an empty value and no label', {}, { a: '' }, no],
  ['values are case-sensitive', { a: 'x' }, { a: 'X' }, no],
  ['names of object properties', {}, { constructor: 'x' }, no],
]);

table('one required term', (labels: Labels, text: string) => ask(labels, required(text)), [
  ['In: one of the values', { a: '1' }, 'a In 1 2', 'ok'],
  ['In: none of the values', { a: '3' }, 'a In 1 2', no],
  ['In: no label', {}, 'a In 1 2', no],
  ['In: no values', { a: '1' }, 'a In', no],
  ['NotIn: none of the values', { a: '3' }, 'a NotIn 1 2', 'ok'],
  ['NotIn: one of the values', { a: '1' }, 'a NotIn 1 2', no],
  ['NotIn: no label', {}, 'a NotIn 1 2', 'ok'],
  ['Exists: a label', { a: '1' }, 'a Exists', 'ok'],
  ['Exists: an empty label', { a: '' }, 'a Exists', 'ok'],
  ['Exists: no label', { b: '1' }, 'a Exists', no],
  ['Exists: values are invalid', { a: '1' }, 'a Exists 1', no],
  ['DoesNotExist: no label', {}, 'a DoesNotExist', 'ok'],
  ['DoesNotExist: an empty label', { a: '' }, 'a DoesNotExist', no],
  ['Gt: greater', { a: '6' }, 'a Gt 5', 'ok'],
  ['Gt: equal', { a: '5' }, 'a Gt 5', no],
  ['Gt: less', { a: '4' }, 'a Gt 5', no],
  ['Gt: compares numbers, not texts', { a: '10' }, 'a Gt 9', 'ok'],
  ['Gt: negative numbers', { a: '-1' }, 'a Gt -2', 'ok'],
  ['Gt: the label is not a number', { a: 'x' }, 'a Gt 5', no],
  ['Gt: the value is not a number', { a: '6' }, 'a Gt x', no],
  ['Gt: the label is a fraction', { a: '5.5' }, 'a Gt 5', no],
  ['Gt: the value is a fraction', { a: '6' }, 'a Gt 5.5', no],
  ['Gt: the label has an exponent', { a: '1e3' }, 'a Gt 5', no],
  ['Gt: the label is empty', { a: '' }, 'a Gt -1', no],
  ['Gt: no label', {}, 'a Gt 5', no],
  ['Gt: two values', { a: '9' }, 'a Gt 5 6', no],
  ['Gt: no value', { a: '9' }, 'a Gt', no],
  ['Gt: leading zeros', { a: '007' }, 'a Gt 6', 'ok'],
  ['Lt: less', { a: '4' }, 'a Lt 5', 'ok'],
  ['Lt: equal', { a: '5' }, 'a Lt 5', no],
  ['Lt: greater', { a: '6' }, 'a Lt 5', no],
  ['Lt: compares numbers, not texts', { a: '9' }, 'a Lt 10', 'ok'],
  ['Lt: the label is not a number', { a: 'x' }, 'a Lt 5', no],
  ['Gt: numbers beyond 53 bits', { a: '9007199254740993' }, 'a Gt 9007199254740992', 'ok'],
  ['an unknown operator', { a: '1' }, 'a Like 1', no],
  ['two requirements, both met', { a: '1', b: '2' }, 'a In 1, b In 2', 'ok'],
  ['two requirements, one met', { a: '1', b: '3' }, 'a In 1, b In 2', no],
  ['two requirements that exclude each other', { a: '1' }, 'a In 1, a In 2', no],
  ['a range that includes the number', { a: '7' }, 'a Gt 5, a Lt 9', 'ok'],
  ['a range that excludes the number', { a: '9' }, 'a Gt 5, a Lt 9', no],
  ['an empty term matches nothing', { a: '1' }, '', no],
  ['the node name', {}, '@metadata.name In n', 'ok'],
  ['another node name', {}, '@metadata.name In m', no],
  ['NotIn with another node name', {}, '@metadata.name NotIn m', 'ok'],
  ['NotIn with the node name', {}, '@metadata.name NotIn n', no],
  ['an unsupported field', {}, '@metadata.uid In n', no],
  ['the node name and the label', { a: '1' }, '@metadata.name In n, a In 1', 'ok'],
  ['the node name and another label', { a: '2' }, '@metadata.name In n, a In 1', no],
  ['another node name and the label', { a: '1' }, '@metadata.name In m, a In 1', no],
  [
    'node names that exclude each other',
    {},
    '@metadata.name In n, @metadata.name In m',
    '!pod affinity terms conflict',
  ],
]);

table('several required terms', (labels: Labels, ...terms: string[]) => ask(labels, required(...terms)), [
  ['an empty list of terms', { a: '1' }, no],
  ['the first term matches', { a: '1' }, 'a In 1', 'a In 2', 'ok'],
  ['the second term matches', { a: '2' }, 'a In 1', 'a In 2', 'ok'],
  ['no term matches', { a: '3' }, 'a In 1', 'a In 2', no],
  ['an empty term and a matching term', { a: '1' }, '', 'a In 1', 'ok'],
  ['an empty term and a term that does not match', { a: '2' }, '', 'a In 1', no],
  ['an invalid term and a matching term', { a: '1' }, 'a Gt x', 'a In 1', 'ok'],
  ['each term matches in part', { a: '1', b: '2' }, 'a In 1, b In 1', 'a In 2, b In 2', no],
  ['the second term has the node name', {}, '@metadata.name In m', '@metadata.name In n', 'ok'],
  ['both terms have other node names', {}, '@metadata.name In m', '@metadata.name In o', no],
  ['a term with another node name and a matching term', { a: '1' }, '@metadata.name In m', 'a In 1', 'ok'],
  ['a contradiction or the node name', {}, '@metadata.name In m, @metadata.name In o', '@metadata.name In n', 'ok'],
]);

const with_ = (labels: Labels, nodeSelector: Labels, text: string) => ask(labels, { ...required(text), nodeSelector });
table('a selector and a required term', with_, [
  ['both match', { a: '1', b: '2' }, { a: '1' }, 'b In 2', 'ok'],
  ['only the selector matches', { a: '1' }, { a: '1' }, 'b In 2', no],
  ['only the term matches', { b: '2' }, { a: '1' }, 'b In 2', no],
  ['the selector and the term exclude each other', { a: '1' }, { a: '1' }, 'a NotIn 1', no],
]);

const adding = (text: string | undefined) =>
  nodeAffinity({ addedAffinity: text === undefined ? {} : (required(text).affinity?.nodeAffinity ?? {}) });
const added = (labels: Labels, text: string | undefined, own: string | undefined) =>
  answer(adding(text), { spec: own === undefined ? {} : required(own) }, { nodes: [node('n', labels)] });
table('affinity added by the plugin arguments', added, [
  ['no added affinity', {}, undefined, undefined, 'ok'],
  ['the added affinity matches', { a: '1' }, 'a In 1', undefined, 'ok'],
  ['the added affinity does not match', { a: '2' }, 'a In 1', undefined, enforced],
  ['both match', { a: '1', b: '2' }, 'a In 1', 'b In 2', 'ok'],
  ['only the affinity of the pod matches', { b: '2' }, 'a In 1', 'b In 2', enforced],
  ['only the added affinity matches', { a: '1' }, 'a In 1', 'b In 2', no],
  ['neither matches: the reason names the added affinity', {}, 'a In 1', 'b In 2', enforced],
  ['added affinity for the node name', {}, '@metadata.name In n', undefined, 'ok'],
  ['added affinity for another node name', {}, '@metadata.name In m', undefined, enforced],
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
  ['no node matches', [10, 'c Exists'], [0, 0, 0]],
  ['two nodes match', [10, 'a In 1'], [100, 100, 0]],
  ['one node matches', [10, 'b Exists'], [0, 100, 0]],
  ['the weight of a single term does not matter', [1, 'b Exists'], [0, 100, 0]],
  ['the weights of matching terms add up', [10, 'a In 1'], [30, 'b In 5'], [25, 100, 0]],
  ['another node matches a term with a higher weight', [10, 'a In 1'], [90, 'a DoesNotExist'], [11, 11, 100]],
  ['all nodes match', [7, 'c DoesNotExist'], [100, 100, 100]],
  ['a weight of zero', [0, 'a In 1'], [0, 0, 0]],
  ['an empty term matches no node', [10, ''], [5, 'b Exists'], [0, 100, 0]],
  ['numeric requirements', [10, 'b Gt 4'], [10, 'b Lt 5'], [0, 100, 0]],
  ['a term with two requirements', [10, 'a In 1, b In 5'], [0, 100, 0]],
  ['a term with the node name', [10, '@metadata.name In z'], [0, 0, 100]],
  ['a term with the node name and a label', [10, '@metadata.name In z, a In 1'], [5, 'a In 1'], [100, 100, 0]],
  ['fractions are cut off', [1, 'a In 1'], [2, 'b Exists'], [33, 100, 0]],
]);

const addedScore = (own: Weighted, other: Weighted) =>
  scores(
    nodeAffinity({ addedAffinity: preferred(other) }),
    { spec: { affinity: { nodeAffinity: preferred(own) } } },
    { nodes },
  );
table('scores with an added preference', addedScore, [
  ['both preferences count', [10, 'a In 1'], [10, 'b Exists'], [50, 100, 0]],
  ['only the added preference is met', [10, 'c Exists'], [10, 'b Exists'], [0, 100, 0]],
]);
