import t from 'tap';
import { persistentvolumes, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { volumeattachments } from '#api/storage/v1/resources.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { NodeAuthorizer } from '#apiserver/authorization/node/node-authorizer.js';
import { NodeGraph } from '#apiserver/authorization/node/node-graph.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';

const pod = (name: string, more: Partial<Pod> = {}): Pod => ({
  metadata: { name, namespace: 'ns', uid: `${name}-uid` },
  spec: {
    nodeName: 'n1',
    serviceAccountName: 'sa',
    imagePullSecrets: [{ name: 'pull' }],
    containers: [
      {
        name: 'c',
        env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'env-secret', key: 'k' } } }],
        envFrom: [{ configMapRef: { name: 'env-map' } }],
      },
    ],
    volumes: [
      { name: 'v1', secret: { secretName: 'vol-secret' } },
      { name: 'v2', persistentVolumeClaim: { claimName: 'claim' } },
      { name: 'v3', projected: { sources: [{ configMap: { name: 'projected-map' } }] } },
      { name: 'scratch', ephemeral: {} },
    ],
  },
  ...more,
});

t.test('a node may read the objects that its pods need', async (t) => {
  const reader = new MemoryObjectReader();
  const stop = new AbortController();
  const graph = new NodeGraph(dialect);
  await graph.start(reader, stop.signal);
  const rules = [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods', 'services'] }];
  const authorizer = new NodeAuthorizer({ dialect, graph, rules });
  const ask = async (text: string, name = 'system:node:n1') => {
    const [verb = '', what = '', where = ''] = text.split(' ');
    const [group = '', resource = '', subresource = ''] = what.split('/');
    const [namespace = '', object = ''] = where.includes('/') ? where.split('/') : ['', where];
    const answer = await authorizer.authorize({
      user: { name, groups: ['system:nodes'] },
      verb,
      resourceRequest: true,
      group: group === 'core' ? '' : `${group}.orch.io`,
      version: 'v1',
      resource,
      subresource,
      namespace,
      name: object,
      path: '',
    });
    return answer.decision === 'allow' ? 'allow' : answer.reason;
  };
  const unrelated = `no relationship found between node 'n1' and this object`;
  t.equal(await ask('get core/secrets ns/pull'), unrelated);
  reader.put(pods, pod('a'), pod('b'));
  reader.put(persistentvolumes, {
    metadata: { name: 'pv' },
    spec: {
      claimRef: { namespace: 'ns', name: 'claim' },
      csi: {
        driver: 'd',
        volumeHandle: 'h',
        nodePublishSecretRef: { name: 'pv-secret', namespace: 'storage' },
        nodeStageSecretRef: { name: 'stage-secret', namespace: 'storage' },
        controllerExpandSecretRef: { name: 'expand-secret', namespace: 'storage' },
        controllerPublishSecretRef: { name: 'attach-secret', namespace: 'storage' },
      },
    },
  });
  reader.put(volumeattachments, {
    metadata: { name: 'att' },
    spec: { attacher: 'd', nodeName: 'n1', source: {} },
  });
  for (const request of [
    'get core/secrets ns/pull',
    'watch core/secrets ns/env-secret',
    'list core/secrets ns/vol-secret',
    'get core/secrets storage/pv-secret',
    'get core/secrets storage/stage-secret',
    'get core/configmaps ns/env-map',
    'get core/configmaps ns/projected-map',
    'get core/persistentvolumeclaims ns/claim',
    'get core/persistentvolumeclaims ns/a-scratch',
    'patch core/persistentvolumeclaims/status ns/claim',
    'get core/persistentvolumes pv',
    'get storage/volumeattachments att',
    'create core/serviceaccounts/token ns/sa',
    'get coordination/leases orch-node-lease/n1',
    'create coordination/leases orch-node-lease/',
    'update storage/csinodes n1',
    'list core/pods',
  ])
    t.equal(await ask(request), 'allow', request);
  for (const [request, reason] of [
    ['get core/secrets ns/other', unrelated],
    ['get core/secrets storage/expand-secret', unrelated],
    ['get core/secrets storage/attach-secret', unrelated],
    ['list core/persistentvolumeclaims ns/claim', 'can only get individual resources of this type'],
    ['update core/persistentvolumeclaims ns/claim', 'can only get individual resources of this type'],
    ['get core/persistentvolumeclaims/status ns/claim', 'can only get/update/patch this type'],
    ['create core/serviceaccounts/token ns/', 'can only create tokens for individual service accounts'],
    ['create core/serviceaccounts ns/sa', 'can only create token subresource of serviceaccount'],
    ['list core/secrets ns/', 'No Object name found'],
    ['list core/secrets', 'can only read namespaced object of this type'],
    ['update core/secrets ns/pull', 'can only read resources of this type'],
    ['get core/serviceaccounts ns/sa', 'can only create tokens for individual service accounts'],
    ['create core/serviceaccounts/token ns/other', unrelated],
    [
      'get coordination/leases orch-node-lease/n2',
      'can only access node lease with the same name as the requesting node',
    ],
    ['get coordination/leases orch-system/n1', 'can only access leases in the "orch-node-lease" system namespace'],
    ['list storage/csinodes ', 'can only get, create, update, patch, or delete a CSINode'],
    ['delete core/pods ns/a', ''],
  ] as const)
    t.equal(await ask(request), reason, request);
  t.equal(await ask('list core/pods', 'system:node:'), 'unknown node for user "system:node:"');
  t.equal(await ask('get core/secrets ns/pull', 'system:node:n2'), unrelated.replace('n1', 'n2'));
  reader.remove(pods, 'ns', 'a');
  t.equal(await ask('get core/secrets ns/pull'), 'allow', 'the other pod still needs it');
  reader.put(pods, pod('b', { metadata: { name: 'b', namespace: 'ns', uid: 'new' }, spec: { containers: [] } }));
  t.equal(await ask('get core/secrets ns/pull'), unrelated);
  const annotations = { [dialect.annotations.configMirror]: 'x' };
  reader.put(pods, pod('m', { metadata: { name: 'm', namespace: 'ns', uid: 'm', annotations } }));
  t.equal(await ask('get core/secrets ns/pull'), unrelated, 'mirror pods give no access');
  stop.abort();
});
