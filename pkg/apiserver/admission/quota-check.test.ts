import t from 'tap';
import type { PersistentVolumeClaim, Pod, ResourceQuota, ResourceQuotaSpec } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { orchDialect } from '#apimachinery/dialect.js';
import {
  checkQuotas,
  type LimitedByDefault,
  limitedByDefault,
  type QuotaRequest,
} from '#apiserver/admission/quota-check.js';
import { QuotaEvaluators } from '#quota/evaluators.js';

const evaluators = new QuotaEvaluators(orchDialect);
const unlimited: LimitedByDefault = { names: [], scopes: [] };

function request(resource: string, object: ApiObjectShape, more: Partial<QuotaRequest> = {}): QuotaRequest {
  const evaluator = evaluators.of('core', resource);
  if (evaluator === undefined) throw new Error(resource);
  return { evaluator, object, nowMs: 0, limited: unlimited, ...more };
}

type Amounts = Readonly<Record<string, string>>;
const quota = (name: string, hard: Amounts, used: Amounts, spec: ResourceQuotaSpec = {}): ResourceQuota => ({
  metadata: { name, namespace: 'ns', resourceVersion: '1' },
  spec: { hard, ...spec },
  status: { hard, used },
});
const pod = (requests: Amounts = {}, spec: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'c', resources: { requests } }], ...spec },
});
const claim = (storage: string): PersistentVolumeClaim => ({
  metadata: { name: 'c', resourceVersion: '1' },
  spec: { resources: { requests: { storage } } },
});

function outcome(quotas: readonly ResourceQuota[], request: QuotaRequest): unknown {
  const verdict = checkQuotas(quotas, request);
  if ('refused' in verdict) return verdict.refused;
  return Object.fromEntries(verdict.charges.map((charge) => [charge.quota.metadata.name, charge.used]));
}

t.test('new objects are charged in full', (t) => {
  const rows: [what: string, quotas: ResourceQuota[], request: QuotaRequest, expected: unknown][] = [
    ['no quota', [], request('pods', pod()), {}],
    ['a quota of something else', [quota('q', { secrets: '1' }, { secrets: '1' })], request('pods', pod()), {}],
    ['room', [quota('q', { pods: '2' }, { pods: '1' })], request('pods', pod()), { q: { pods: '2' } }],
    [
      'no room',
      [
        quota(
          'q',
          { pods: '1', 'requests.cpu': '1', secrets: '3' },
          { pods: '1', 'requests.cpu': '500m', secrets: '1' },
        ),
      ],
      request('pods', pod({ cpu: '600m' })),
      'exceeded quota: q, requested: pods=1,requests.cpu=600m, used: pods=1,requests.cpu=500m, limited: pods=1,requests.cpu=1',
    ],
    [
      'only exceeded amounts are reported',
      [quota('q', { pods: '9', 'requests.cpu': '1' }, { pods: '1', 'requests.cpu': '500m' })],
      request('pods', pod({ cpu: '600m' })),
      'exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=500m, limited: requests.cpu=1',
    ],
    [
      'what is used already may be too much of something else',
      [quota('q', { pods: '2', 'limits.memory': '1' }, { pods: '1', 'limits.memory': '9' })],
      request('pods', {
        ...pod(),
        spec: { containers: [{ name: 'c', resources: { limits: { memory: '0' } } }] },
      } as Pod),
      { q: { pods: '2', 'limits.memory': '9' } },
    ],
    [
      'several quotas',
      [quota('a', { pods: '5' }, { pods: '1' }), quota('b', { 'count/pods': '5' }, { 'count/pods': '2' })],
      request('pods', pod()),
      { a: { pods: '2' }, b: { 'count/pods': '3' } },
    ],
    [
      'the second has none left',
      [quota('a', { pods: '5' }, { pods: '1' }), quota('b', { 'count/pods': '2' }, { 'count/pods': '2' })],
      request('pods', pod()),
      'exceeded quota: b, requested: count/pods=1, used: count/pods=2, limited: count/pods=2',
    ],
    [
      'not in its scope',
      [quota('q', { pods: '1' }, { pods: '1' }, { scopes: ['Terminating'] })],
      request('pods', pod()),
      {},
    ],
    [
      'containers that do not say enough',
      [quota('q', { 'requests.cpu': '1', 'limits.cpu': '1' }, { 'requests.cpu': '0', 'limits.cpu': '0' })],
      request('pods', pod({ cpu: '1' })),
      'failed quota: q: must specify limits.cpu for: c',
    ],
    [
      'not counted yet',
      [quota('q', { pods: '1', 'count/pods': '1' }, { pods: '0' })],
      request('pods', pod()),
      'status unknown for quota: q, resources: count/pods,pods',
    ],
  ];
  for (const [what, quotas, request, expected] of rows) t.same(outcome(quotas, request), expected, what);
  t.end();
});

t.test('changes are charged only for increases', (t) => {
  const storage = quota('q', { 'requests.storage': '3Gi' }, { 'requests.storage': '2Gi' });
  const change = (from: string, to: string) => request('persistentvolumeclaims', claim(to), { old: claim(from) });
  t.same(outcome([storage], change('1Gi', '2Gi')), { q: { 'requests.storage': '3Gi' } });
  t.same(outcome([storage], change('2Gi', '2Gi')), {});
  t.same(outcome([storage], change('2Gi', '1Gi')), {});
  t.same(
    outcome([storage], change('1Gi', '3Gi')),
    'exceeded quota: q, requested: requests.storage=2Gi, used: requests.storage=2Gi, limited: requests.storage=3Gi',
  );
  const ending = quota('q', { pods: '1' }, { pods: '0' }, { scopes: ['Terminating'] });
  const deadline = request('pods', pod({}, { activeDeadlineSeconds: 1 }), { old: pod() });
  t.same(outcome([ending], deadline), { q: { pods: '1' } }, 'a change that enters a scope counts in full');
  t.end();
});

t.test('resources limited by default need a quota', (t) => {
  const scope = { scopeName: 'PriorityClass', operator: 'In', values: ['high', 'higher'] };
  const configured = [
    { apiGroup: '', resource: 'persistentvolumeclaims', matchContains: ['requests.storage'], matchScopes: [] },
    { apiGroup: '', resource: 'pods', matchContains: [], matchScopes: [scope] },
  ];
  const ofClaims = limitedByDefault(configured, '', 'persistentvolumeclaims');
  t.same(
    outcome([], request('persistentvolumeclaims', claim('1Gi'), { limited: ofClaims })),
    'insufficient quota to consume: requests.storage',
  );
  const covering = quota('q', { 'requests.storage': '3Gi' }, { 'requests.storage': '2Gi' });
  t.same(outcome([covering], request('persistentvolumeclaims', claim('1Gi'), { limited: ofClaims })), {
    q: { 'requests.storage': '3Gi' },
  });
  const change = request('persistentvolumeclaims', claim('1Gi'), { limited: ofClaims, old: claim('1Gi') });
  t.same(outcome([], change), {}, 'a change that uses no more');
  const ofPods = limitedByDefault(configured, '', 'pods');
  const high = pod({}, { priorityClassName: 'high' });
  t.same(outcome([], request('pods', pod(), { limited: ofPods })), {});
  t.same(
    outcome([], request('pods', high, { limited: ofPods })),
    'insufficient quota to match these scopes: [{PriorityClass In [high higher]}]',
  );
  const scoped = quota('q', { pods: '1' }, { pods: '0' }, { scopeSelector: { matchExpressions: [scope] } });
  t.same(outcome([scoped], request('pods', high, { limited: ofPods })), { q: { pods: '1' } });
  t.end();
});
