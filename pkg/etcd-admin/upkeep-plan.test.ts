import t from 'tap';
import { mayNeedUpkeep, type SeenEtcd, type SeenMember, upkeepStep } from '#etcd-admin/upkeep-plan.js';

const MiB = 1024 * 1024;
const quotaBytes = 1000 * MiB;

function member(name: string, sizeMiB: number, usedMiB: number, more: Partial<SeenMember> = {}): SeenMember {
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

function etcd(members: readonly SeenMember[], more: Partial<SeenEtcd> = {}): SeenEtcd {
  return { members, size: members.length, alarms: [], isForgotten: true, quotaBytes, ...more };
}

const leads = { isLeader: true };
const full = { alarms: [{ memberID: 'a', type: 'NOSPACE' }] };

t.test('what an etcd needs', async (t) => {
  const cases: [string, SeenEtcd, object][] = [
    ['nothing when it is well filled', etcd([member('a', 200, 150, leads)]), { type: 'nothing' }],
    ['nothing when there is little to gain', etcd([member('a', 60, 1, leads)]), { type: 'nothing' }],
    ['nothing of none', etcd([], { size: 1 }), { type: 'nothing' }],
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
      'full, maybe of history',
      etcd([member('a', 990, 980, leads)], { ...full, isForgotten: false }),
      { type: 'forget' },
    ],
    [
      'full, maybe of what is not in use any more',
      etcd([member('a', 990, 980, leads)], full),
      { type: 'defragment', member: { name: 'a' } },
    ],
    [
      'full of what is in use',
      etcd([member('a', 990, 980, { isLeader: true, isFresh: true })], full),
      { type: 'full', member: { name: 'a' } },
    ],
    ['has room again', etcd([member('a', 500, 400, leads)], full), { type: 'disarm', alarms: full.alarms }],
    [
      'the full one may be that which is away',
      etcd([member('a', 500, 400, leads)], { ...full, size: 2 }),
      { type: 'nothing' },
    ],
    [
      'an alarm of another kind is for people',
      etcd([member('a', 500, 400, leads)], { alarms: [{ memberID: 'a', type: 'CORRUPT' }] }),
      { type: 'nothing' },
    ],
  ];
  for (const [what, seen, wanted] of cases) t.match(upkeepStep(seen), wanted, what);
});

t.test('small ones need nobody', async (t) => {
  t.notOk(mayNeedUpkeep(60 * MiB, quotaBytes));
  t.ok(mayNeedUpkeep(64 * MiB, quotaBytes));
  t.ok(mayNeedUpkeep(6 * MiB, 8 * MiB), 'a small quota is soon used up');
});
