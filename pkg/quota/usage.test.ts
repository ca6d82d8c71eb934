import t from 'tap';
import type {
  PersistentVolumeClaim,
  Pod,
  PodSpec,
  ResourceQuota,
  ResourceQuotaSpec,
  ScopedResourceSelectorRequirement,
  Service,
  ServiceSpec,
} from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { type Dialect, type GroupKey, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { QuantitySum, roundUpToWhole } from '#apimachinery/quantity.js';
import { increaseOf, namesAbove, printAmounts, sameAmounts, usageOfAll } from '#quota/amounts.js';
import { isCounted } from '#quota/evaluator.js';
import { QuotaEvaluators } from '#quota/evaluators.js';

const nowMs = Date.UTC(2024, 0, 1);

function evaluatorOf(resource: string, group: GroupKey = 'core', dialect: Dialect = orchDialect) {
  const evaluator = new QuotaEvaluators(dialect).of(group, resource);
  if (evaluator === undefined) throw new Error(`${resource} are not counted`);
  return evaluator;
}

const pods = evaluatorOf('pods');
type Resources = Readonly<Record<string, string>>;
const container = (requests: Resources, limits: Resources = {}, name = 'c') => ({
  name,
  resources: { requests, limits },
});
const podOf = (spec: Partial<PodSpec>, more: Partial<Pod> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'ns' },
  spec: { containers: [], ...spec },
  ...more,
});
const pod = (requests: Resources, limits: Resources = {}) => podOf({ containers: [container(requests, limits)] });

t.test('the usage of pods includes requests, limits and overhead', (t) => {
  const over = (phase: string): Pod => ({ ...pod({ cpu: '1' }), status: { phase } });
  const ending = (secondsAgo: number): Pod => ({
    ...pod({}),
    metadata: { deletionTimestamp: formatTime(nowMs - secondsAgo * 1000), deletionGracePeriodSeconds: 30 },
  });
  const one = { 'count/pods': '1', pods: '1' };
  const rows: [what: string, pod: Pod, usage: Resources][] = [
    ['without requests and limits', pod({}), one],
    [
      'cpu, memory and storage',
      pod(
        { cpu: '1', memory: '1Gi', 'ephemeral-storage': '1Mi' },
        { cpu: '2', memory: '2Gi', 'ephemeral-storage': '2Mi' },
      ),
      {
        ...one,
        ...{ cpu: '1', 'requests.cpu': '1', 'limits.cpu': '2' },
        ...{ memory: '1Gi', 'requests.memory': '1Gi', 'limits.memory': '2Gi' },
        ...{ 'ephemeral-storage': '1Mi', 'requests.ephemeral-storage': '1Mi', 'limits.ephemeral-storage': '2Mi' },
      },
    ],
    [
      'huge pages and others',
      pod({ 'hugepages-2Mi': '4Mi', 'example.com/gpu': '2' }),
      { ...one, 'hugepages-2Mi': '4Mi', 'requests.hugepages-2Mi': '4Mi', 'requests.example.com/gpu': '2' },
    ],
    [
      'containers together, or the largest that comes before them, and overhead',
      podOf({
        initContainers: [container({ cpu: '5' })],
        containers: [container({ cpu: '1' }), container({ cpu: '500m' })],
        overhead: { cpu: '100m' },
      }),
      { ...one, cpu: '5100m', 'requests.cpu': '5100m' },
    ],
    ['succeeded', over('Succeeded'), { 'count/pods': '1' }],
    ['failed', over('Failed'), { 'count/pods': '1' }],
    ['running', over('Running'), { ...one, cpu: '1', 'requests.cpu': '1' }],
    ['being deleted', ending(30), one],
    ['past its grace period', ending(31), { 'count/pods': '1' }],
  ];
  for (const [what, object, usage] of rows) t.same(pods.usage(object, nowMs), usage, what);
  t.end();
});

t.test('scopes select pods', (t) => {
  const scope = (scopeName: string, operator = 'Exists', ...values: string[]): ScopedResourceSelectorRequirement => ({
    scopeName,
    operator,
    ...(values.length > 0 && { values }),
  });
  const term = { topologyKey: 'zone', labelSelector: {} };
  const rows: [spec: Partial<PodSpec>, scope: ScopedResourceSelectorRequirement, within: boolean][] = [
    [{}, scope('Terminating'), false],
    [{}, scope('NotTerminating'), true],
    [{ activeDeadlineSeconds: 0 }, scope('Terminating'), true],
    [{ activeDeadlineSeconds: 5 }, scope('NotTerminating'), false],
    [{}, scope('BestEffort'), true],
    [{ containers: [container({ cpu: '1' })] }, scope('BestEffort'), false],
    [{ containers: [container({ cpu: '1' })] }, scope('NotBestEffort'), true],
    [{}, scope('NotBestEffort'), false],
    [{}, scope('PriorityClass'), false],
    [{}, scope('PriorityClass', 'DoesNotExist'), true],
    [{}, scope('PriorityClass', 'NotIn', 'high'), true],
    [{}, scope('PriorityClass', 'In', 'high'), false],
    [{ priorityClassName: 'high' }, scope('PriorityClass'), true],
    [{ priorityClassName: 'high' }, scope('PriorityClass', 'DoesNotExist'), false],
    [{ priorityClassName: 'high' }, scope('PriorityClass', 'In', 'low', 'high'), true],
    [{ priorityClassName: 'high' }, scope('PriorityClass', 'NotIn', 'low', 'high'), false],
    [{}, scope('CrossNamespacePodAffinity'), false],
    [
      { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } },
      scope('CrossNamespacePodAffinity'),
      false,
    ],
    [
      {
        affinity: {
          podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ ...term, namespaces: ['b'] }] },
        },
      },
      scope('CrossNamespacePodAffinity'),
      true,
    ],
    [
      {
        affinity: {
          podAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 1, podAffinityTerm: { ...term, namespaceSelector: {} } },
            ],
          },
        },
      },
      scope('CrossNamespacePodAffinity'),
      true,
    ],
    [{}, scope('Odd'), false],
  ];
  for (const [spec, scope, within] of rows) {
    t.equal(pods.isWithin(podOf(spec), scope), within, JSON.stringify([spec, scope]));
  }
  t.end();
});

t.test('containers must set the requests and limits that quotas limit', (t) => {
  const object = podOf({
    initContainers: [container({ cpu: '1' }, {}, 'first')],
    containers: [container({}, { cpu: '1' }, 'b'), container({}, {}, 'a')],
  });
  t.equal(
    pods.missing(object, ['pods', 'requests.cpu', 'limits.cpu', 'requests.ephemeral-storage']),
    'must specify limits.cpu for: a,first; requests.cpu for: a,b',
  );
  t.equal(pods.missing(object, ['pods', 'requests.ephemeral-storage']), undefined);
  t.end();
});

t.test('only a deadline moves a pod into another scope', (t) => {
  t.equal(pods.mayUseMore(podOf({ activeDeadlineSeconds: 1 }), podOf({})), true);
  t.equal(pods.mayUseMore(podOf({ activeDeadlineSeconds: 1 }), podOf({ activeDeadlineSeconds: 2 })), false);
  t.equal(pods.mayUseMore(pod({ cpu: '2' }), pod({ cpu: '2' })), false);
  t.end();
});

t.test('the usage of claims includes storage, in total and by class', (t) => {
  const claim = (spec: PersistentVolumeClaim['spec'], more: Partial<PersistentVolumeClaim> = {}) => ({
    metadata: { name: 'c' },
    spec,
    ...more,
  });
  const storage = (amount: string) => ({ resources: { requests: { storage: amount } } });
  for (const [dialect, suffix] of [
    [orchDialect, '.storageclass.storage.orch.io/'],
    [kubernetesDialect, '.storageclass.storage.k8s.io/'],
  ] as const) {
    const claims = evaluatorOf('persistentvolumeclaims', 'core', dialect);
    const one = { 'count/persistentvolumeclaims': '1', persistentvolumeclaims: '1' };
    t.same(claims.usage(claim(storage('1500m')), nowMs), { ...one, 'requests.storage': '2' }, 'whole bytes');
    t.same(claims.usage(claim({ ...storage('1Gi'), storageClassName: 'gold' }), nowMs), {
      ...one,
      'requests.storage': '1Gi',
      [`gold${suffix}persistentvolumeclaims`]: '1',
      [`gold${suffix}requests.storage`]: '1Gi',
    });
    const shrunk = claim(storage('1Gi'), { status: { allocatedResources: { storage: '3Gi' } } });
    t.same(claims.usage(shrunk, nowMs)['requests.storage'], '3Gi', 'the allocated amount');
    for (const [name, counted] of [
      [`gold${suffix}requests.storage`, true],
      [`gold${suffix}persistentvolumeclaims`, true],
      [`gold${suffix}pods`, false],
      ['requests.storage', true],
      ['storage', false],
    ] as const) {
      t.equal(claims.counts(name), counted, name);
    }
  }
  t.end();
});

t.test('the usage of services includes load balancers and node ports', (t) => {
  const services = evaluatorOf('services');
  const rows: [spec: ServiceSpec, nodePorts: string, loadBalancers: string][] = [
    [{ ports: [{ port: 1 }] }, '0', '0'],
    [{ type: 'NodePort', ports: [{ port: 1 }, { port: 2 }] }, '2', '0'],
    [{ type: 'LoadBalancer', ports: [{ port: 1 }, { port: 2 }] }, '2', '1'],
    [
      {
        type: 'LoadBalancer',
        allocateLoadBalancerNodePorts: false,
        ports: [{ port: 1 }, { port: 2, nodePort: 30000 }],
      },
      '1',
      '1',
    ],
  ];
  for (const [spec, nodePorts, loadBalancers] of rows) {
    t.same(services.usage({ metadata: {}, spec } as Service, nowMs), {
      ...{ 'count/services': '1', services: '1' },
      ...{ 'services.nodeports': nodePorts, 'services.loadbalancers': loadBalancers },
    });
  }
  t.end();
});

t.test('other resources are counted by object', (t) => {
  for (const [group, resource, names] of [
    ['core', 'secrets', ['count/secrets', 'secrets']],
    ['core', 'endpoints', ['count/endpoints']],
    ['batch', 'jobs', ['count/jobs.batch']],
    ['networking', 'ingresses', ['count/ingresses.networking.orch.io']],
    ['example.com', 'turns', ['count/turns.example.com']],
  ] as const) {
    const evaluator = evaluatorOf(resource, group as GroupKey);
    t.same(Object.keys(evaluator.usage({ metadata: {} }, nowMs)), names);
    for (const name of names) t.equal(evaluator.counts(name), true, name);
  }
  const evaluators = new QuotaEvaluators(orchDialect);
  t.equal(evaluators.of('core', 'events'), undefined);
  t.equal(evaluators.of('events', 'events'), undefined);
  t.equal(evaluators.of('authorization', 'localsubjectaccessreviews'), undefined);
  t.end();
});

t.test('each name belongs to one resource', (t) => {
  const all = ['pods', 'services', 'persistentvolumeclaims', 'secrets', 'configmaps'].map((name) => evaluatorOf(name));
  for (const name of [
    ...['pods', 'cpu', 'requests.storage', 'services', 'requests.example.com/gpu', 'requests.hugepages-1Gi', 'secrets'],
    ...['count/pods', 'count/services', 'count/configmaps', 'gold.storageclass.storage.orch.io/requests.storage'],
  ]) {
    t.equal(all.filter((evaluator) => evaluator.counts(name)).length, 1, name);
  }
  t.end();
});

t.test('quotas count objects within all of their scopes, for names in their status', (t) => {
  const quota = (spec: ResourceQuotaSpec, hard?: Resources): ResourceQuota => ({
    metadata: { name: 'q' },
    spec,
    ...(hard && { status: { hard } }),
  });
  const scopes = {
    scopes: ['NotTerminating'],
    scopeSelector: { matchExpressions: [{ scopeName: 'BestEffort', operator: 'Exists' }] },
  };
  t.equal(isCounted(pods, quota({ hard: { pods: '1' } }), pod({})), false);
  t.equal(isCounted(pods, quota({}, { secrets: '1' }), pod({})), false);
  t.equal(isCounted(pods, quota({}, { pods: '1' }), pod({})), true);
  t.equal(isCounted(pods, quota(scopes, { pods: '1' }), pod({})), true);
  t.equal(isCounted(pods, quota(scopes, { pods: '1' }), pod({ cpu: '1' })), false);
  t.equal(isCounted(evaluatorOf('secrets'), quota(scopes, { secrets: '1' }), { metadata: {} }), false, 'in no scope');
  const counting = { names: ['pods', 'requests.cpu', 'limits.cpu'], scopes: [], nowMs };
  t.same(usageOfAll(pods, [pod({ cpu: '1' }), pod({ cpu: '500m' }), pod({})], counting), {
    ...{ pods: '3', 'requests.cpu': '1500m', 'limits.cpu': '0' },
  });
  t.end();
});

t.test('amounts are added, subtracted and compared by value', (t) => {
  t.same(increaseOf({ a: '2', b: '1', c: '1Gi' }, { a: '1', b: '1', c: '2Gi' }), { a: '1' });
  t.same(namesAbove({ a: '2', b: '1', c: '5' }, { a: '1', b: '1000m' }), ['a']);
  t.equal(sameAmounts({ a: '1' }, { a: '1000m' }), true);
  t.equal(sameAmounts({ a: '1' }, { a: '1', b: '0' }), false);
  t.equal(sameAmounts({ a: '1', b: '0' }, { a: '1', c: '0' }), false);
  t.equal(printAmounts({ pods: '2', cpu: '1000m' }), 'cpu=1,pods=2');
  const sum = new QuantitySum();
  for (const text of ['0', '512Mi', '512Mi']) sum.add(text);
  t.equal(sum.total(), '1Gi');
  t.equal(new QuantitySum().total(), '0');
  t.equal(roundUpToWhole('1500m'), '2');
  t.equal(roundUpToWhole('1Gi'), '1Gi');
  t.end();
});
