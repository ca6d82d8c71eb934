import t from 'tap';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { podInfo } from '#scheduler/cluster/pod-info.js';
import type { Handle, Permission, Plugin } from '#scheduler/framework/plugin.js';
import { makeProfile } from '#scheduler/framework/profile.js';
import { withTimes } from '#scheduler/framework/with-times.js';
import { defaultContext, pluginKinds } from '#scheduler/plugins/registry.js';
import { clusterOf, pod } from '#scheduler/testing/plugin-table.js';

t.test('measures plugin calls with their results', async (t) => {
  const permissions: Permission[] = [undefined, { reject: 'no' }, { waitMs: 1 }];
  const plugin: Plugin = {
    name: 'Own',
    postFilter: () => ({ message: 'no' }),
    reserve: () => ({ plugin: 'Own', preBind: () => Promise.reject(new Error('late')), release: () => undefined }),
    permit: () => permissions.shift(),
    preBind: () => Promise.resolve(),
    bind: () => Promise.resolve(false),
    postBind() {
      throw new Error('no');
    },
  };
  const plugins = new Map(pluginKinds.map(({ make, name }) => [name, make({}, dialect, defaultContext)]));
  plugins.set('Own', plugin);
  const names = ['Own', 'PrioritySort', 'DefaultBinder'].map((name) => ({ name }));
  const profile = makeProfile({ schedulerName: 'x', defaults: names, plugins });
  const recorded: string[] = [];
  let now = 0;
  let measuring = true;
  const recorder = {
    executed: (name: string, point: string, status: string, ms: number) =>
      recorded.push(`${name} ${point} ${status} ${ms}`),
  };
  const timed = withTimes(profile, {
    clock: { monotonic: () => now++ },
    recorder: () => (measuring ? recorder : undefined),
  });
  const info = podInfo(pod({}));
  const node = clusterOf({}).node('n');
  if (node === undefined) throw new Error('no node');
  // The plugin does not use it.
  const handle = {} as Handle;
  const stop = new AbortController().signal;
  const reservation = timed.reserves[0]?.point(info, node, handle);
  await t.rejects(reservation?.preBind(stop) ?? Promise.resolve(), /late/);
  reservation?.release();
  for (let i = 0; i < 3; i++) timed.permits[0]?.point(info, node, handle);
  await timed.preBinds[0]?.point(info, node, handle, stop);
  await timed.binds[0]?.point(info, node, handle);
  t.throws(() => timed.postBinds[0]?.point(info, node, handle), /no/);
  const postFilter = timed.postFilters[0]?.point;
  if (typeof postFilter !== 'function') throw new Error('no postFilter');
  await postFilter(info, { message: '', nodeCount: 1, plugins: new Set() }, handle);
  t.same(recorded, [
    'Own Reserve Success 1',
    'Own PreBind Error 1',
    'Own Unreserve Success 1',
    'Own Permit Success 1',
    'Own Permit Unschedulable 1',
    'Own Permit Wait 1',
    'Own PreBind Success 1',
    'Own Bind Skip 1',
    'Own PostBind Error 1',
    'Own PostFilter Unschedulable 1',
  ]);
  measuring = false;
  await timed.binds[0]?.point(info, node, handle);
  t.equal(recorded.length, 10);
});
