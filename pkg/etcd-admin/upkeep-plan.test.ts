import t from 'tap';
import { mayNeedUpkeep, type ObservedEtcd, type ObservedMember, upkeepStep } from '#etcd-admin/upkeep-plan.js';

const MiB = 1024 * 1024;
const quotaBytes = 1000 * MiB;

function member(name: string, sizeMiB: number, usedMiB: number, more: Partial<ObservedMember> = {}): ObservedMember {
  return {
    ...{ id: name, name, endpoint: `http://${name}` },
    ...{
      sizeBytes: sizeMiB * MiB,
      usedBytes: usedMiB * MiB,
      appliedIndex: 50_000,
      isLeader: false,
      isLearner: false,
      isFresh: false,
    },
    ...more,
  };
}

function etcd(members: readonly ObservedMember[], more: Partial<ObservedEtcd> = {}): ObservedEtcd {
  return { members, size: members.length, alarms: [], isCompacted: true, quotaBytes, ...more };
}

const leads = { isLeader: true };
const full = { alarms: [{ memberID: 'a', type: 'NOSPACE' }] };

t.test('the next step depends on sizes, members and alarms', async (t) => {
  const cases: [string, ObservedEtcd, object][] = [
    ['nothing when it is well filled', etcd([member('a', 200, 150, leads)]), { type: 'nothing' }],
    ['nothing when there is little to gain', etcd([member('a', 60, 1, leads)]), { type: 'nothing' }],
    ['nothing without members', etcd([], { size: 1 }), { type: 'nothing' }],
    [
      'a single one is defragmented',
      etcd([member('a', 200, 50, leads)]),
      { type: 'defragment', member: { name: 'a' } },
    ],
    [
      'followers first',
      etcd([member('a', 200, 50, leads), member('b', 200, 150), member('c', 200, 50)]),
      { type: 'defragment', member: { name: 'c' } },
    ],
    [
      'the leader hands over',
      etcd([member('a', 200, 50, leads), member('b', 50, 50, { isLearner: true }), member('c', 50, 50)]),
      { type: 'moveLeader', from: { name: 'a' }, to: { name: 'c' } },
    ],
    [
      'not while a member is away',
      etcd([member('a', 200, 50, leads), member('b', 200, 50)], { size: 3 }),
      { type: 'nothing' },
    ],
    [
      'not while a member lags behind',
      etcd([member('a', 200, 50, leads), member('b', 200, 50, { appliedIndex: 100 })]),
      { type: 'nothing' },
    ],
    [
      'a full store is compacted',
      etcd([member('a', 990, 980, leads)], { ...full, isCompacted: false }),
      { type: 'compact' },
    ],
    [
      'a full store is defragmented after the compaction',
      etcd([member('a', 990, 980, leads)], full),
      { type: 'defragment', member: { name: 'a' } },
    ],
    [
      'a full store without unused space stays full',
      etcd([member('a', 990, 980, { isLeader: true, isFresh: true })], full),
      { type: 'full', member: { name: 'a' } },
    ],
    [
      'the alarm of a store with free space is cleared',
      etcd([member('a', 500, 400, leads)], full),
      { type: 'disarm', alarms: full.alarms },
    ],
    [
      'the alarm stays while a member is away, which may be full',
      etcd([member('a', 500, 400, leads)], { ...full, size: 2 }),
      { type: 'nothing' },
    ],
    [
      'an alarm of another kind is left to operators',
      etcd([member('a', 500, 400, leads)], { alarms: [{ memberID: 'a', type: 'CORRUPT' }] }),
      { type: 'nothing' },
    ],
  ];
  for (const [name, observed, step] of cases) t.match(upkeepStep(observed), step, name);
});

t.test('small stores need no maintenance', async (t) => {
  t.notOk(mayNeedUpkeep(60 * MiB, quotaBytes));
  t.ok(mayNeedUpkeep(64 * MiB, quotaBytes));
  t.ok(mayNeedUpkeep(6 * MiB, 8 * MiB), 'a small quota is soon used up');
});
