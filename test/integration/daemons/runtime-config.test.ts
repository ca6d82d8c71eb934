/** Groups that `--runtime-config` turns off have no path and are missing from discovery and OpenAPI. */
import t from 'tap';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { startApi } from '#test/integration/daemons/api.js';

t.setTimeout(60_000);

interface Listed {
  readonly groups?: { readonly name: string; readonly versions: { readonly version: string }[] }[];
  readonly resources?: { readonly name: string }[];
  readonly paths?: Readonly<Record<string, unknown>>;
}

t.test('groups, versions and resources that are off', async (t) => {
  const config =
    'policy/v1=false,policy/v1beta1=false,autoscaling/v1=false,/v1/podtemplates=false,apps/v1=false,apps/v1/deployments=true';
  const { client } = await startApi(t, { dialect, args: [`--runtime-config=${config}`] });
  const get = (path: string) => client.request<Listed>('GET', path);
  const gone = [
    '/apis/policy',
    '/apis/policy/v1',
    '/apis/policy/v1/poddisruptionbudgets',
    '/apis/autoscaling/v1',
    '/apis/autoscaling/v1/horizontalpodautoscalers',
    '/api/v1/podtemplates',
    '/api/v1/namespaces/default/podtemplates/a',
    '/apis/apps/v1/replicasets',
    `/apis/${dialect.groupName('apiserverinternal')}`,
  ];
  for (const path of gone) await t.rejects(get(path), { code: 404 }, path);
  for (const path of ['/api/v1/pods', '/apis/apps/v1/deployments', '/apis/autoscaling/v2/horizontalpodautoscalers']) {
    t.match(await get(path), { items: [] }, path);
  }
  const { groups = [] } = await get('/apis');
  const offered = new Map(groups.map(({ name, versions }) => [name, versions.map(({ version }) => version)]));
  t.equal(offered.has('policy'), false);
  t.same(offered.get('autoscaling'), ['v2', 'v2beta1', 'v2beta2']);
  const names = async (path: string) => (await get(path)).resources?.map(({ name }) => name) ?? [];
  t.same(await names('/apis/apps/v1'), ['deployments', 'deployments/scale', 'deployments/status']);
  const core = await names('/api/v1');
  t.ok(core.includes('pods') && !core.includes('podtemplates'));
  const { paths = {} } = await get('/openapi/v2');
  const described = Object.keys(paths);
  t.ok(described.includes('/apis/apps/v1/deployments'));
  t.same(
    described.filter((path) => /^\/apis\/(policy|autoscaling\/v1)|podtemplates|replicasets/.test(path)),
    [],
  );
  const { paths: documents = {} } = await get('/openapi/v3');
  t.ok('apis/apps/v1' in documents && !('apis/policy/v1' in documents));
});

t.test('beta versions', async (t) => {
  const { client } = await startApi(t, { dialect, args: ['--runtime-config=batch/v1beta1=false,policy/v1=false'] });
  const get = (path: string) => client.request<Listed>('GET', path);
  await t.rejects(get('/apis/batch/v1beta1/cronjobs'), { code: 404 });
  t.match(await get('/apis/batch/v1/cronjobs'), { items: [] });
  t.match(await get('/apis/policy/v1beta1/poddisruptionbudgets'), { items: [] }, 'though its stored version is off');
  const without = await startApi(t, { dialect, args: ['--runtime-config=api/beta=false'] });
  const { groups = [] } = await without.client.request<Listed>('GET', '/apis');
  t.same(
    groups.flatMap(({ versions }) => versions).filter(({ version }) => version.includes('beta')),
    [],
  );
});

t.test('a version that there is not', async (t) => {
  const starting = startApi(t, { dialect, args: ['--runtime-config=apps/v1beta2=true'] });
  await t.rejects(starting, /group version apps\/v1beta2 that has not been registered/);
});
