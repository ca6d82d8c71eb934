import type { PodAffinity, PodAffinityTerm } from '#api/core/v1/types.gen.js';
import { interPodAffinity } from '#scheduler/plugins/inter-pod-affinity.js';
import {
  answer,
  answers,
  node,
  type PodFields,
  scores,
  type TestCluster,
  table,
} from '#scheduler/testing/plugin-table.js';

const plugin = interPodAffinity();
const notNear = "!node(s) didn't match pod affinity rules";
const notFar = "node(s) didn't match pod anti-affinity rules";
const others = "node(s) didn't satisfy existing pods anti-affinity rules";

/** Two zones: n and m in the first, o in the second; q is in none. Every node is its own host. */
const nodes = [
  node('n', { host: 'n', zone: '1' }),
  node('m', { host: 'm', zone: '1' }),
  node('o', { host: 'o', zone: '2' }),
  node('q', { host: 'q' }),
];
const namespaces = { default: { team: 'a' }, other: { team: 'b' }, third: {} };

/** Matches pods with the label; `more`: namespaces. */
const term = (app: string, topologyKey: string, more: Partial<PodAffinityTerm> = {}): PodAffinityTerm => ({
  topologyKey,
  labelSelector: { matchLabels: { app } },
  ...more,
});
const required = (terms: readonly PodAffinityTerm[]): PodAffinity => ({
  requiredDuringSchedulingIgnoredDuringExecution: [...terms],
});
const near = (...terms: PodAffinityTerm[]): PodFields['spec'] => ({ affinity: { podAffinity: required(terms) } });
const far = (...terms: PodAffinityTerm[]): PodFields['spec'] => ({ affinity: { podAntiAffinity: required(terms) } });
const is = (app: string, on = 'n', more: PodFields = {}): PodFields => ({ labels: { app }, on, ...more });

const where = (spec: PodFields['spec'], pods: readonly PodFields[], labels: Record<string, string> = {}) =>
  answers(plugin, { labels, ...(spec === undefined ? {} : { spec }) }, { nodes, namespaces, pods });

// Nodes n and m of zone 1, o of zone 2, q without a zone.
table('required affinity', where, [
  ['no affinity', {}, [is('db')], 'ok ok ok ok'],
  ['an empty list of terms', near(), [is('db')], 'ok ok ok ok'],
  ['by host', near(term('db', 'host')), [is('db')], 'ok no no no'],
  ['by zone', near(term('db', 'zone')), [is('db')], 'ok ok no no'],
  ['by zone, the pod is in another zone', near(term('db', 'zone')), [is('db', 'o')], 'no no ok no'],
  ['by zone, the pod is on a node without a zone', near(term('db', 'zone')), [is('db', 'q')], 'no no no no'],
  ['only other pods exist', near(term('db', 'host')), [is('web')], 'no no no no'],
  ['no pods exist', near(term('db', 'host')), [], 'no no no no'],
  ['a topology label that no node has', near(term('db', 'rack')), [is('db')], 'no no no no'],
  ['two pods', near(term('db', 'host')), [is('db'), is('db', 'o')], 'ok no ok no'],
  [
    'a pod that is being deleted counts',
    near(term('db', 'host')),
    [is('db', 'n', { terminating: true })],
    'ok no no no',
  ],
  ['two terms that one pod matches', near(term('db', 'host'), term('db', 'zone')), [is('db')], 'ok no no no'],
  [
    'two terms that different pods match',
    near(term('db', 'zone'), term('web', 'zone')),
    [is('db'), is('web')],
    'no no no no',
  ],
  [
    'two terms that the same pod matches',
    near(term('db', 'zone'), { topologyKey: 'zone', labelSelector: { matchLabels: { tier: 'x' } } }),
    [is('db', 'n', { labels: { app: 'db', tier: 'x' } })],
    'ok ok no no',
  ],
  ['an empty selector matches all pods', near({ topologyKey: 'zone', labelSelector: {} }), [is('db')], 'ok ok no no'],
  ['an absent selector matches no pods', near({ topologyKey: 'zone' }), [is('db')], 'no no no no'],
  [
    'a selector expression',
    near({
      topologyKey: 'host',
      labelSelector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] },
    }),
    [is('db'), is('web', 'm')],
    'ok no no no',
  ],
]);

const first = (app: string, terms: readonly PodAffinityTerm[], pods: readonly PodFields[]) =>
  where(near(...terms), pods, { app });
table('the first pod of a group with affinity for itself', first, [
  ['no matching pod exists', 'web', [term('web', 'host')], [], 'ok ok ok ok'],
  ['no matching pod exists, by zone', 'web', [term('web', 'zone')], [], 'ok ok ok no'],
  ['only other pods exist', 'web', [term('web', 'host')], [is('db')], 'ok ok ok ok'],
  ['a matching pod exists', 'web', [term('web', 'host')], [is('web')], 'ok no no no'],
  ['a matching pod exists on a node without a zone', 'web', [term('web', 'zone')], [is('web', 'q')], 'ok ok ok no'],
  ['the pod does not match its own term', 'db', [term('web', 'host')], [], 'no no no no'],
  ['the pod matches one of its two terms', 'web', [term('web', 'host'), term('db', 'host')], [], 'no no no no'],
  [
    'a matching pod exists in another namespace',
    'web',
    [term('web', 'host')],
    [is('web', 'n', { namespace: 'other' })],
    'ok ok ok ok',
  ],
  ['a term for another namespace', 'web', [term('web', 'host', { namespaces: ['other'] })], [], 'no no no no'],
]);

table('required anti-affinity', where, [
  ['by host', far(term('db', 'host')), [is('db')], 'no ok ok ok'],
  ['by zone', far(term('db', 'zone')), [is('db')], 'no no ok ok'],
  ['by zone, the pod is on a node without a zone', far(term('db', 'zone')), [is('db', 'q')], 'ok ok ok ok'],
  ['only other pods exist', far(term('db', 'zone')), [is('web')], 'ok ok ok ok'],
  ['a topology label that no node has', far(term('db', 'rack')), [is('db')], 'ok ok ok ok'],
  ['two terms', far(term('db', 'host'), term('web', 'zone')), [is('db'), is('web', 'o')], 'no ok no ok'],
  ['an empty selector matches all pods', far({ topologyKey: 'zone', labelSelector: {} }), [is('db')], 'no no ok ok'],
  ['an absent selector matches no pods', far({ topologyKey: 'zone' }), [is('db')], 'ok ok ok ok'],
  ['the pod itself does not count', far(term('p', 'host')), [], 'ok ok ok ok'],
  [
    'a pod that is being deleted counts',
    far(term('db', 'host')),
    [is('db', 'n', { terminating: true })],
    'no ok ok ok',
  ],
  ['a pod of another namespace', far(term('db', 'host')), [is('db', 'n', { namespace: 'other' })], 'ok ok ok ok'],
]);

const theirs = (app: string, ...terms: PodAffinityTerm[]) =>
  where({}, [{ on: 'n', spec: far(...terms) ?? {} }], { app });
table('required anti-affinity of a pod on the first node', theirs, [
  ['by host', 'web', term('web', 'host'), 'no ok ok ok'],
  ['by zone', 'web', term('web', 'zone'), 'no no ok ok'],
  ['a term for other pods', 'web', term('db', 'zone'), 'ok ok ok ok'],
  ['a topology label that no node has', 'web', term('web', 'rack'), 'ok ok ok ok'],
  ['an empty selector matches all pods', 'web', { topologyKey: 'host', labelSelector: {} }, 'no ok ok ok'],
  ['an absent selector matches no pods', 'web', { topologyKey: 'host' }, 'ok ok ok ok'],
  ['a term for another namespace', 'web', term('web', 'host', { namespaces: ['other'] }), 'ok ok ok ok'],
  ['a term for all namespaces', 'web', term('web', 'host', { namespaceSelector: {} }), 'no ok ok ok'],
]);

const inOther = (more: Partial<PodAffinityTerm>, namespace: string) =>
  answers(
    plugin,
    { spec: near(term('db', 'host', more)) ?? {} },
    { nodes, namespaces, pods: [is('db', 'n', { namespace })] },
  );
const team = (value: string) => ({ namespaceSelector: { matchLabels: { team: value } } });
const [met, unmet] = ['ok no no no', 'no no no no'];
table('namespaces of a term of a pod in `default`', inOther, [
  ['no namespaces: includes the own namespace', {}, 'default', met],
  ['no namespaces: excludes other namespaces', {}, 'other', unmet],
  ['an empty list: includes the own namespace', { namespaces: [] }, 'default', met],
  ['a list with the namespace', { namespaces: ['other'] }, 'other', met],
  ['a list without the own namespace', { namespaces: ['other'] }, 'default', unmet],
  ['a list of two namespaces', { namespaces: ['default', 'other'] }, 'default', met],
  ['an empty selector: includes other namespaces', { namespaceSelector: {} }, 'other', met],
  ['an empty selector: includes the own namespace', { namespaceSelector: {} }, 'default', met],
  ['an empty selector: includes a namespace that is not in the cache', { namespaceSelector: {} }, 'unknown', met],
  ['a matching selector', team('b'), 'other', met],
  ['a selector that does not match', team('c'), 'other', unmet],
  ['a selector does not include the own namespace', team('b'), 'default', unmet],
  ['a selector and a namespace without labels', team('b'), 'third', unmet],
  ['a selector and a namespace that is not in the cache', team('b'), 'unknown', unmet],
  ['a list and a selector: the list includes the namespace', { namespaces: ['third'], ...team('b') }, 'third', met],
  ['a list and a selector: the selector includes the namespace', { namespaces: ['third'], ...team('b') }, 'other', met],
  ['a list and a selector: neither includes the namespace', { namespaces: ['third'], ...team('b') }, 'default', unmet],
]);

const refusalAt = (spec: PodFields['spec'], pods: readonly PodFields[]) =>
  answer(plugin, { labels: { app: 'web' }, ...(spec === undefined ? {} : { spec }) }, { nodes, namespaces, pods });
const both: PodFields['spec'] = {
  affinity: { podAffinity: required([term('db', 'host')]), podAntiAffinity: required([term('cache', 'host')]) },
};
const hermit: PodFields = { on: 'n', spec: far(term('web', 'host')) ?? {} };
table('reasons on the first node', refusalAt, [
  ['affinity', near(term('db', 'host')), [], notNear],
  ['anti-affinity', far(term('db', 'host')), [is('db')], notFar],
  ['anti-affinity of a placed pod', {}, [hermit], others],
  ['affinity is checked first', both, [is('cache'), hermit], notNear],
  ['anti-affinity is checked second', both, [is('db'), is('cache'), hermit], notFar],
  ['anti-affinity of placed pods is checked last', both, [is('db'), hermit], others],
  ['all terms are met', both, [is('db')], 'ok'],
]);

type Weighted = readonly [weight: number, term: PodAffinityTerm];
const preferred = (terms: readonly Weighted[]): PodAffinity => ({
  preferredDuringSchedulingIgnoredDuringExecution: terms.map(([weight, podAffinityTerm]) => ({
    weight,
    podAffinityTerm,
  })),
});
const score = (affinity: NonNullable<PodFields['spec']>['affinity'], pods: readonly PodFields[], hard?: number) => {
  const world: TestCluster = { nodes, namespaces, pods };
  const spec = affinity === undefined ? {} : { affinity };
  const args = hard === undefined ? {} : { hardPodAffinityWeight: hard };
  return scores(interPodAffinity(args), { labels: { app: 'web' }, spec }, world).join(' ');
};
const want = (...terms: Weighted[]) => ({ podAffinity: preferred(terms) });
const avoid = (...terms: Weighted[]) => ({ podAntiAffinity: preferred(terms) });
const wish = (affinity: NonNullable<PodFields['spec']>['affinity'], on: string): PodFields => ({
  on,
  spec: affinity === undefined ? {} : { affinity },
});

table('scores', score, [
  ['no preference', {}, [is('db')], undefined, '0 0 0 0'],
  ['affinity by host', want([5, term('db', 'host')]), [is('db')], undefined, '100 0 0 0'],
  ['affinity by zone', want([5, term('db', 'zone')]), [is('db')], undefined, '100 100 0 0'],
  ['affinity without matching pods', want([5, term('db', 'zone')]), [is('web')], undefined, '0 0 0 0'],
  ['anti-affinity by host', avoid([5, term('db', 'host')]), [is('db')], undefined, '0 100 100 100'],
  ['anti-affinity by zone', avoid([5, term('db', 'zone')]), [is('db')], undefined, '0 0 100 100'],
  ['number of pods', want([1, term('db', 'zone')]), [is('db'), is('db'), is('db', 'o')], undefined, '100 100 50 0'],
  [
    'each term counts by its weight',
    want([1, term('db', 'host')], [3, term('cache', 'host')]),
    [is('db'), is('cache', 'o')],
    undefined,
    '33 0 100 0',
  ],
  ['sum of weights', want([1, term('db', 'host')], [1, term('db', 'zone')]), [is('db')], undefined, '100 50 0 0'],
  [
    'affinity and anti-affinity',
    { ...want([2, term('db', 'zone')]), ...avoid([1, term('cache', 'host')]) },
    [is('db'), is('cache')],
    undefined,
    '50 100 0 0',
  ],
  ['a topology label that no node has', want([5, term('db', 'rack')]), [is('db')], undefined, '0 0 0 0'],
  ['another namespace', want([5, term('db', 'host')]), [is('db', 'n', { namespace: 'other' })], undefined, '0 0 0 0'],
  [
    'all namespaces',
    want([5, term('db', 'host', { namespaceSelector: {} })]),
    [is('db', 'n', { namespace: 'other' })],
    undefined,
    '100 0 0 0',
  ],
  ['affinity of a placed pod', {}, [wish(want([5, term('web', 'host')]), 'm')], undefined, '0 100 0 0'],
  ['anti-affinity of a placed pod', {}, [wish(avoid([5, term('web', 'zone')]), 'm')], undefined, '0 0 100 100'],
  ['affinity of a placed pod for other pods', {}, [wish(want([5, term('db', 'host')]), 'm')], undefined, '0 0 0 0'],
  ['required by a placed pod', {}, [{ on: 'm', spec: near(term('web', 'zone')) ?? {} }], undefined, '100 100 0 0'],
  ['required, with weight zero', {}, [{ on: 'm', spec: near(term('web', 'zone')) ?? {} }], 0, '0 0 0 0'],
  [
    'required affinity of a placed pod, and anti-affinity of the pod',
    avoid([10, term('db', 'host')]),
    [is('db'), { on: 'm', spec: near(term('web', 'host')) ?? {} }],
    10,
    '0 100 50 50',
  ],
  [
    'required anti-affinity of placed pods does not score',
    {},
    [{ on: 'm', spec: far(term('web', 'host')) ?? {} }],
    undefined,
    '0 0 0 0',
  ],
  [
    'required affinity of the pod does not score',
    { podAffinity: required([term('db', 'zone')]) },
    [is('db')],
    undefined,
    '0 0 0 0',
  ],
  [
    'both pods prefer each other',
    want([5, term('db', 'host')]),
    [is('db', 'n', wish(want([5, term('web', 'zone')]), 'n'))],
    undefined,
    '100 50 0 0',
  ],
]);
