/** Cells of nontrivial rows, for kinds whose own tests cover the simple ones. */
import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { strategyFor } from '#api/strategies.js';
import { testContext } from '#api/testing/strategy-table.js';
import { orchDialect } from '#apimachinery/dialect.js';

const aged = { name: 'a', creationTimestamp: '2024-05-31T23:00:00Z' };
const metric = (name: string) => ({
  type: 'Pods',
  pods: { metric: { name }, target: { type: 'AverageValue', averageValue: '5' } },
});
const template = {
  spec: {
    containers: [
      { name: 'c', image: 'i' },
      { name: 'd', image: 'j' },
    ],
  },
};
const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 'u', controller: true };

/** The resource, an object, and expected cells by column name. */
const rows: [resource: string, object: object, cells: Record<string, string | number | boolean>][] = [
  [
    'apps/v1/controllerrevisions',
    { metadata: { ...aged, ownerReferences: [owner] }, revision: 3 },
    { Controller: 'statefulset.apps/web', Revision: '3' },
  ],
  ['apps/v1/controllerrevisions', { metadata: aged }, { Controller: '<none>', Revision: '0' }],
  [
    'apps/v1/daemonsets',
    {
      metadata: aged,
      spec: { template: { spec: { ...template.spec, nodeSelector: { b: '2', a: '1' } } } },
      status: {
        desiredNumberScheduled: 3,
        currentNumberScheduled: 2,
        numberReady: 1,
        updatedNumberScheduled: 2,
        numberAvailable: 1,
      },
    },
    {
      Desired: 3,
      Current: 2,
      Ready: 1,
      'Up-to-date': 2,
      Available: 1,
      'Node Selector': 'a=1,b=2',
      Containers: 'c,d',
      Images: 'i,j',
    },
  ],
  [
    'apps/v1/statefulsets',
    { metadata: aged, spec: { replicas: 3, template }, status: { readyReplicas: 2 } },
    { Ready: '2/3', Containers: 'c,d', Images: 'i,j' },
  ],
  [
    'apps/v1/deployments',
    {
      metadata: aged,
      spec: {
        replicas: 3,
        template,
        selector: {
          matchExpressions: [
            { key: 'a', operator: 'In', values: ['y', 'x'] },
            { key: 'b', operator: 'DoesNotExist' },
          ],
        },
      },
      status: { readyReplicas: 2, updatedReplicas: 3, availableReplicas: 1 },
    },
    { Ready: '2/3', 'Up-to-date': 3, Available: 1, Selector: 'a in (x,y),!b' },
  ],
  [
    'batch/v1/cronjobs',
    {
      metadata: aged,
      spec: { schedule: '@hourly', suspend: true, jobTemplate: { spec: { template } } },
      status: { active: [{}, {}], lastScheduleTime: '2024-05-31T23:58:00Z' },
    },
    { Schedule: '@hourly', Suspend: 'True', Active: 2, 'Last Schedule': '2m', Images: 'i,j' },
  ],
  [
    'batch/v1/jobs',
    {
      metadata: aged,
      spec: { parallelism: 3, template },
      status: { succeeded: 1, startTime: '2024-05-31T23:50:00Z', completionTime: '2024-05-31T23:52:00Z' },
    },
    { Completions: '1/1 of 3', Duration: '2m' },
  ],
  [
    'autoscaling/v2/horizontalpodautoscalers',
    {
      metadata: aged,
      spec: {
        scaleTargetRef: { kind: 'Deployment', name: 'd' },
        maxReplicas: 5,
        metrics: [metric('a'), metric('b'), metric('c')],
      },
      status: { currentReplicas: 2, currentMetrics: [{ type: 'Pods', pods: { current: { averageValue: '3' } } }] },
    },
    { Reference: 'Deployment/d', Targets: '3/5, <unknown>/5 + 1 more...', MinPods: '<unset>' },
  ],
  [
    'autoscaling/v2/horizontalpodautoscalers',
    {
      metadata: aged,
      spec: {
        scaleTargetRef: { kind: 'D', name: 'd' },
        maxReplicas: 5,
        metrics: [
          {
            type: 'External',
            external: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '5' } },
          },
        ],
      },
    },
    { Targets: '<unknown>/5 (avg)' },
  ],
  [
    'autoscaling/v2/horizontalpodautoscalers',
    {
      metadata: aged,
      spec: {
        scaleTargetRef: { kind: 'D', name: 'd' },
        maxReplicas: 5,
        metrics: [
          { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
        ],
      },
    },
    { Targets: '<unknown>/50%' },
  ],
  [
    'networking/v1/ingresses',
    {
      metadata: aged,
      spec: {
        ingressClassName: 'x',
        rules: [{ host: 'a' }, { host: 'b' }, { host: 'c' }, { host: 'd' }, {}],
        tls: [{}],
      },
      status: {
        loadBalancer: { ingress: [{ ip: '2.2.2.2' }, { ip: '1.1.1.1' }, { hostname: 'h' }, { ip: '2.2.2.2' }] },
      },
    },
    { Class: 'x', Hosts: 'a,b,c + 2 more...', Address: '1.1.1.1,2.2.2.2,h', Ports: '80, 443' },
  ],
  [
    'networking/v1/ingresses',
    { metadata: aged, spec: { rules: [{}] } },
    { Class: '<none>', Hosts: '*', Address: '', Ports: '80' },
  ],
  [
    'networking/v1/ingressclasses',
    { metadata: aged, spec: { controller: 'a.b/c', parameters: { apiGroup: 'g.h', kind: 'K', name: 'n' } } },
    { Controller: 'a.b/c', Parameters: 'K.g.h/n' },
  ],
  ['networking/v1/ingressclasses', { metadata: aged, spec: { controller: 'a.b/c' } }, { Parameters: '<none>' }],
  [
    'networking/v1/networkpolicies',
    { metadata: aged, spec: { podSelector: { matchLabels: { b: '2', a: '1' } } } },
    { 'Pod-Selector': 'a=1,b=2' },
  ],
  [
    'policy/v1/poddisruptionbudgets',
    { metadata: aged, spec: { maxUnavailable: '50%' }, status: { disruptionsAllowed: 2 } },
    { 'Min Available': 'N/A', 'Max Unavailable': '50%', 'Allowed Disruptions': 2 },
  ],
  [
    'rbac/v1/clusterrolebindings',
    {
      metadata: aged,
      roleRef: { kind: 'ClusterRole', name: 'r' },
      subjects: [
        { kind: 'User', name: 'u' },
        { kind: 'User', name: 'v' },
        { kind: 'ServiceAccount', name: 's', namespace: 'n' },
        { kind: 'ServiceAccount', name: 't' },
        { kind: 'Group', name: 'g' },
      ],
    },
    { Role: 'ClusterRole/r', Users: 'u, v', Groups: 'g', ServiceAccounts: 'n/s, t' },
  ],
  ['rbac/v1/roles', { metadata: aged }, { 'Created At': '2024-05-31T23:00:00Z' }],
  [
    'certificates/v1/certificatesigningrequests',
    { metadata: aged, spec: { username: 'u' }, status: { conditions: [{ type: 'Failed', status: 'True' }] } },
    { SignerName: '<none>', Requestor: 'u', Condition: 'Pending,Failed' },
  ],
  [
    'certificates/v1/certificatesigningrequests',
    {
      metadata: aged,
      spec: { signerName: 'a.b/c' },
      status: { certificate: 'QQ==', conditions: [{ type: 'Approved', status: 'True' }] },
    },
    { SignerName: 'a.b/c', Condition: 'Approved,Issued' },
  ],
  [
    'certificates/v1/certificatesigningrequests',
    {
      metadata: aged,
      spec: {},
      status: {
        conditions: [
          { type: 'Approved', status: 'True' },
          { type: 'Denied', status: 'True' },
        ],
      },
    },
    { Condition: 'Denied' },
  ],
  ['admissionregistration/v1/mutatingwebhookconfigurations', { metadata: aged, webhooks: [{}, {}] }, { Webhooks: 2 }],
  [
    'apiregistration/v1/apiservices',
    {
      metadata: aged,
      spec: { service: { name: 's', namespace: 'n' } },
      status: { conditions: [{ type: 'Available', status: 'False' }] },
    },
    { Service: 'n/s', Available: 'False' },
  ],
  [
    'apiregistration/v1/apiservices',
    { metadata: aged, spec: {}, status: { conditions: [{ type: 'Available', status: 'False', reason: 'Why' }] } },
    { Service: 'Local', Available: 'False (Why)' },
  ],
  [
    'flowcontrol/v1beta2/flowschemas',
    {
      metadata: aged,
      spec: {
        priorityLevelConfiguration: { name: 'p' },
        matchingPrecedence: 5,
        distinguisherMethod: { type: 'ByUser' },
      },
      status: { conditions: [{ type: 'Dangling', status: 'True' }] },
    },
    { PriorityLevel: 'p', MatchingPrecedence: '5', DistinguisherMethod: 'ByUser', MissingPL: 'True' },
  ],
  ['flowcontrol/v1beta2/flowschemas', { metadata: aged, spec: {} }, { DistinguisherMethod: '<none>', MissingPL: '?' }],
  [
    'flowcontrol/v1beta2/prioritylevelconfigurations',
    { metadata: aged, spec: { type: 'Exempt' } },
    {
      Type: 'Exempt',
      AssuredConcurrencyShares: '<none>',
      Queues: '<none>',
      HandSize: '<none>',
      QueueLengthLimit: '<none>',
    },
  ],
  [
    'apiserverinternal/v1alpha1/storageversions',
    {
      metadata: aged,
      status: {
        commonEncodingVersion: 'v1',
        storageVersions: ['a', 'b', 'c', 'd'].map((apiServerID) => ({ apiServerID, encodingVersion: 'v1' })),
      },
    },
    { CommonEncodingVersion: 'v1', StorageVersions: 'a=v1,b=v1,c=v1 + 1 more...' },
  ],
  ['coordination/v1/leases', { metadata: aged, spec: {} }, { Holder: '' }],
  [
    'scheduling/v1/priorityclasses',
    { metadata: aged, value: 5, globalDefault: true },
    { Value: 5, 'Global-Default': true },
  ],
  ['node/v1/runtimeclasses', { metadata: aged, handler: 'runc' }, { Handler: 'runc', Age: '60m' }],
];

t.test('cells', (t) => {
  const { resources } = schemeFor(orchDialect);
  for (const [key, object, expected] of rows) {
    const declaration = resources
      .map((info) => info.declaration)
      .find(({ group, version, resource }) => `${group}/${version}/${resource}` === key);
    if (declaration === undefined) {
      t.fail(`no resource ${key}`);
      continue;
    }
    const cells = strategyFor(declaration).cells?.(object as never, testContext) ?? [];
    const named = Object.fromEntries((declaration.columns ?? []).map(({ name }, i) => [name, cells[i]]));
    t.match(named, expected, `${key} ${JSON.stringify(expected)}`);
  }
  t.end();
});
