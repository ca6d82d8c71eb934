/** Expiry of bindings that no watch confirms, in virtual time. */
import t from 'tap';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { Cluster } from '#scheduler/cluster/cluster.js';
import { noObjects } from '#scheduler/cluster/objects.js';
import { podInfo } from '#scheduler/cluster/pod-info.js';
import { UnconfirmedBindings } from '#scheduler/loop/unconfirmed-bindings.js';
import { node, pod } from '#scheduler/testing/plugin-table.js';

const minute = 60_000;

function setup() {
  const clock = new VirtualClock();
  const cluster = new Cluster(dialect, noObjects);
  cluster.setNode(node('n'));
  const expired: string[] = [];
  const unconfirmed = new UnconfirmedBindings({ clock, log, cluster, onExpired: ({ uid }) => expired.push(uid) });
  const bound = (name: string) => {
    cluster.assume(podInfo(pod({ name })), 'n');
    unconfirmed.await(name);
  };
  return { clock, cluster, expired, unconfirmed: unconfirmed, bound };
}

t.test('each unconfirmed binding expires 15 minutes after it was written', async (t) => {
  const { bound, clock, cluster, expired } = setup();
  bound('a');
  await clock.advance(minute);
  bound('b');
  await clock.advance(14 * minute - 1);
  t.same([expired, cluster.sizes.assumedPods], [[], 2]);
  await clock.advance(1);
  t.same([expired, cluster.sizes.assumedPods], [['a'], 1]);
  t.equal(cluster.node('n')?.pods.size, 1);
  await clock.advance(minute);
  t.same([expired, cluster.sizes.assumedPods], [['a', 'b'], 0]);
  bound('c');
  await clock.advance(15 * minute);
  t.same(expired, ['a', 'b', 'c'], 'also after a time without unconfirmed bindings');
});

t.test('confirmed, deleted and forgotten pods do not expire', async (t) => {
  const { bound, clock, cluster, expired } = setup();
  for (const name of ['seen', 'deleted', 'back', 'lost']) bound(name);
  cluster.setPod(pod({ name: 'seen', on: 'n' }));
  cluster.removePod('deleted');
  cluster.forget('back');
  await clock.advance(60 * minute);
  t.same(expired, ['lost']);
  t.same([...(cluster.node('n')?.pods.keys() ?? [])], ['seen']);
});

t.test('a binding confirmed before its write returns does not expire, nor does one still in progress', async (t) => {
  const { clock, cluster, expired, unconfirmed } = setup();
  cluster.assume(podInfo(pod({ name: 'a' })), 'n');
  cluster.setPod(pod({ name: 'a', on: 'n' }));
  unconfirmed.await('a');
  cluster.assume(podInfo(pod({ name: 'slow' })), 'n');
  await clock.advance(60 * minute);
  t.same([expired, cluster.sizes.assumedPods], [[], 1]);
});

t.test('nothing expires after close', async (t) => {
  const { bound, clock, expired, unconfirmed } = setup();
  bound('a');
  unconfirmed.close();
  bound('b');
  await clock.advance(60 * minute);
  t.same(expired, []);
});
