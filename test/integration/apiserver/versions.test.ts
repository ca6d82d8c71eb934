/** Several versions of one kind are views of the same objects. */
import { Registry } from 'prom-client';
import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { kubernetesDialect as dialect, orchDialect } from '#apimachinery/dialect.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { everyCase, gateFor } from '#test/integration/apiserver/resources/every-case.js';
import type { AnyCase } from '#test/integration/apiserver/resources/resource-case.js';
import { Watching } from '#test/integration/apiserver/resources/watching.js';
import { call, startServer } from '#test/integration/apiserver/server.js';

const codec = new ObjectCodec(schemeFor(dialect));

/** A collection in the default namespace. */
const at = (apiVersion: string, resource: string) => `/apis/${apiVersion}/namespaces/default/${resource}`;
const scalers = (version: string) => at(`autoscaling/${version}`, 'horizontalpodautoscalers');
const budgets = (version: string) => at(`policy/${version}`, 'poddisruptionbudgets');

async function create(server: ApiServer, path: string, body: object) {
  const answer = await call(server, 'POST', path, { body });
  t.equal(answer.status, 201, answer.status === 201 ? path : answer.text);
  return answer.json;
}

async function got(server: ApiServer, path: string) {
  const answer = await call(server, 'GET', path);
  t.equal(answer.status, 200, answer.status === 200 ? path : answer.text);
  return answer.json;
}

t.test('clients are warned in the words of 1.24', async (t) => {
  const metrics = new Registry();
  const server = await startServer(t, { dialect, dependencies: { metrics } });
  const rows: [string, string | undefined][] = [
    [
      scalers('v2beta1'),
      'autoscaling/v2beta1 HorizontalPodAutoscaler is deprecated in v1.22+, unavailable in v1.25+; use autoscaling/v2 HorizontalPodAutoscaler',
    ],
    [
      scalers('v2beta2'),
      'autoscaling/v2beta2 HorizontalPodAutoscaler is deprecated in v1.23+, unavailable in v1.26+; use autoscaling/v2 HorizontalPodAutoscaler',
    ],
    [scalers('v1'), undefined],
    [scalers('v2'), undefined],
    [
      at('batch/v1beta1', 'cronjobs'),
      'batch/v1beta1 CronJob is deprecated in v1.21+, unavailable in v1.25+; use batch/v1 CronJob',
    ],
    [
      at('discovery.k8s.io/v1beta1', 'endpointslices'),
      'discovery.k8s.io/v1beta1 EndpointSlice is deprecated in v1.21+, unavailable in v1.25+; use discovery.k8s.io/v1 EndpointSlice',
    ],
    [
      at('events.k8s.io/v1beta1', 'events'),
      'events.k8s.io/v1beta1 Event is deprecated in v1.22+, unavailable in v1.25+',
    ],
    [
      '/apis/flowcontrol.apiserver.k8s.io/v1beta1/flowschemas',
      'flowcontrol.apiserver.k8s.io/v1beta1 FlowSchema is deprecated in v1.23+, unavailable in v1.26+; use flowcontrol.apiserver.k8s.io/v1beta2 FlowSchema',
    ],
    ['/apis/flowcontrol.apiserver.k8s.io/v1beta2/flowschemas', undefined],
    [
      '/apis/node.k8s.io/v1beta1/runtimeclasses',
      'node.k8s.io/v1beta1 RuntimeClass is deprecated in v1.22+, unavailable in v1.25+',
    ],
    [
      budgets('v1beta1'),
      'policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in v1.25+; use policy/v1 PodDisruptionBudget',
    ],
    [
      '/apis/policy/v1beta1/podsecuritypolicies',
      'policy/v1beta1 PodSecurityPolicy is deprecated in v1.21+, unavailable in v1.25+',
    ],
    [
      at('storage.k8s.io/v1beta1', 'csistoragecapacities'),
      'storage.k8s.io/v1beta1 CSIStorageCapacity is deprecated in v1.24+, unavailable in v1.27+; use storage.k8s.io/v1 CSIStorageCapacity',
    ],
    ['/api/v1/componentstatuses', 'v1 ComponentStatus is deprecated in v1.19+'],
  ];
  for (const [path, text] of rows) {
    const { headers } = await call(server, 'GET', path);
    t.equal(headers['warning'], text === undefined ? undefined : `299 - "${text}"`, path);
  }
  await create(server, budgets('v1'), { metadata: { name: 'b' }, spec: { minAvailable: 1 } });
  const status = await call(server, 'GET', `${budgets('v1beta1')}/b/status`);
  t.match(status.headers['warning'], /PodDisruptionBudget is deprecated/, 'also of its status');
  const { values = [] } = (await metrics.getSingleMetric('apiserver_requested_deprecated_apis')?.get()) ?? {};
  const series = values.map(({ labels }) => Object.values(labels).join(' '));
  t.ok(series.includes('policy v1beta1 poddisruptionbudgets status 1.25'), 'the metric counts deprecated requests');
  t.ok(series.includes(' v1 componentstatuses  '), 'even without a known removal');
  t.notOk(series.some((labels) => labels.includes('autoscaling v2 ')));
});

t.test('four versions of one object see each other’s writes', async (t) => {
  const server = await startServer(t, { dialect });
  const open = (version: string) =>
    Watching.open(server, `${scalers(version)}?watch=true`, { accept: 'application/json', codec });
  const versions = ['v1', 'v2', 'v2beta1', 'v2beta2'];
  const watches = await Promise.all(versions.map(open));
  const spec = {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
    maxReplicas: 5,
    metrics: [
      { type: 'Pods', pods: { metricName: 'packets', targetAverageValue: '1k' } },
      // Moved to the end from any position, since version 1 has a field for it.
      { type: 'Resource', resource: { name: 'cpu', targetAverageUtilization: 70 } },
    ],
  };
  const created = await create(server, scalers('v2beta1'), { metadata: { name: 'h' }, spec });
  t.match(created, { apiVersion: 'autoscaling/v2beta1', spec: { metrics: spec.metrics } });
  const behavior = { scaleDown: { stabilizationWindowSeconds: 60 } };
  const headers = { 'content-type': 'application/merge-patch+json' };
  const patched = await call(server, 'PATCH', `${scalers('v2')}/h`, { headers, body: { spec: { behavior } } });
  t.match(patched.json, {
    spec: {
      metrics: [
        { pods: { metric: { name: 'packets' }, target: { type: 'AverageValue', averageValue: '1k' } } },
        { resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } } },
      ],
      behavior,
    },
  });
  const old = await got(server, `${scalers('v2beta1')}/h`);
  t.match(old, {
    spec: { metrics: spec.metrics },
    metadata: { annotations: { 'autoscaling.alpha.kubernetes.io/behavior': /"StabilizationWindowSeconds":60/ } },
  });
  // A client of the old version that writes an object back unchanged.
  const put = await call(server, 'PUT', `${scalers('v2beta1')}/h`, {
    body: { ...old, spec: { ...old.spec, maxReplicas: 7 } },
  });
  t.equal(put.status, 200, put.text);
  const now = await got(server, `${scalers('v2')}/h`);
  t.match(now, { spec: { maxReplicas: 7, behavior: patched.json.spec.behavior } });
  t.notOk(now.metadata.annotations, 'the annotation is of the old version only');
  t.match(await got(server, `${scalers('v1')}/h`), {
    spec: { maxReplicas: 7, targetCPUUtilizationPercentage: 70 },
    metadata: { annotations: { 'autoscaling.alpha.kubernetes.io/metrics': /"metricName":"packets"/ } },
  });
  await call(server, 'DELETE', `${scalers('v2beta2')}/h`);
  for (const [i, watching] of watches.entries()) {
    const events = await watching.until('DELETED');
    t.match(events, [{ type: 'ADDED' }, { type: 'MODIFIED' }, { type: 'MODIFIED' }, { type: 'DELETED' }]);
    t.ok(
      events.every(({ object }) => Reflect.get(object, 'apiVersion') === `autoscaling/${versions[i]}`),
      `a watch of ${versions[i]} sees that version`,
    );
    await watching.close();
  }
});

t.test('partial metadata are the same in all versions', async (t) => {
  const server = await startServer(t, { dialect });
  const scaleTargetRef = { kind: 'Deployment', name: 'd' };
  const behavior = { scaleUp: { stabilizationWindowSeconds: 5 } };
  await create(server, scalers('v2'), { metadata: { name: 'h' }, spec: { scaleTargetRef, maxReplicas: 2, behavior } });
  for (const version of ['v1', 'v1beta1']) {
    const accept = `application/json;as=PartialObjectMetadata;v=${version};g=meta.k8s.io`;
    const named = async (served: string) =>
      (await call(server, 'GET', `${scalers(served)}/h`, { headers: { accept } })).json;
    const apiVersion = `meta.k8s.io/${version}`;
    for (const served of ['v1', 'v2']) {
      const object = await named(served);
      t.match(object, { apiVersion, metadata: { name: 'h' } });
      t.notOk(object.metadata.annotations, 'annotations with other versions’ fields are not in the metadata');
    }
    const table = `application/json;as=Table;v=${version};g=meta.k8s.io`;
    const rows = await call(server, 'GET', scalers('v2beta1'), { headers: { accept: table } });
    t.match(rows.json, { kind: 'Table', apiVersion, rows: [{ cells: ['h', 'Deployment/d', '<unknown>/80%'] }] });
  }
});

for (const each of [dialect, orchDialect]) {
  t.test(`lists of metadata in Protobuf, ${each.name} dialect`, async (t) => {
    const server = await startServer(t, { dialect: each });
    await create(server, '/api/v1/namespaces/default/configmaps', { metadata: { name: 'a', labels: { x: 'y' } } });
    const group = each.groupName('meta');
    for (const version of ['v1', 'v1beta1']) {
      const accept = `${each.protobufMediaType};as=PartialObjectMetadataList;v=${version};g=${group}`;
      const response = await server.handler({
        method: 'GET',
        url: '/api/v1/namespaces/default/configmaps',
        headers: { accept },
        body: Buffer.alloc(0),
        remoteAddress: '127.0.0.1',
        signal: new AbortController().signal,
      });
      t.equal(response.headers['content-type'], each.protobufMediaType);
      const parts: Buffer[] = [];
      if (Buffer.isBuffer(response.body)) parts.push(response.body);
      else if (response.body !== undefined) for await (const part of response.body) parts.push(part);
      const bytes = Buffer.concat(parts);
      const own = new ObjectCodec(schemeFor(each));
      const { object, kind } = own.decode(bytes, { encoding: 'protobuf' });
      t.equal(kind.apiVersion, `${group}/${version}`);
      t.match(object, { items: [{ metadata: { name: 'a', labels: { x: 'y' } } }], metadata: { resourceVersion: /./ } });
      t.ok(own.encode(object, kind, 'protobuf').equals(bytes), 'with the same order of fields');
    }
  });
}

t.test('an empty selector selects nothing in one version and everything in the other', async (t) => {
  const server = await startServer(t, { dialect });
  const metadata = (name: string) => ({ name });
  await create(server, budgets('v1beta1'), { metadata: metadata('none'), spec: { minAvailable: 1, selector: {} } });
  const label = 'pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match';
  t.same((await got(server, `${budgets('v1')}/none`)).spec.selector, {
    matchExpressions: [{ key: label, operator: 'Exists' }],
  });
  t.same((await got(server, `${budgets('v1beta1')}/none`)).spec.selector, {});
  await create(server, budgets('v1'), { metadata: metadata('all'), spec: { minAvailable: 1, selector: {} } });
  t.same((await got(server, `${budgets('v1beta1')}/all`)).spec.selector, {
    matchExpressions: [{ key: label, operator: 'DoesNotExist' }],
  });
  const selector = { matchLabels: { a: 'b' }, matchExpressions: [{ key: label, operator: 'Exists' }] };
  const mixed = await create(server, budgets('v1'), {
    metadata: metadata('mixed'),
    spec: { minAvailable: 1, selector },
  });
  t.same(mixed.spec.selector, { matchLabels: { a: 'b' } }, 'the label has no meaning beside other terms');
  const odd = { disruptionsAllowed: -1, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };
  const status = (version: string) =>
    call(server, 'PATCH', `${budgets(version)}/all/status`, {
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { status: odd },
    });
  t.equal((await status('v1')).status, 422);
  t.equal((await status('v1beta1')).status, 200, 'counts were never looked at in the beta version');
});

t.test('endpoint slices in both versions', async (t) => {
  const server = await startServer(t, { dialect });
  const slices = (version: string) => at(`discovery.k8s.io/${version}`, 'endpointslices');
  const topology = {
    'topology.kubernetes.io/zone': 'z',
    'topology.kubernetes.io/region': 'r',
    'kubernetes.io/hostname': 'n',
  };
  const endpoints = [{ addresses: ['10.0.0.1'], topology }];
  await create(server, slices('v1beta1'), { metadata: { name: 's' }, addressType: 'IPv4', endpoints });
  const { 'topology.kubernetes.io/zone': zone, ...deprecatedTopology } = topology;
  const addresses = ['10.0.0.1'];
  const older = await got(server, `${slices('v1beta1')}/s`);
  t.strictSame(older.endpoints, [{ addresses, conditions: {}, topology }], 'a host name alone names no node');
  const newer = await got(server, `${slices('v1')}/s`);
  t.strictSame(newer.endpoints, [{ addresses, conditions: {}, deprecatedTopology, zone }]);
});

t.test('events are selected by the field names of each version', async (t) => {
  const server = await startServer(t, { dialect });
  const core = '/api/v1/namespaces/default/events';
  const event = {
    metadata: { name: 'e' },
    involvedObject: { kind: 'Pod', name: 'p', namespace: 'default' },
    source: { component: 'agent' },
    reason: 'Started',
  };
  await create(server, core, event);
  const namesBy = async (path: string, selector: string) =>
    (await call(server, 'GET', `${path}?fieldSelector=${selector}`)).json.items?.length;
  for (const version of ['v1', 'v1beta1']) {
    const newer = at(`events.k8s.io/${version}`, 'events');
    t.equal(await namesBy(newer, 'regarding.name=p,reason=Started'), 1);
    t.equal(await namesBy(newer, 'regarding.name=q'), 0);
    t.equal(await namesBy(newer, 'reportingController=agent,metadata.name=e'), 0, 'which older events do not have');
    for (const older of ['involvedObject.name', 'source']) {
      const refused = await call(server, 'GET', `${newer}?fieldSelector=${older}=p`);
      t.match(refused.json, { code: 400, message: new RegExp(`field label not supported: ${older}`) });
    }
  }
  t.equal(await namesBy(core, 'involvedObject.name=p,source=agent'), 1);
  // The beta version accepts old events, which the stable one refuses.
  const old = { metadata: { name: 'f' }, regarding: { namespace: 'default' }, note: 'said', deprecatedCount: 3 };
  t.equal((await call(server, 'POST', at('events.k8s.io/v1', 'events'), { body: old })).status, 422);
  await create(server, at('events.k8s.io/v1beta1', 'events'), old);
  t.match(await got(server, `${core}/f`), { message: 'said', count: 3 });
});

t.test('evictions may have the beta version', async (t) => {
  const server = await startServer(t, { dialect });
  const pods = '/api/v1/namespaces/default/pods';
  const containers = [{ name: 'c', image: 'i' }];
  for (const version of ['v1', 'v1beta1', 'v1alpha1']) {
    const name = `p-${version}`;
    await create(server, pods, { metadata: { name }, spec: { containers } });
    const body = { apiVersion: `policy/${version}`, kind: 'Eviction', metadata: { name } };
    const { status } = await call(server, 'POST', `${pods}/${name}/eviction`, { body });
    t.equal(status, version === 'v1alpha1' ? 400 : 201, version);
  }
});

interface ManagedEntry {
  readonly manager: string;
  readonly apiVersion: string;
  readonly fieldsV1: Record<string, Record<string, unknown>>;
}

t.test('managers keep their fields in their own version', async (t) => {
  const server = await startServer(t, { dialect });
  const target = { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } };
  const processor = (averageUtilization: number) => ({
    metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } }],
  });
  const apply = (version: string, manager: string, spec: object) =>
    call(server, 'PATCH', `${scalers(version)}/h?fieldManager=${manager}`, {
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: {
        apiVersion: `autoscaling/${version}`,
        kind: 'HorizontalPodAutoscaler',
        metadata: { name: 'h' },
        spec: { ...target, ...spec },
      },
    });
  const owned = async (manager: string) => {
    const entries: ManagedEntry[] = (await got(server, `${scalers('v2')}/h`)).metadata.managedFields;
    return entries
      .filter((entry) => entry.manager === manager)
      .map(({ apiVersion, fieldsV1 }) => [apiVersion, ...Object.keys(fieldsV1['f:spec'] ?? {}).sort()].join(' '));
  };
  t.equal((await apply('v2', 'a', { maxReplicas: 5, ...processor(70) })).status, 201);
  t.same(await owned('a'), ['autoscaling/v2 f:maxReplicas f:metrics f:scaleTargetRef']);
  // The same field under its older name.
  const edit = await call(server, 'PATCH', `${scalers('v1')}/h?fieldManager=edit`, {
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { spec: { targetCPUUtilizationPercentage: 50 } },
  });
  t.equal(edit.status, 200, edit.text);
  t.same(await owned('a'), ['autoscaling/v2 f:maxReplicas f:scaleTargetRef']);
  t.same(await owned('edit'), ['autoscaling/v1 f:targetCPUUtilizationPercentage']);
  const conflict = await apply('v2', 'a', { maxReplicas: 5, ...processor(70) });
  t.match(conflict.json, {
    code: 409,
    message:
      'Apply failed with 1 conflict: conflict with "edit" using autoscaling/v1: .spec.targetCPUUtilizationPercentage',
  });
  const same = await apply('v2beta2', 'b', { maxReplicas: 5, ...processor(50) });
  t.equal(same.status, 200, 'an unchanged part is shared');
  t.same(await owned('edit'), ['autoscaling/v1 f:targetCPUUtilizationPercentage']);
  t.same(await owned('b'), ['autoscaling/v2beta2 f:maxReplicas f:metrics f:scaleTargetRef']);
});

t.test('applying in another version replaces the former configuration', async (t) => {
  const server = await startServer(t, { dialect });
  const apply = (version: string, path: string, spec: object) =>
    call(server, 'PATCH', `${path}?fieldManager=a`, {
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: {
        apiVersion: `autoscaling/${version}`,
        kind: 'HorizontalPodAutoscaler',
        metadata: { name: 'h' },
        spec: { scaleTargetRef: { kind: 'Deployment', name: 'd' }, maxReplicas: 5, ...spec },
      },
    });
  await apply('v1', `${scalers('v1')}/h`, { minReplicas: 2, targetCPUUtilizationPercentage: 50 });
  const { json } = await apply('v2', `${scalers('v2')}/h`, {});
  // As in 1.24, a metric remains: without any, the older version stands for the default.
  t.match(json.spec, { minReplicas: 1, metrics: [{ resource: { target: { averageUtilization: 50 } } }] });
  t.match(json.metadata.managedFields, [{ manager: 'a', apiVersion: 'autoscaling/v2' }]);
  t.equal(json.metadata.managedFields.length, 1);
});

t.test('writing back an unchanged object changes nothing in any version', async (t) => {
  const server = await startServer(t, { dialect, dependencies: { gate: gateFor(everyCase) } });
  for (const name of new Set(everyCase.map(({ resource }) => resource.resource))) {
    const cases = everyCase.filter(({ resource }) => resource.resource === name);
    if (cases.length < 2) continue;
    for (const writer of cases) {
      const draft = writer.object(dialect);
      const { namespaced } = writer.resource;
      const path = ({ resource: { group, version } }: AnyCase) => {
        const api = group === 'core' ? '/api/v1' : `/apis/${dialect.apiVersion(group, version)}`;
        return `${api}${namespaced ? '/namespaces/default' : ''}/${name}/${draft.metadata.name}`;
      };
      const collection = path(writer).slice(0, path(writer).lastIndexOf('/'));
      const created = await call(server, 'POST', collection, { body: draft });
      t.equal(created.status, 201, created.text);
      for (const reader of cases) {
        const read = (await call(server, 'GET', path(reader))).json;
        const put = await call(server, 'PUT', path(reader), { body: read });
        const label = `${name} of ${writer.resource.version} in ${reader.resource.group}/${reader.resource.version}`;
        t.same({ status: put.status, ...put.json }, { status: 200, ...read }, label);
      }
      await call(server, 'DELETE', path(writer));
    }
  }
});

t.test('tables in the meta group of either dialect', async (t) => {
  const server = await startServer(t, { dialect: orchDialect });
  for (const each of [orchDialect, dialect]) {
    const group = each.groupName('meta');
    for (const version of ['v1', 'v1beta1']) {
      const accept = `application/json;as=Table;v=${version};g=${group}`;
      const { json } = await call(server, 'GET', '/apis/batch/v1beta1/cronjobs', { headers: { accept } });
      t.match(json, { kind: 'Table', apiVersion: `${group}/${version}` });
      t.equal(json.columnDefinitions[1].name, 'Schedule');
    }
  }
});
