/** Server-side apply (specification 1, 4.1.5): ownership of fields of objects and subresources, in both dialects. */
import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { covers } from '#test/integration/apiserver/spec/rules.js';
import {
  applyPatch,
  configMap,
  configMaps,
  mergePatch,
  type Response,
  startSpec,
  withEtcd,
} from '#test/integration/apiserver/spec/spec-server.js';

interface Entry {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly fieldsV1: object;
}

/** `manager operation [subresource]` → fields. */
const owners = ({ json }: Response) =>
  Object.fromEntries(
    (json.metadata.managedFields ?? []).map(({ manager, operation, subresource, fieldsV1 }: Entry) => [
      [manager, operation, subresource].filter((part) => part !== undefined).join(' '),
      fieldsV1,
    ]),
  );

for (const dialect of [kubernetesDialect, orchDialect]) {
  t.test(`server-side apply, ${dialect.product}`, withEtcd, async (t) => {
    const { client } = await startSpec(t, { dialect });
    const apps = dialect.apiVersion('apps', 'v1');
    const deployments = `/apis/${apps}/namespaces/apply/deployments`;
    const apply = (url: string, manager: string, body: unknown, more = '') =>
      client.patch(`${url}?fieldManager=${manager}${more}`, applyPatch, body);
    const labels = { app: 'd' };
    const deployment = (spec: object, metadata: object = {}) => ({
      apiVersion: apps,
      kind: 'Deployment',
      metadata: { name: 'd', ...metadata },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        ...spec,
      },
    });

    await covers(t, ['4.1.5'], 'owners of fields', async (t) => {
      const url = `${configMaps('apply')}/a`;
      const first = await apply(url, 'one', configMap('a', { x: '1', y: '1' }, { labels: { l: '1' } }));
      t.equal(first.status, 201);
      t.match(first.json.metadata.managedFields, [
        { manager: 'one', operation: 'Apply', apiVersion: 'v1', fieldsType: 'FieldsV1', time: /Z$/ },
      ]);
      t.strictSame(owners(first), {
        'one Apply': { 'f:data': { 'f:x': {}, 'f:y': {} }, 'f:metadata': { 'f:labels': { 'f:l': {} } } },
      });
      const same = await apply(url, 'one', configMap('a', { x: '1', y: '1' }, { labels: { l: '1' } }));
      t.same(same.json, first.json, 'once more changes nothing');
      const shared = await apply(url, 'two', configMap('a', { x: '1' }));
      t.strictSame(owners(shared)['two Apply'], { 'f:data': { 'f:x': {} } });
      const both = await apply(url, 'one', configMap('a', { x: '2' }));
      t.match(both.json, { code: 409, message: 'Apply failed with 1 conflict: conflict with "two": .data.x' });
      const left = await apply(url, 'one', configMap('a', {}, { labels: { l: '1' } }));
      t.strictSame(left.json.data, { x: '1' }, 'y is removed, x stays with its other owner');
      const updated = await client.patch(`${url}?fieldManager=editor`, mergePatch, { data: { x: '3' } });
      t.strictSame(
        owners(updated)['editor Update'],
        { 'f:data': { 'f:x': {} } },
        'an update owns the fields that it changes',
      );
      t.equal(owners(updated)['two Apply'], undefined, 'from all others');
      const conflict = await apply(url, 'two', configMap('a', { x: '4', z: '1' }));
      t.match(conflict.json, {
        reason: 'Conflict',
        message: 'Apply failed with 1 conflict: conflict with "editor" using v1: .data.x',
      });
      const forced = await apply(url, 'two', configMap('a', { x: '4', z: '1' }), '&force=true');
      t.strictSame(forced.json.data, { x: '4', z: '1' });
      t.equal(owners(forced)['editor Update'], undefined);
      const many = await apply(url, 'three', configMap('a', { x: '5', z: '5' }, { labels: { l: '5' } }));
      t.equal(
        many.json.message,
        'Apply failed with 3 conflicts: conflicts with "one":\n- .metadata.labels.l\nconflicts with "two":\n- .data.x\n- .data.z',
      );
      t.equal(many.json.details.causes.length, 3);
    });

    await covers(t, ['4.1.5'], 'invalid configurations', async (t) => {
      const url = `${configMaps('apply')}/b`;
      const managed = [{ manager: 'm', operation: 'Apply', apiVersion: 'v1' }];
      const rows: [unknown, number, RegExp][] = [
        [configMap('b', {}, { managedFields: managed }), 400, /metadata.managedFields must be nil/],
        [
          { ...configMap('b'), odd: 1 },
          500,
          /failed to create typed patch object \(.*\): \.odd: field not declared in schema/,
        ],
        [configMap('other'), 400, /the name of the object \(other\) does not match the name on the URL \(b\)/],
        [{ ...configMap('b'), apiVersion: 'v2' }, 400, /Incorrect version specified in apply patch/],
        ['a: [', 400, /error decoding YAML/],
        ['[]', 400, /./],
      ];
      for (const [body, status, message] of rows) {
        const { json } = await apply(url, 'm', body);
        t.match(json, { code: status, message });
      }
      const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {x: "1"}\n';
      t.equal((await apply(url, 'm', yaml)).status, 201, 'YAML, as its media type allows');
      const stale = await apply(url, 'm', configMap('b', { x: '2' }, { resourceVersion: '1' }));
      t.equal(stale.json.reason, 'Conflict', 'a version is a condition');
    });

    await covers(t, ['4.1.5'], 'lists are merged by key, and elements have owners', async (t) => {
      const url = `${deployments}/d`;
      const created = await apply(url, 'one', deployment({}));
      t.equal(created.status, 201, created.text);
      const sidecar = { name: 's', image: 'j', ports: [{ containerPort: 80, protocol: 'TCP' }] };
      const template = { spec: { containers: [sidecar] } };
      const added = await apply(url, 'two', {
        apiVersion: apps,
        kind: 'Deployment',
        metadata: { name: 'd' },
        spec: { template },
      });
      t.equal(added.status, 200, added.text);
      t.same(
        added.json.spec.template.spec.containers.map(({ name }: { name: string }) => name),
        ['c', 's'],
      );
      t.match(owners(added)['two Apply'], {
        'f:spec': { 'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"s"}': { '.': {}, 'f:image': {} } } } } },
      });
      const gone = await apply(url, 'two', { apiVersion: apps, kind: 'Deployment', metadata: { name: 'd' } });
      t.same(
        gone.json.spec.template.spec.containers.map(({ name }: { name: string }) => name),
        ['c'],
        'the element is removed by its owner',
      );
    });

    await covers(t, ['4.1.5'], 'subresources have owners of their own', async (t) => {
      const url = `${deployments}/d`;
      const status = { apiVersion: apps, kind: 'Deployment', metadata: { name: 'd' }, status: { replicas: 2 } };
      const applied = await apply(`${url}/status`, 'watcher', status);
      t.equal(applied.json.status.replicas, 2);
      t.strictSame(owners(applied)['watcher Apply status'], { 'f:status': { 'f:replicas': {} } });
      const patched = await client.patch(`${url}/status?fieldManager=ctrl`, mergePatch, {
        status: { readyReplicas: 1 },
      });
      t.strictSame(owners(patched)['ctrl Update status'], { 'f:status': { 'f:readyReplicas': {} } });
      const scale = (await client.get(`${url}/scale`)).json;
      await client.put(`${url}/scale?fieldManager=scaler`, { ...scale, spec: { replicas: 4 } });
      const scaled = await client.get(url);
      t.strictSame(owners(scaled)['scaler Update scale'], { 'f:spec': { 'f:replicas': {} } });
      const conflict = await apply(url, 'one', deployment({ replicas: 7 }));
      t.match(conflict.json, {
        code: 409,
        message: `Apply failed with 1 conflict: conflict with "scaler" with subresource "scale" using ${apps}: .spec.replicas`,
      });
      const autoscaling = dialect.apiVersion('autoscaling', 'v1');
      const configuration = (replicas: number) => ({
        apiVersion: autoscaling,
        kind: 'Scale',
        metadata: { name: 'd' },
        spec: { replicas },
      });
      const refused = await apply(`${url}/scale`, 'auto', configuration(5));
      t.match(refused.json, { code: 409, details: { causes: [{ field: '.spec.replicas' }] } });
      const forced = await apply(`${url}/scale`, 'auto', configuration(5), '&force=true');
      t.match(forced.json, { kind: 'Scale', spec: { replicas: 5 } });
      t.strictSame(owners(await client.get(url))['auto Apply scale'], { 'f:spec': { 'f:replicas': {} } });
    });

    await covers(t, ['4.1.5'], 'fields of client-side apply change their owner', async (t) => {
      const path = configMaps('upgrade');
      const name = dialect.annotations.lastApplied.split('.')[0] ?? '';
      const object = configMap('old', { x: '1', y: '1' });
      const annotated = configMap(
        'old',
        { x: '1', y: '1' },
        {
          annotations: { [dialect.annotations.lastApplied]: `${JSON.stringify(object)}\n` },
        },
      );
      await client.post(`${path}?fieldManager=${name}-client-side-apply`, annotated);
      const upgraded = await apply(`${path}/old`, name, configMap('old', { x: '2' }));
      t.equal(upgraded.status, 200, upgraded.text);
      t.equal(upgraded.json.data.x, '2', 'without force');
      const other = await apply(`${path}/old`, 'another', configMap('old', { x: '3' }));
      t.equal(other.status, 409, 'which holds for the client alone');
    });

    await covers(t, ['4.1.5'], 'owners are removed on request', async (t) => {
      const url = `${configMaps('apply')}/a`;
      const cleared = await client.patch(`${url}?fieldManager=x`, mergePatch, { metadata: { managedFields: [{}] } });
      t.equal(cleared.status, 200, cleared.text);
      t.equal(cleared.json.metadata.managedFields, undefined);
    });
  });
}
