/** Updates share parts of cached objects, which no write may modify. */
import t from 'tap';
import { frozenDecoder } from '#test/integration/apiserver/frozen.js';
import { call, startServer } from '#test/integration/apiserver/server.js';

t.test('cached objects and their shared parts are frozen', async (t) => {
  const decode = frozenDecoder();
  const pod = decode(
    Buffer.from('{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","args":["y","x"]}]}}'),
  ) as {
    metadata: { name: string };
    spec: { containers: { args: string[]; image?: string }[] };
  };
  t.throws(() => {
    pod.metadata.name = 'b';
  }, TypeError);
  t.throws(() => pod.spec.containers.push({ args: [] }), TypeError);
  t.throws(() => pod.spec.containers[0]?.args.sort(), TypeError);
  t.throws(() => Object.assign(pod.spec.containers[0] ?? {}, { image: 'i' }), TypeError);
});

const template = {
  metadata: { labels: { app: 'a' } },
  spec: {
    containers: [
      {
        name: 'a',
        image: 'a',
        ports: [{ containerPort: 80 }],
        env: [{ name: 'N', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
        resources: { limits: { cpu: '1' } },
        livenessProbe: { httpGet: { port: 80 } },
      },
    ],
    volumes: [{ name: 'v', configMap: { name: 'c' } }],
  },
};
const selector = { matchLabels: { app: 'a' } };

/** Resources whose updates cover most code that modifies objects in place. */
const rows: [path: string, name: string, body: object, status?: object][] = [
  [
    '/api/v1/namespaces/default/pods',
    'a',
    template,
    { podIP: '10.0.0.1', conditions: [{ type: 'Ready', status: 'True' }] },
  ],
  [
    '/api/v1/namespaces/default/services',
    'a',
    {
      spec: {
        type: 'NodePort',
        ports: [
          { name: 'a', port: 80 },
          { name: 'b', port: 81 },
        ],
        selector: { app: 'a' },
      },
    },
    { loadBalancer: { ingress: [{ ip: '10.0.0.1' }] } },
  ],
  ['/api/v1/nodes', 'a', { spec: { podCIDR: '10.1.0.0/24' } }, { capacity: { cpu: '2000m' } }],
  [
    '/api/v1/namespaces/default/persistentvolumeclaims',
    'a',
    { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1024Mi' } } } },
    { phase: 'Pending' },
  ],
  ['/api/v1/namespaces/default/serviceaccounts', 'a', { secrets: [{ name: 's' }] }],
  ['/api/v1/namespaces/default/configmaps', 'a', { data: { a: '1' } }],
  ['/apis/apps/v1/namespaces/default/deployments', 'a', { spec: { selector, template } }, { replicas: 1 }],
  ['/apis/apps/v1/namespaces/default/daemonsets', 'a', { spec: { selector, template } }, { currentNumberScheduled: 1 }],
  [
    '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
    'a',
    { addressType: 'IPv4', endpoints: [{ addresses: ['10.0.0.1'], conditions: {} }], ports: [{ port: 80 }] },
  ],
  [
    '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers',
    'a',
    { spec: { maxReplicas: 2, scaleTargetRef: { kind: 'Deployment', name: 'a' } } },
    { currentReplicas: 1 },
  ],
];

t.test('no write modifies the previous object', async (t) => {
  const server = await startServer(t);
  await call(server, 'POST', '/api/v1/namespaces/default/serviceaccounts', {
    body: { metadata: { name: 'default' }, automountServiceAccountToken: false },
  });
  for (const [collection, name, body, status] of rows) {
    const path = `${collection}/${name}`;
    const ok = async (method: string, url: string, sent: unknown, type = 'application/json'): Promise<void> => {
      const answer = await call(server, method, url, { body: sent, headers: { 'content-type': type } });
      t.ok(answer.status < 300, `${method} ${url} ${type}: ${answer.text}`);
    };
    const stored = async () => (await call(server, 'GET', path)).json as { metadata: object };
    await ok('POST', collection, { ...body, metadata: { name } });
    for (const round of ['1', '2', '2']) {
      const metadata = { annotations: { round }, labels: { 'example.com/round': round } };
      for (const type of ['merge-patch', 'strategic-merge-patch']) {
        await ok('PATCH', path, { metadata: { annotations: { [type]: round } } }, `application/${type}+json`);
        if (status !== undefined) await ok('PATCH', `${path}/status`, { metadata, status }, `application/${type}+json`);
      }
      const operations = [{ op: 'add', path: '/metadata/annotations/json', value: round }];
      await ok('PATCH', path, operations, 'application/json-patch+json');
      await ok('PATCH', path, [], 'application/json-patch+json');
      const { apiVersion, kind } = (await stored()) as { apiVersion?: string; kind?: string };
      const applied = JSON.stringify({ apiVersion, kind, metadata: { name, annotations: { applied: round } } });
      await ok('PATCH', `${path}?fieldManager=a&force=true`, applied, 'application/apply-patch+yaml');
      const now = await stored();
      await ok('PUT', path, { ...now, metadata: { ...now.metadata, annotations: { put: round } } });
      if (status !== undefined) await ok('PUT', `${path}/status`, { ...(await stored()), status: { ...status } });
    }
    const before = (await call(server, 'GET', path)).text;
    await ok('PATCH', path, {}, 'application/merge-patch+json');
    t.equal((await call(server, 'GET', path)).text, before, `${path}: an empty patch writes nothing`);
  }
});
