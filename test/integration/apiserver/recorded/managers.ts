/** Field managers after writes of managedFields, and fields that endpoints reset. */
import { managedKinds } from '#test/integration/apiserver/recorded/managed-kinds.js';
import { applied, type Case, merged, type Step } from '#test/integration/apiserver/recorded/step.js';

const configmaps = '/api/v1/namespaces/default/configmaps';
const one = `${configmaps}/managed`;

function configMap(data: object, metadata: object = {}, name = 'managed'): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, data };
}

function put(path: string, manager: string, body: object): Step {
  return { method: 'PUT', path: `${path}?fieldManager=${manager}`, body };
}

const x = { 'f:data': { 'f:x': {} } };
const y = { 'f:data': { 'f:y': {} } };

/** An entry of a manager. */
function entry(members: object): object {
  return { manager: 'x', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: x, ...members };
}

function putManaged(...managedFields: readonly object[]): Step {
  return put(one, 'f', configMap({ x: '1', y: '1' }, { managedFields }));
}

interface Reset {
  readonly path: string;
  readonly object: { readonly apiVersion: string; readonly kind: string; readonly metadata: { readonly name: string } };
  readonly spec: object;
  readonly status: object;
}

const resets: readonly Reset[] = [
  {
    path: '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
    object: { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'r' } },
    spec: { maxUnavailable: 1 },
    status: { currentHealthy: 1, desiredHealthy: 1, disruptionsAllowed: 0, expectedPods: 0 },
  },
  {
    path: '/apis/storage.k8s.io/v1/volumeattachments',
    object: { apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttachment', metadata: { name: 'r' } },
    spec: { attacher: 'a', nodeName: 'n', source: { persistentVolumeName: 'p' } },
    status: { attached: true },
  },
  {
    path: '/api/v1/namespaces/default/resourcequotas',
    object: { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'r' } },
    spec: { hard: { pods: '1' } },
    status: { hard: { pods: '1' } },
  },
];

/** Both parts through both endpoints. */
function resetSteps({ path, object, spec, status }: Reset): readonly Step[] {
  const url = `${path}/${object.metadata.name}`;
  const body = { ...object, metadata: { ...object.metadata, labels: { l: '1' } }, spec, status };
  return [
    { method: 'POST', path: `${path}?fieldManager=a`, body },
    applied(`${url}/status`, 's', body, true),
    applied(url, 'o', body, true),
    put(`${url}/status`, 'p', { ...body, metadata: { ...object.metadata, labels: { l: '2' } } }),
  ];
}

export const managers: Case = {
  name: 'managers',
  steps: [
    { method: 'POST', path: `${configmaps}?fieldManager=a`, body: configMap({ x: '1' }) },
    // Removed, and no longer tracked.
    put(one, 'b', configMap({ x: '1', y: '2' }, { managedFields: [] })),
    put(one, 'c', configMap({ x: '1', y: '3' })),
    merged(one, 'c', { data: { y: '4' } }),
    applied(one, 'd', configMap({ y: '5' })),
    applied(one, 'd', configMap({ y: '5' }), true),
    merged(one, 'e', { metadata: { managedFields: [{}] }, data: { z: '1' } }),
    merged(one, 'e', { metadata: { managedFields: null }, data: { z: '2' } }),
    {
      method: 'POST',
      path: `${configmaps}?fieldManager=a`,
      body: configMap({ x: '1' }, { managedFields: [] }, 'other'),
    },
    // Several entries of one manager.
    putManaged(entry({})),
    putManaged(
      entry({}),
      entry({ fieldsV1: y }),
      entry({ time: '2020-01-01T00:00:00Z', fieldsV1: { 'f:data': { 'f:z': {} } } }),
    ),
    putManaged(entry({ operation: 'Apply' }), entry({ operation: 'Apply', fieldsV1: y }), entry({ subresource: 's' })),
    // Invalid entries.
    ...[
      { operation: 'X' },
      { operation: '' },
      { apiVersion: '' },
      { fieldsType: '' },
      { fieldsType: 'X' },
      { fieldsV1: { x: {} } },
      { fieldsV1: {} },
    ].map((members) => putManaged(entry(members))),
    ...resets.flatMap(resetSteps),
    ...managedKinds,
  ],
};
