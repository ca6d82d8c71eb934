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
  ['none', {}, [is('db')], 'ok ok ok ok'],
  ['an empty list', near(), [is('db')], 'ok ok ok ok'],
  ['by host', near(term('db', 'host')), [is('db')], 'ok no no no'],
  ['by zone', near(term('db', 'zone')), [is('db')], 'ok ok no no'],
  ['by zone, the pod is elsewhere', near(term('db', 'zone')), [is('db', 'o')], 'no no ok no'],
  ['by zone, the pod is in none', near(term('db', 'zone')), [is('db', 'q')], 'no no no no'],
  ['another pod', near(term('db', 'host')), [is('web')], 'no no no no'],
  ['no pods at all', near(term('db', 'host')), [], 'no no no no'],
  ['a label that no node has', near(term('db', 'rack')), [is('db')], 'no no no no'],
  ['two pods', near(term('db', 'host')), [is('db'), is('db', 'o')], 'ok no ok no'],
  [
    'a pod that is being deleted counts',
    near(term('db', 'host')),
    [is('db', 'n', { terminating: true })],
    'ok no no no',
  ],
  ['two terms, one pod', near(term('db', 'host'), term('db', 'zone')), [is('db')], 'ok no no no'],
  [
    'two terms, each met by another pod',
    near(term('db', 'zone'), term('web', 'zone')),
    [is('db'), is('web')],
    'no no no no',
  ],
  [
    'two terms, one pod meets both',
    near(term('db', 'zone'), { topologyKey: 'zone', labelSelector: { matchLabels: { tier: 'x' } } }),
    [is('db', 'n', { labels: { app: 'db', tier: 'x' } })],
    'ok ok no no',
  ],
  ['an empty selector: all pods', near({ topologyKey: 'zone', labelSelector: {} }), [is('db')], 'ok ok no no'],
  ['no selector: no pods', near({ topologyKey: 'zone' }), [is('db')], 'no no no no'],
  [
    'by expression',
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
table('the first of pods that want to be together', first, [
  ['no matching pod', 'web', [term('web', 'host')], [], 'ok ok ok ok'],
  ['no matching pod, by zone', 'web', [term('web', 'zone')], [], 'ok ok ok no'],
  ['others are there', 'web', [term('web', 'host')], [is('db')], 'ok ok ok ok'],
  ['one is there', 'web', [term('web', 'host')], [is('web')], 'ok no no no'],
  ['one is there, in no zone', 'web', [term('web', 'zone')], [is('web', 'q')], 'ok ok ok no'],
  ['it is no such pod itself', 'db', [term('web', 'host')], [], 'no no no no'],
  ['it meets one of two terms', 'web', [term('web', 'host'), term('db', 'host')], [], 'no no no no'],
  [
    'one is there in another namespace',
    'web',
    [term('web', 'host')],
    [is('web', 'n', { namespace: 'other' })],
    'ok ok ok ok',
  ],
  ['terms about another namespace', 'web', [term('web', 'host', { namespaces: ['other'] })], [], 'no no no no'],
]);

table('required anti-affinity', where, [
  ['by host', far(term('db', 'host')), [is('db')], 'no ok ok ok'],
  ['by zone', far(term('db', 'zone')), [is('db')], 'no no ok ok'],
  ['by zone, the pod is in none', far(term('db', 'zone')), [is('db', 'q')], 'ok ok ok ok'],
  ['another pod', far(term('db', 'zone')), [is('web')], 'ok ok ok ok'],
  ['a label that no node has', far(term('db', 'rack')), [is('db')], 'ok ok ok ok'],
  ['two terms, either', far(term('db', 'host'), term('web', 'zone')), [is('db'), is('web', 'o')], 'no ok no ok'],
  ['an empty selector: all pods', far({ topologyKey: 'zone', labelSelector: {} }), [is('db')], 'no no ok ok'],
  ['no selector: no pods', far({ topologyKey: 'zone' }), [is('db')], 'ok ok ok ok'],
  ['the pod itself does not count', far(term('p', 'host')), [], 'ok ok ok ok'],
  [
    'a pod that is being deleted counts',
    far(term('db', 'host')),
    [is('db', 'n', { terminating: true })],
    'no ok ok ok',
  ],
  ['in another namespace', far(term('db', 'host')), [is('db', 'n', { namespace: 'other' })], 'ok ok ok ok'],
]);

const theirs = (app: string, ...terms: PodAffinityTerm[]) =>
  where({}, [{ on: 'n', spec: far(...terms) ?? {} }], { app });
table('anti-affinity of one that is on the first node', theirs, [
  ['by host', 'web', term('web', 'host'), 'no ok ok ok'],
  ['by zone', 'web', term('web', 'zone'), 'no no ok ok'],
  ['about others', 'web', term('db', 'zone'), 'ok ok ok ok'],
  ['by a label that no node has', 'web', term('web', 'rack'), 'ok ok ok ok'],
  ['an empty selector', 'web', { topologyKey: 'host', labelSelector: {} }, 'no ok ok ok'],
  ['no selector', 'web', { topologyKey: 'host' }, 'ok ok ok ok'],
  ['about another namespace', 'web', term('web', 'host', { namespaces: ['other'] }), 'ok ok ok ok'],
  ['about all namespaces', 'web', term('web', 'host', { namespaceSelector: {} }), 'no ok ok ok'],
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
  ['nothing said: its own', {}, 'default', met],
  ['nothing said: no other', {}, 'other', unmet],
  ['an empty list: its own', { namespaces: [] }, 'default', met],
  ['a list', { namespaces: ['other'] }, 'other', met],
  ['a list without its own', { namespaces: ['other'] }, 'default', unmet],
  ['a list of two', { namespaces: ['default', 'other'] }, 'default', met],
  ['an empty selector: all', { namespaceSelector: {} }, 'other', met],
  ['an empty selector: its own too', { namespaceSelector: {} }, 'default', met],
  ['an empty selector: one that is not known', { namespaceSelector: {} }, 'unknown', met],
  ['a selector', team('b'), 'other', met],
  ['a selector of another', team('c'), 'other', unmet],
  ['a selector does not mean its own', team('b'), 'default', unmet],
  ['a selector, a namespace without labels', team('b'), 'third', unmet],
  ['a selector, one that is not known', team('b'), 'unknown', unmet],
  ['a list or a selector: by the list', { namespaces: ['third'], ...team('b') }, 'third', met],
  ['a list or a selector: by the selector', { namespaces: ['third'], ...team('b') }, 'other', met],
  ['a list or a selector: neither', { namespaces: ['third'], ...team('b') }, 'default', unmet],
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
  ['of another', {}, [hermit], others],
  ['affinity comes first', both, [is('cache'), hermit], notNear],
  ['then anti-affinity', both, [is('db'), is('cache'), hermit], notFar],
  ['then that of others', both, [is('db'), hermit], others],
  ['all are met', both, [is('db')], 'ok'],
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
  ['near by host', want([5, term('db', 'host')]), [is('db')], undefined, '100 0 0 0'],
  ['near by zone', want([5, term('db', 'zone')]), [is('db')], undefined, '100 100 0 0'],
  ['no pod to be near', want([5, term('db', 'zone')]), [is('web')], undefined, '0 0 0 0'],
  ['far by host', avoid([5, term('db', 'host')]), [is('db')], undefined, '0 100 100 100'],
  ['far by zone', avoid([5, term('db', 'zone')]), [is('db')], undefined, '0 0 100 100'],
  ['each pod counts', want([1, term('db', 'zone')]), [is('db'), is('db'), is('db', 'o')], undefined, '100 100 50 0'],
  [
    'each by its weight',
    want([1, term('db', 'host')], [3, term('cache', 'host')]),
    [is('db'), is('cache', 'o')],
    undefined,
    '33 0 100 0',
  ],
  ['weights add up', want([1, term('db', 'host')], [1, term('db', 'zone')]), [is('db')], undefined, '100 50 0 0'],
  [
    'near and far',
    { ...want([2, term('db', 'zone')]), ...avoid([1, term('cache', 'host')]) },
    [is('db'), is('cache')],
    undefined,
    '50 100 0 0',
  ],
  ['a label that no node has', want([5, term('db', 'rack')]), [is('db')], undefined, '0 0 0 0'],
  ['another namespace', want([5, term('db', 'host')]), [is('db', 'n', { namespace: 'other' })], undefined, '0 0 0 0'],
  [
    'all namespaces',
    want([5, term('db', 'host', { namespaceSelector: {} })]),
    [is('db', 'n', { namespace: 'other' })],
    undefined,
    '100 0 0 0',
  ],
  ['another wants it near', {}, [wish(want([5, term('web', 'host')]), 'm')], undefined, '0 100 0 0'],
  ['another wants it far', {}, [wish(avoid([5, term('web', 'zone')]), 'm')], undefined, '0 0 100 100'],
  ['another wants others', {}, [wish(want([5, term('db', 'host')]), 'm')], undefined, '0 0 0 0'],
  ['another has to have it near', {}, [{ on: 'm', spec: near(term('web', 'zone')) ?? {} }], undefined, '100 100 0 0'],
  ['another has to, which weighs nothing', {}, [{ on: 'm', spec: near(term('web', 'zone')) ?? {} }], 0, '0 0 0 0'],
  [
    'required by another pod, against a preference',
    avoid([10, term('db', 'host')]),
    [is('db'), { on: 'm', spec: near(term('web', 'host')) ?? {} }],
    10,
    '0 100 50 50',
  ],
  [
    'required anti-affinity of others scores nothing',
    {},
    [{ on: 'm', spec: far(term('web', 'host')) ?? {} }],
    undefined,
    '0 0 0 0',
  ],
  [
    'its own required affinity scores nothing',
    { podAffinity: required([term('db', 'zone')]) },
    [is('db')],
    undefined,
    '0 0 0 0',
  ],
  [
    'both prefer each other',
    want([5, term('db', 'host')]),
    [is('db', 'n', wish(want([5, term('web', 'zone')]), 'n'))],
    undefined,
    '100 50 0 0',
  ],
]);
