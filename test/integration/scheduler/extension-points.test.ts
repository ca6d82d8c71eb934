/** A plugin at every extension point, with a real API server. */
import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import type { Permission, Plugin } from '#scheduler/framework/plugin.js';
import { makeProfile } from '#scheduler/framework/profile.js';
import type { WaitingPod } from '#scheduler/framework/waiting-pods.js';
import { apiBinder, type Binder } from '#scheduler/loop/binder.js';
import { defaultContext, pluginKinds } from '#scheduler/plugins/registry.js';
import { type Cluster, cluster } from '#test/integration/scheduler/cluster.js';

const schedulerName = dialect.components.defaultScheduler;

function profileWith(plugin: Plugin) {
  const defaults = pluginKinds.map(({ name, weight = 1 }) => ({ name, weight }));
  const plugins = new Map(pluginKinds.map(({ make, name }) => [name, make({}, dialect, defaultContext)]));
  plugins.set(plugin.name, plugin);
  const multiPoint = { enabled: [{ name: plugin.name }], disabled: [] };
  return makeProfile({ schedulerName, defaults, plugins, sets: { multiPoint, bind: bindFirst(plugin.name) } });
}

/** Enables the plugin before DefaultBinder. */
const bindFirst = (name: string) => ({ enabled: [{ name }, { name: 'DefaultBinder' }], disabled: [] });

t.test('calls a plugin at all points', async (t) => {
  const calls: string[] = [];
  const record = (pod: { pod: { metadata: { name?: string } } }, what: string) =>
    calls.push(`${pod.pod.metadata.name} ${what}`);
  const waiting: WaitingPod[] = [];
  const permissions: Record<string, Permission> = {
    refused: { reject: 'not today' },
    patient: { waitMs: 600_000 },
    spurned: { waitMs: 600_000 },
    late: { waitMs: 1 },
  };
  const plugin: Plugin = {
    name: 'Own',
    reserve(pod) {
      record(pod, 'reserve');
      return { plugin: 'Own', preBind: () => Promise.resolve(), release: () => record(pod, 'release') };
    },
    permit(pod, _node, { waitingPods }) {
      record(pod, 'permit');
      // It is added to the waiting pods right after this call.
      queueMicrotask(() => {
        const waitingPod = waitingPods.get(pod.uid);
        if (waitingPod !== undefined) waiting.push(waitingPod);
      });
      return permissions[pod.pod.metadata.name ?? ''];
    },
    preBind(pod) {
      record(pod, 'preBind');
      return pod.pod.metadata.name === 'unready' ? Promise.reject(new Error('no power')) : Promise.resolve();
    },
    bind(pod) {
      record(pod, 'bind');
      return Promise.resolve(false);
    },
    postBind(pod) {
      record(pod, 'postBind');
      throw new Error('ignored failure');
    },
    postFilter: () => ({ message: 'no way.' }),
  };
  const c = await cluster(t, { profiles: [profileWith(plugin)] });
  await c.node('one');
  const of = (name: string) => calls.filter((call) => call.startsWith(`${name} `)).map((call) => call.split(' ')[1]);
  const condition = async (name: string, reason: string) => {
    const pod = await c.when(name, ({ status }) => status?.conditions?.some((each) => each.reason === reason) === true);
    return pod.status?.conditions?.find((each) => each.reason === reason)?.message;
  };

  await c.pod('plain');
  await c.when('plain', ({ spec }) => spec.nodeName === 'one');
  while (!of('plain').includes('postBind')) await new Promise(setImmediate);
  t.same(of('plain'), ['reserve', 'permit', 'preBind', 'bind', 'postBind']);

  await c.pod('refused');
  t.equal(await condition('refused', 'Unschedulable'), 'not today');
  t.same(of('refused').slice(0, 3), ['reserve', 'permit', 'release']);

  await c.pod('late');
  t.equal(await condition('late', 'Unschedulable'), 'rejected due to timeout after waiting 0.001s at plugin Own');

  await c.pod('spurned');
  while (!waiting.some(({ pod }) => pod.pod.metadata.name === 'spurned')) await new Promise(setImmediate);
  waiting.find(({ pod }) => pod.pod.metadata.name === 'spurned')?.reject('Own', 'changed its mind');
  t.equal(await condition('spurned', 'Unschedulable'), 'changed its mind');

  await c.pod('patient');
  while (!waiting.some(({ pod }) => pod.pod.metadata.name === 'patient')) await new Promise(setImmediate);
  const patient = waiting.find(({ pod }) => pod.pod.metadata.name === 'patient');
  t.same([patient?.node, patient?.pending()], ['one', ['Own']]);
  t.notMatch(of('patient'), ['preBind']);
  patient?.allow('Own');
  await c.when('patient', ({ spec }) => spec.nodeName === 'one');

  await c.pod('unready');
  t.equal(await condition('unready', 'SchedulerError'), 'running PreBind plugin "Own": no power');
  t.same(of('unready').slice(0, 4), ['reserve', 'permit', 'preBind', 'release']);

  await c.pod('elsewhere', { nodeSelector: { no: 'where' } });
  t.match(await condition('elsewhere', 'Unschedulable'), / preemption: /);

  const series = await c.metrics();
  for (const point of ['PreFilter', 'Filter', 'PostFilter', 'Reserve', 'Permit', 'PreBind', 'Bind', 'PostBind']) {
    t.match(series, `extension_point="${point}"`);
  }
  const measured =
    /scheduler_plugin_execution_duration_seconds_count\{plugin="[^"]+",extension_point="Reserve",status="Success"\}/;
  t.match(series, measured, 'the first call is measured, then one in ten');
  t.match(series, /scheduler_permit_wait_duration_seconds_count\{result="Success"\} 1/);
});

t.test('an unconfirmed binding expires, and the pod is bound again', async (t) => {
  const clock = new VirtualClock();
  let c: Cluster | undefined;
  let lies = true;
  const truthful = () => apiBinder(c?.client as Cluster['client']);
  const binder: Binder = {
    bind: (pod, node) => (lies ? Promise.resolve() : truthful().bind(pod, node)),
    reportUnschedulable: (...report) => truthful().reportUnschedulable(...report),
  };
  c = await cluster(t, { clock, binder });
  await c.node('one');
  const half = { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '2' } } }] };
  await c.pod('believed', half);
  while (!/cache_size\{type="assumed_pods"\} 1/.test(await c.metrics())) await new Promise(setImmediate);
  await c.pod('next', half);
  const waits = ({ status }: { status?: Pod['status'] }) => status?.conditions?.[0]?.reason === 'Unschedulable';
  await c.when('next', waits);
  await c.client.resource(pods).delete('next', { namespace: 'default' });
  lies = false;
  await clock.advance(15 * 60_000);
  const bound = await c.when('believed', ({ spec }) => spec.nodeName !== undefined);
  t.equal(bound.spec.nodeName, 'one');
});

t.test('refuses incomplete profiles', (t) => {
  const defaults = pluginKinds.map(({ name, weight = 1 }) => ({ name, weight }));
  const plugins = new Map(pluginKinds.map(({ make, name }) => [name, make({}, dialect, defaultContext)]));
  const off = (name: string) => ({ enabled: [], disabled: [name] });
  const on = (name: string) => ({ enabled: [{ name }], disabled: [] });
  const messages = (sets: Parameters<typeof makeProfile>[0]['sets']) => {
    try {
      makeProfile({ schedulerName, defaults, plugins, ...(sets === undefined ? {} : { sets }) });
      return [];
    } catch (error) {
      return (error as { messages?: string[] }).messages;
    }
  };
  t.same(messages({}), []);
  t.same(messages({ queueSort: off('PrioritySort') }), [
    'only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 0',
  ]);
  t.same(messages({ bind: off('*') }), [
    'at least one bind plugin is needed for profile with scheduler name "default-scheduler"',
  ]);
  t.same(messages({ filter: on('PrioritySort') }), ['plugin "PrioritySort" does not extend FilterPlugin plugin']);
  plugins.set('Other', { name: 'Other', queueSort: () => true });
  t.same(messages({ queueSort: on('Other') }), [
    'only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 2',
  ]);
  t.same(messages({ queueSort: { ...on('Other'), disabled: ['PrioritySort'] } }), []);
  t.end();
});
