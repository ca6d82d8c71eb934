/** Empty members that are always written, for every kind that has some, and patches of them. */
import type { Case, Step } from '#test/integration/apiserver/recorded/step.js';

const namespace = 'unsaid';
const labels = { a: 'b' };
const name = 'one';
const template = {
  metadata: { labels },
  spec: {
    containers: [{ name: 'c', image: 'i' }],
    volumes: [
      { name: 'e', ephemeral: { volumeClaimTemplate: { spec: claimOf('1Gi') } } },
      { name: 'p', projected: {} },
    ],
  },
};
const selector = { matchLabels: labels };
const never = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
const target = { kind: 'Deployment', name };
const condition = (type: string) => ({ status: { conditions: [{ type, status: 'True' }] } });

function claimOf(storage: string) {
  return { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } };
}

/** `*` stands for the namespace. */
function inNamespace(path: string): string {
  return path.replace('*', `namespaces/${namespace}`);
}

/** Members of the answer to compare. */
const shown = ['kind', 'spec', 'status', 'template', 'data', 'rules', 'conditions', 'webhooks'];

function created(path: string, body: object, members: readonly string[] = shown): Step {
  const object = { metadata: { name }, ...body };
  return { method: 'POST', path: inNamespace(path), body: object, members };
}

/** Writes conditions and other status, as agents and controllers do. */
function reported(path: string, body: object): Step {
  return {
    method: 'PATCH',
    path: `${inNamespace(path)}/status`,
    contentType: 'application/merge-patch+json',
    body,
    members: ['status'],
  };
}

const apps = '/apis/apps/v1/*';
const batch = '/apis/batch/v1/*';
const core = '/api/v1/*';
const event = ['eventTime', 'firstTimestamp', 'lastTimestamp', 'deprecatedFirstTimestamp', 'deprecatedLastTimestamp'];
const involved = { kind: 'Pod', namespace, name };

const objects: readonly Step[] = [
  { method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: namespace } }, members: ['status'] },
  created(`${apps}/deployments`, { spec: { selector, template } }),
  created(`${apps}/daemonsets`, { spec: { selector, template } }),
  created(`${apps}/replicasets`, { spec: { selector, template } }),
  created(`${apps}/statefulsets`, {
    spec: {
      serviceName: 's',
      selector,
      template,
      volumeClaimTemplates: [{ metadata: { name: 'q' }, spec: claimOf('1Gi') }],
    },
  }),
  created(`${apps}/controllerrevisions`, {
    revision: 1,
    data: { z: null, spec: { template: { metadata: { creationTimestamp: null } } }, a: '<&>' },
  }),
  created(`${batch}/jobs`, {
    spec: { suspend: true, manualSelector: true, selector, template: { metadata: { labels }, ...never } },
  }),
  created(`${batch}/cronjobs`, { spec: { schedule: '@daily', jobTemplate: { spec: { template: never } } } }),
  created(`${core}/replicationcontrollers`, { spec: { selector: labels, template } }),
  created(`${core}/podtemplates`, { template }),
  created(`${core}/pods`, {
    spec: {
      ...template.spec,
      containers: [{ name: 'c', image: 'i', livenessProbe: { grpc: { port: 1 } } }],
    },
  }),
  created(`${core}/persistentvolumeclaims`, {
    spec: { ...claimOf('1Gi'), dataSource: { kind: 'PersistentVolumeClaim', name } },
  }),
  created(`${core}/limitranges`, { spec: {} }),
  created(`${core}/events`, { involvedObject: involved }, event),
  created(
    '/apis/events.k8s.io/v1/*/events',
    {
      metadata: { name: 'two' },
      regarding: involved,
      eventTime: '2024-05-01T10:00:00.000000Z',
      action: 'a',
      reason: 'r',
      type: 'Normal',
      reportingController: 'c.example.com/d',
      reportingInstance: 'i',
    },
    event,
  ),
  {
    method: 'GET',
    path: `/apis/events.k8s.io/v1/namespaces/${namespace}/events/one`,
    members: event,
  },
  { method: 'GET', path: `/api/v1/namespaces/${namespace}/events/two`, members: event },
  created('/apis/rbac.authorization.k8s.io/v1/*/roles', {}),
  created('/apis/discovery.k8s.io/v1/*/endpointslices', { addressType: 'IPv4' }, ['endpoints', 'ports']),
  created('/apis/storage.k8s.io/v1/csinodes', { metadata: { name: 'unsaid' }, spec: {} }),
  created('/apis/autoscaling/v1/*/horizontalpodautoscalers', { spec: { maxReplicas: 2, scaleTargetRef: target } }),
  ...['v2', 'v2beta2', 'v2beta1'].map((version): Step => {
    const path = `/apis/autoscaling/${version}/namespaces/${namespace}/horizontalpodautoscalers/${name}`;
    return { method: 'GET', path, members: ['status'] };
  }),
  created('/apis/policy/v1/*/poddisruptionbudgets', { spec: {} }),
  created('/apis/coordination.k8s.io/v1/*/leases', { spec: {} }),
  { method: 'GET', path: '/api/v1/componentstatuses/scheduler', members: ['metadata'] },
];

const statuses: readonly Step[] = [
  reported(`${core}/pods/${name}`, {
    status: {
      ...condition('Ready').status,
      containerStatuses: [
        {
          name: 'c',
          image: 'i',
          imageID: '',
          ready: true,
          restartCount: 0,
          state: { running: {} },
          lastState: { terminated: { exitCode: 1 } },
        },
      ],
    },
  }),
  ...['deployments', 'daemonsets', 'replicasets', 'statefulsets'].map((resource) =>
    reported(`${apps}/${resource}/${name}`, {
      status: { replicas: 0, currentNumberScheduled: 0, numberMisscheduled: 0, ...condition('Odd').status },
    }),
  ),
  reported(`${batch}/jobs/${name}`, condition('Odd')),
  reported(`${core}/replicationcontrollers/${name}`, condition('Odd')),
  reported(`${core}/persistentvolumeclaims/${name}`, condition('Resizing')),
  reported(`/apis/autoscaling/v2/*/horizontalpodautoscalers/${name}`, condition('Odd')),
];

const deployment = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`;
const created2020 = '2020-01-01T00:00:00Z';
const time = '/spec/template/metadata/creationTimestamp';

function patched(media: string, body: unknown, query = ''): Step {
  const contentType = `application/${media}+json`;
  return { method: 'PATCH', path: `${deployment}${query}`, contentType, body, members: ['spec', 'message'] };
}

const patches: readonly Step[] = [
  patched('json-patch', [{ op: 'test', path: time, value: null }], '?dryRun=All'),
  patched('json-patch', [{ op: 'test', path: time, value: created2020 }]),
  patched('json-patch', [{ op: 'replace', path: time, value: created2020 }]),
  patched('json-patch', [{ op: 'remove', path: time }]),
  patched('json-patch', [{ op: 'remove', path: time }]),
  patched('json-patch', [{ op: 'copy', from: time, path: '/metadata/labels' }]),
  patched('merge-patch', { spec: { template: { metadata: { creationTimestamp: null } } } }),
  patched('strategic-merge-patch', { spec: { template: { metadata: { creationTimestamp: created2020 } } } }),
  patched('strategic-merge-patch', { spec: { template: { metadata: { creationTimestamp: null } } } }),
];

const as = (kind: string) => `application/json;as=${kind};v=v1;g=meta.k8s.io`;
const reads: readonly Step[] = [
  { method: 'GET', path: `/apis/apps/v1/namespaces/${namespace}/statefulsets/${name}`, members: ['spec', 'status'] },
  {
    method: 'GET',
    path: `${deployment}?includeObject=Object`,
    accept: as('Table'),
    parts: [['rows', '0', 'object', 'spec']],
  },
  { method: 'GET', path: deployment, accept: as('PartialObjectMetadata'), parts: [['metadata', 'labels'], ['kind']] },
  { method: 'DELETE', path: `/api/v1/namespaces/${namespace}/podtemplates/${name}`, members: ['template'] },
];

export const nulls: Case = { name: 'nulls', steps: [...objects, ...statuses, ...patches, ...reads] };
