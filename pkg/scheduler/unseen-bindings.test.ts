/** Bindings that nobody sees give their room back, in virtual time. */
import t from 'tap';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { Cluster } from '#scheduler/cluster/cluster.js';
import { noObjects } from '#scheduler/cluster/objects.js';
import { podInfo } from '#scheduler/cluster/pod-info.js';
import { node, pod } from '#scheduler/testing/plugin-table.js';
import { UnseenBindings } from '#scheduler/unseen-bindings.js';

const minute = 60_000;

function world() {
  const clock = new VirtualClock();
  const cluster = new Cluster(dialect, noObjects);
  cluster.setNode(node('n'));
  const expired: string[] = [];
  const unseen = new UnseenBindings({ clock, log, cluster, onExpired: ({ uid }) => expired.push(uid) });
  const bound = (name: string) => {
    cluster.assume(podInfo(pod({ name })), 'n');
    unseen.await(name);
  };
  return { clock, cluster, expired, unseen, bound };
}

t.test('a binding that nobody sees is believed for a quarter of an hour, each for itself', async (t) => {
  const { bound, clock, cluster, expired } = world();
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
  t.same(expired, ['a', 'b', 'c'], 'also after a time in which none was awaited');
});

t.test('what is seen, deleted or taken back does not expire', async (t) => {
  const { bound, clock, cluster, expired } = world();
  for (const name of ['seen', 'deleted', 'back', 'lost']) bound(name);
  cluster.setPod(pod({ name: 'seen', on: 'n' }));
  cluster.removePod('deleted');
  cluster.forget('back');
  await clock.advance(60 * minute);
  t.same(expired, ['lost']);
  t.same([...(cluster.node('n')?.pods.keys() ?? [])], ['seen']);
});

t.test(
  'a binding that was seen before its writer heard of it is not awaited, nor is one that is under way',
  async (t) => {
    const { clock, cluster, expired, unseen } = world();
    cluster.assume(podInfo(pod({ name: 'a' })), 'n');
    cluster.setPod(pod({ name: 'a', on: 'n' }));
    unseen.await('a');
    cluster.assume(podInfo(pod({ name: 'slow' })), 'n');
    await clock.advance(60 * minute);
    t.same([expired, cluster.sizes.assumedPods], [[], 1]);
  },
);

t.test('nothing happens after the end', async (t) => {
  const { bound, clock, expired, unseen } = world();
  bound('a');
  unseen.close();
  bound('b');
  await clock.advance(60 * minute);
  t.same(expired, []);
});
