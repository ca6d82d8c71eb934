/** Specification 1, 4.7: every write can be tried without effect. */
import t from 'tap';
import { covers } from '#test/integration/apiserver/spec/rules.js';
import {
  applyPatch,
  configMap,
  configMaps,
  jsonPatch,
  mergePatch,
  type Response,
  startSpec,
  strategicPatch,
  withEtcd,
} from '#test/integration/apiserver/spec/spec-server.js';

const namespace = '/api/v1/namespaces/dry';
const path = configMaps('dry');
const deployments = '/apis/apps/v1/namespaces/dry/deployments';
const pods = `${namespace}/pods`;
const labels = { app: 'd' };
const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd' },
  spec: { replicas: 1, selector: { matchLabels: labels }, template },
};
const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: template.spec };

t.test('dry run', withEtcd, async (t) => {
  const seen: { operation: string; dryRun: boolean }[] = [];
  const claimed = new Set<string>();
  const { client } = await startSpec(t, {
    dependencies: {
      admission: [
        {
          name: 'Marker',
          handles: ({ resource }) => resource.resource === 'configmaps',
          admit: async ({ operation, dryRun, object }) => {
            seen.push({ operation, dryRun });
            if (object !== undefined) object.metadata.annotations = { ...object.metadata.annotations, admitted: 'yes' };
          },
        },
        {
          name: 'Outside',
          sideEffects: true,
          handles: ({ resource, namespace: where }) => resource.resource === 'configmaps' && where === 'outside',
          validate: async () => undefined,
        },
      ],
      hooks: [
        {
          resources: [{ group: 'core', resource: 'configmaps' }],
          beforeCreate: async ({ metadata }) => {
            claimed.add(metadata.name ?? '');
            return async () => void claimed.delete(metadata.name ?? '');
          },
        },
      ],
    },
  });

  await covers(t, ['1 dry run', '4.7.1', '4.7.2'], 'every write responds as if it had been executed', async (t) => {
    const kept = await client.make(path, configMap('kept', { x: '1' }));
    await client.make(deployments, deployment);
    await client.make(pods, pod);
    const watch = await client.watch(t, `${path}?watch=1&resourceVersion=${kept.metadata.resourceVersion}`);
    const snapshot = async () => {
      const lists = await Promise.all([path, deployments, pods].map((url) => client.get(url)));
      return lists.map(({ json }) => json.items);
    };
    const before = await snapshot();
    const evicting = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } };
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } };
    const scale = (await client.get(`${deployments}/d/scale`)).json;
    const status = { ...before[1][0], status: { replicas: 4 } };
    const q = '?dryRun=All';
    const rows: [string, () => Promise<Response>, number, object][] = [
      ['create', () => client.post(path + q, configMap('new')), 201, { metadata: { name: 'new' } }],
      ['update', () => client.put(`${path}/kept${q}`, configMap('kept', { x: '2' })), 200, { data: { x: '2' } }],
      [
        'merge patch',
        () => client.patch(`${path}/kept${q}`, mergePatch, { data: { y: '1' } }),
        200,
        { data: { y: '1' } },
      ],
      [
        'JSON patch',
        () => client.patch(`${path}/kept${q}`, jsonPatch, [{ op: 'remove', path: '/data/x' }]),
        200,
        { kind: 'ConfigMap' },
      ],
      [
        'strategic patch',
        () => client.patch(`${deployments}/d${q}`, strategicPatch, { spec: { replicas: 3 } }),
        200,
        { spec: { replicas: 3 } },
      ],
      [
        'apply',
        () => client.patch(`${path}/kept${q}&fieldManager=m&force=true`, applyPatch, configMap('kept', { x: '9' })),
        200,
        { data: { x: '9' } },
      ],
      [
        'apply of a new object',
        () => client.patch(`${path}/applied${q}&fieldManager=m`, applyPatch, configMap('applied')),
        201,
        { metadata: { name: 'applied' } },
      ],
      ['status', () => client.put(`${deployments}/d/status${q}`, status), 200, { status: { replicas: 4 } }],
      [
        'scale',
        () => client.put(`${deployments}/d/scale${q}`, { ...scale, spec: { replicas: 5 } }),
        200,
        { spec: { replicas: 5 } },
      ],
      ['binding', () => client.post(`${pods}/p/binding${q}`, binding), 201, { status: 'Success' }],
      ['eviction', () => client.post(`${pods}/p/eviction${q}`, evicting), 201, { status: 'Success' }],
      ['delete', () => client.delete(`${path}/kept${q}`), 200, { status: 'Success', details: { name: 'kept' } }],
      [
        'delete, requested in the body',
        () => client.delete(`${path}/kept`, { kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['All'] }),
        200,
        { status: 'Success' },
      ],
      ['deletecollection', () => client.delete(path + q), 200, { kind: 'ConfigMapList', items: [{}] }],
    ];
    for (const [name, run, code, answer] of rows) {
      const { status: got, json, text } = await run();
      t.equal(got, code, `${name}: ${text}`);
      t.match(json, answer, name);
      t.same(await snapshot(), before, `${name} has changed nothing`);
    }
    t.same([...claimed], ['kept'], 'nothing stays claimed');
    await client.patch(`${path}/kept`, mergePatch, { data: { end: '1' } });
    const events = await watch.until(1);
    t.equal(events[0]?.object.data.end, '1', 'and no watch has seen anything');
    watch.close();
  });

  await covers(t, ['4.7.1'], 'every stage runs, and may refuse the request', async (t) => {
    const q = '?dryRun=All';
    const created = await client.post(path + q, configMap('stages'));
    t.equal(created.json.metadata.annotations.admitted, 'yes', 'admission');
    t.ok(seen.some(({ operation, dryRun }) => operation === 'CREATE' && dryRun));
    t.ok(seen.some(({ operation, dryRun }) => operation === 'DELETE' && dryRun));
    const defaulted = await client.post(`${pods}${q}`, { ...pod, metadata: { name: 'other' } });
    t.equal(defaulted.json.spec.restartPolicy, 'Always', 'defaults');
    t.equal((await client.post(path + q, configMap('Bad_Name'))).json.code, 422, 'validation');
    t.equal((await client.post(path + q, configMap('kept'))).json.reason, 'AlreadyExists');
    t.equal((await client.put(`${path}/none${q}`, configMap('none'))).status, 404);
    t.equal((await client.delete(`${path}/none${q}`)).status, 404);
    const stale = configMap('kept', {}, { resourceVersion: '1' });
    t.equal((await client.put(`${path}/kept${q}`, stale)).json.reason, 'Conflict');
  });

  await covers(t, ['4.7.1'], 'without a value the request is executed; other values are refused', async (t) => {
    const real = await client.post(`${path}?dryRun&pretty=true`, configMap('real'));
    t.equal(real.status, 201);
    t.match(real.text, /^\{\n {2}"kind"/);
    t.equal((await client.get(`${path}/real`)).status, 200);
    const group = 'meta.k8s.io';
    const rows: [string, () => Promise<Response>][] = [
      ['CreateOptions', () => client.post(`${path}?dryRun=Some`, configMap('x'))],
      ['UpdateOptions', () => client.put(`${path}/real?dryRun=Some`, configMap('real'))],
      ['PatchOptions', () => client.patch(`${path}/real?dryRun=Some`, mergePatch, {})],
      ['DeleteOptions', () => client.delete(`${path}/real?dryRun=Some`)],
      ['DeleteOptions', () => client.delete(`${path}?dryRun=Some`)],
    ];
    for (const [kind, run] of rows) {
      const message = 'Unsupported value: []string{"Some"}: supported values: "All"';
      t.same((await run()).json, {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: `${kind}.${group} "" is invalid: dryRun: ${message}`,
        reason: 'Invalid',
        details: { group, kind, causes: [{ reason: 'FieldValueNotSupported', message, field: 'dryRun' }] },
        code: 422,
      });
    }
  });

  await covers(t, ['4.7.3', '7 side effects'], 'admission with side effects cannot be tried', async (t) => {
    const url = configMaps('outside');
    const refused = await client.post(`${url}?dryRun=All`, configMap('x'));
    t.same(refused.json, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'admission plugin "Outside" does not support dry run',
      reason: 'BadRequest',
      code: 400,
    });
    t.equal((await client.post(url, configMap('x'))).status, 201, 'the real request may');
    t.equal((await client.delete(`${url}/x?dryRun=All`)).status, 400);
  });

  await covers(t, ['4.7.4'], 'generated values', async (t) => {
    const body = { kind: 'ConfigMap', metadata: { generateName: 'g-' } };
    const tried = (await client.post(`${path}?dryRun=All`, body)).json.metadata;
    t.match(tried, { name: /^g-.{5}$/, uid: /./, creationTimestamp: /Z$/ });
    t.equal(tried.resourceVersion, undefined, 'an object that is not stored has no version');
    const real = (await client.post(path, body)).json.metadata;
    t.not(real.name, tried.name);
    t.not(real.uid, tried.uid);
  });
});
