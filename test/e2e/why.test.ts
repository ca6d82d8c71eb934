/** Hopeless pods on a real cluster: `orchctl why` names the cause and a remedy, the remedy is carried out, the pod runs. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { childProcessPlugins } from '#client/kubeconfig/exec-plugin.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import type { Change, Explanation } from '#scheduler/explain/explanation.js';
import type { CopiesForecast, LeavingForecast } from '#scheduler/explain/forecast.js';
import { eventually, startTestCluster } from '#test/e2e/harness.js';
import { type Fields, pod, type Situation, situations } from '#test/e2e/why/situations.js';

t.setTimeout(600_000);
const cluster = await startTestCluster({ runtime: 'simulated', store: 'memory' });
t.teardown(() => cluster.destroy());
const clock = realClock;
const config = await loadKubeconfig(cluster.config, { clock, env: {}, plugins: childProcessPlugins({}, false) });
const client = new RestClient({ transport: new HttpTransport({ ...config, clock }), dialect, clock });
t.teardown(() => client.close());

const plural: Record<string, string> = {
  Namespace: 'namespaces',
  Node: 'nodes',
  PersistentVolume: 'persistentvolumes',
  PersistentVolumeClaim: 'persistentvolumeclaims',
  Pod: 'pods',
  PriorityClass: 'priorityclasses',
  ResourceQuota: 'resourcequotas',
  StorageClass: 'storageclasses',
};

function collection(apiVersion: string, kind: string, namespace: string | undefined): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${root}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural[kind]}`;
}

interface Made {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const pathOf = ({ apiVersion, kind, metadata }: Made) =>
  `${collection(apiVersion, kind, metadata.namespace)}/${metadata.name}`;

/** Local volumes get folders of this test. */
function create(fields: object): Promise<unknown> {
  const object = fields as Made & { spec?: { hostPath?: { path: string } } };
  const path = object.spec?.hostPath;
  if (path !== undefined) path.path = join(cluster.dataDir, 'volumes', object.metadata.name);
  return client.request('POST', collection(object.apiVersion, object.kind, object.metadata.namespace), object);
}

/** `gracePeriodSeconds` 0 removes the pod while its node may still run it; otherwise the node ends it first. */
async function remove(object: Made, options: { gracePeriodSeconds?: number } = {}): Promise<void> {
  const path = pathOf(object);
  const gone = async (method: string) => {
    try {
      await client.request(method, path, method === 'DELETE' ? options : undefined);
      return false;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  };
  if (!(await gone('DELETE'))) await eventually(`${path} is gone`, () => gone('GET'));
}

const patch = (path: string, body: object) =>
  client.request('PATCH', path, body, { contentType: 'application/merge-patch+json' });

async function carryOut(change: Change): Promise<void> {
  if ('object' in change) {
    if (change.action === 'replace') await remove(change.object as Made);
    await create(change.object);
    return;
  }
  const { apiVersion, kind, name, namespace } = change;
  const object = { apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } };
  if (change.action === 'delete') await remove(object);
  else await patch(pathOf(object), change.patch);
}

const read = (object: object) => client.request<Pod>('GET', pathOf(object as Made));

async function running(object: object): Promise<void> {
  const { name } = (object as Made).metadata;
  let last: Pod | undefined;
  await eventually(`pod ${name} runs`, async () => {
    last = await read(object);
    return last.status?.phase === 'Running';
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${JSON.stringify(last?.status)}`);
  });
}

async function why<T = Explanation>(...args: string[]): Promise<T> {
  const { code, stderr, stdout } = await cluster.ctl('why', ...args, '-o', 'json');
  if (code !== 0) throw new Error(`orchctl why ${args.join(' ')} ended with ${code}\n${stderr}`);
  return JSON.parse(stdout) as T;
}

const { items } = await client.request<{ items: Node[] }>('GET', '/api/v1/nodes');
const node = items[0]?.metadata.name ?? '';
const file = join(cluster.dataDir, 'pod.json');

async function explained({ pod: subject, refused }: Situation): Promise<Explanation> {
  if (refused === true) {
    writeFileSync(file, JSON.stringify(subject));
    return why('-f', file);
  }
  await create(subject);
  const { name } = (subject as unknown as Made).metadata;
  const explanation = await why('pod', name);
  if (explanation.outcome !== 'FitsNowhere') return explanation;
  let message = explanation.message;
  await eventually('the condition says the same', async () => {
    const condition = (await read(subject)).status?.conditions?.find(({ type }) => type === 'PodScheduled');
    if (condition?.reason === 'Unschedulable' && condition.message === message) return true;
    if (condition?.reason === 'Unschedulable') message = (await why('pod', name)).message;
    return false;
  });
  return explanation;
}

async function hopeless(t: Tap, situation: Situation): Promise<void> {
  const objects: object[] = [...(situation.objects ?? []), situation.pod];
  try {
    if (situation.node !== undefined) await patch(`/api/v1/nodes/${node}`, situation.node);
    for (const object of situation.objects ?? []) {
      await create(object);
      if (object['kind'] === 'Pod') await running(object);
      if (
        object['kind'] === 'PersistentVolumeClaim' &&
        objects.some((each) => (each as Fields)['kind'] === 'PersistentVolume')
      ) {
        await eventually('the claim is bound', async () => (await read(object)).status?.phase === ('Bound' as string));
      }
    }
    const explanation = await explained(situation);
    t.match(explanation.message, situation.cause);
    const remedy = explanation.remedies.find(({ text }) => situation.remedy.test(text));
    if (remedy === undefined) {
      t.fail('the remedy is named', { explanation });
      return;
    }
    for (const change of remedy.changes) {
      await carryOut(change);
      if (change.action === 'create') objects.push(change.object);
    }
    if (situation.refused === true) await create(situation.pod);
    await running(situation.pod);
  } finally {
    // Claims that pods use and volumes that claims have stay until then.
    const order = (object: object) => ['Pod', 'PersistentVolumeClaim'].indexOf((object as Made).kind) >>> 0;
    for (const object of objects.sort((a, b) => order(a) - order(b)))
      await remove(object as Made, { gracePeriodSeconds: 0 });
    if (situation.nodeAfter !== undefined) await patch(`/api/v1/nodes/${node}`, situation.nodeAfter);
  }
}

type Tap = typeof t;

// Anti-affinity and affinity are about a label that the node has.
await patch(`/api/v1/nodes/${node}`, { metadata: { labels: { disk: 'hdd' } } });
const place = {
  zone: dialect.labels.zone,
  noProvisioner: `${dialect.labelDomain}/no-provisioner`,
  schedulingApi: dialect.apiVersion('scheduling', 'v1'),
  storageApi: dialect.apiVersion('storage', 'v1'),
};
const only = process.env['ONLY'];
for (const situation of situations(place)) {
  if (only !== undefined && !situation.name.includes(only)) continue;
  await t.test(situation.name, (t) => hopeless(t as Tap, situation));
}

t.test('what would happen', async (t) => {
  writeFileSync(file, JSON.stringify(pod('fill', { requests: { 'example.com/gpu': '1' } })));
  const none = await why<CopiesForecast>('-f', file, '--copies', '50');
  t.match(none, { requested: 50, fit: 0, nodes: [], message: /Insufficient example.com\/gpu/ });
  const small = pod('small');
  writeFileSync(file, JSON.stringify(small));
  const three = await why<CopiesForecast>('-f', file, '--copies', '3');
  t.match(three, { requested: 3, fit: 3, nodes: [{ node, copies: 3 }] });
  const fits = await why('-f', file);
  t.match(fits, { outcome: 'Fits', node });
  t.ok((fits.scores[0]?.plugins.length ?? 0) > 0, 'scores are told');
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: { template: { metadata: { labels: { app: 'web' } }, spec: small['spec'] } },
    }),
  );
  t.match(await why('-f', file), { outcome: 'Fits', node, pod: { name: 'web' } });
  const gone = await why('-f', file, '--without-node', node);
  t.match(gone, { outcome: 'FitsNowhere', message: 'no nodes available to schedule pods' });
  const lone = pod('lone');
  await create(lone);
  await running(lone);
  const drain = await why<LeavingForecast>('--drain', node);
  t.match(drain, { node, moves: [{ name: 'lone', outcome: 'Lost' }] });
  const explanation = await client.request<Explanation>('GET', '/debug/scheduler/explain?pod=default/lone');
  t.match(explanation, { outcome: 'Bound', node, pod: { name: 'lone' } });
  const waiting = pod('waiting', { requests: { cpu: '9000' } });
  await create(waiting);
  await eventually('the scheduler tells the same', async () => {
    const here = await client.request<Explanation>('GET', '/debug/scheduler/explain?pod=default/waiting');
    return isDeepStrictEqual(here, await why('pod', 'waiting'));
  });
  t.match((await cluster.ctl('why', 'pod', 'lone')).stdout, /^Pod default\/lone: healthy\n/);
  t.match((await cluster.ctl('why', '--drain', 'nowhere')).stderr, /node "nowhere" does not exist/);
  t.equal((await cluster.ctl('why')).code, 1);
  t.match((await cluster.ctl('why', 'pod', 'absent')).stderr, /pods "absent" not found/);
});
