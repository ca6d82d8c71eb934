import t from 'tap';
import type { EtcdMember } from '#etcd-admin/admin.js';
import { type EntryStep, entryStep, nextToLeave, type ObservedEtcd } from './entry-plan.js';

const url = (number: number) => `https://a-etcd-${number}.a-etcd.b.svc:2380`;
const member = (number: number, more: Partial<EtcdMember> = {}): EtcdMember => ({
  ...{ id: String(number), name: `a-etcd-${number}`, peerURLs: [url(number)], clientURLs: [], isLearner: false },
  ...more,
});
const unstarted = (number: number) => member(number, { name: '' });
const members = (...numbers: number[]) => numbers.map((number) => member(number));
const of = (size: number) => Array.from({ length: size }, (_, number) => url(number));

const observed = (more: Partial<ObservedEtcd>): ObservedEtcd => ({
  ...{ ordinal: 0, peerURLs: of(3), hasData: false, members: undefined, emptyPods: 0 },
  answering: new Set((more.members ?? []).map(({ id }) => id)),
  ...more,
});

const table: readonly (readonly [name: string, Partial<ObservedEtcd>, EntryStep])[] = [
  ['the only pod begins', { peerURLs: of(1) }, { type: 'begin' }],
  ['the first of three begins when the others have no data', { emptyPods: 2 }, { type: 'begin' }],
  [
    'the first of three waits for others, which may have data',
    { emptyPods: 1 },
    { type: 'wait', why: 'no member answers, and only 1 of 2 other pods have said that they have no data' },
  ],
  ['no other pod ever begins', { ordinal: 1, emptyPods: 2 }, { type: 'wait', why: 'no member answers' }],
  ['a member with data starts after all were down', { ordinal: 2, hasData: true }, { type: 'start' }],
  ['a member with data starts', { ordinal: 2, hasData: true, members: members(0, 1, 2) }, { type: 'start' }],
  [
    'a member that has started once without telling its name starts',
    { ordinal: 1, hasData: true, members: [member(0), unstarted(1)] },
    { type: 'start' },
  ],
  ['data of a removed member is set aside', { ordinal: 2, hasData: true, members: members(0, 1) }, { type: 'discard' }],
  ['the second enters without a vote', { ordinal: 1, members: members(0) }, { type: 'add', isLearner: true }],
  [
    'the third waits for the second',
    { ordinal: 2, members: members(0) },
    { type: 'wait', why: 'pod 1 is no member yet' },
  ],
  [
    'the third waits until the second has started',
    { ordinal: 2, members: [member(0), unstarted(1)], answering: new Set(['0']) },
    { type: 'wait', why: `member ${url(1)} does not answer` },
  ],
  [
    'the third gives the second its vote',
    { ordinal: 2, members: [member(0), member(1, { isLearner: true })] },
    { type: 'promote', id: '1' },
  ],
  ['the third enters with a vote', { ordinal: 2, members: members(0, 1) }, { type: 'add', isLearner: false }],
  [
    'a registered pod joins',
    { ordinal: 1, members: [member(0), unstarted(1)] },
    { type: 'join', members: [member(0), unstarted(1)] },
  ],
  ['a member without its data leaves first', { ordinal: 1, members: members(0, 1, 2) }, { type: 'remove', id: '1' }],
  [
    'but not while another is down',
    { ordinal: 1, members: members(0, 1, 2), answering: new Set(['0']) },
    { type: 'wait', why: 'member a-etcd-2 does not answer' },
  ],
  ['the first returns like any other', { members: members(1, 2) }, { type: 'add', isLearner: false }],
  [
    'a fifth enters while the leaving ones are still there',
    { ordinal: 4, peerURLs: of(5), members: members(0, 1, 2, 3) },
    { type: 'add', isLearner: false },
  ],
];

for (const [name, more, step] of table) t.same(entryStep(observed(more)), step, name);

t.test('members leave one at a time, and only while those that stay have votes', async (t) => {
  const all = (of: readonly EtcdMember[]) => new Set(of.map(({ id }) => id));
  const next = (now: readonly EtcdMember[], staying: number, answering = all(now)) =>
    nextToLeave({ staying: of(staying), members: now, answering });
  t.equal(next(members(0, 1, 2), 3), undefined, 'none leaves');
  t.match(next(members(0, 3, 4, 1, 2), 3), { id: '4' }, 'the highest number first');
  t.match(next(members(0, 1, 2), 1), { id: '2' });
  t.match(next(members(0, 1, 2), 1, new Set(['0'])), { id: '2' }, 'leaving members may be down');
  t.match(next(members(0, 1, 2), 1, new Set(['1', '2'])), /a-etcd-0 is to stay/);
  t.match(next([member(0), member(1, { isLearner: true }), member(2)], 2), /a-etcd-1 is to stay/);
  t.match(next(members(1, 2), 1), /none of the members would stay/);
});

/** Pods act at random moments, start late and lose disks: never two clusters, and never a lost majority by our own steps. */
t.test('random growth and losses', async (t) => {
  for (let seed = 1; seed <= 300; seed++) {
    let state = seed;
    const random = (below: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      return Math.floor((state / 2 ** 31) * below);
    };
    const size = [1, 3, 5][random(3)] ?? 1;
    const data = new Set<number>();
    const running = new Set<number>();
    let now: EtcdMember[] | undefined;
    let begun = 0;
    for (let step = 0; step < 400; step++) {
      const ordinal = random(size);
      const votes = (now ?? []).filter(({ isLearner }) => !isLearner);
      const up = votes.filter(({ peerURLs }) => running.has(of(size).indexOf(peerURLs[0] ?? '')));
      const hasMajority = up.length * 2 > votes.length && votes.length > 0;
      if (running.has(ordinal)) {
        // A disk is lost only while the others can repair it.
        if (random(40) === 0 && hasMajority && up.length === votes.length && votes.length === size && size > 1) {
          running.delete(ordinal);
          data.delete(ordinal);
        }
        continue;
      }
      const answering = new Set(
        (now ?? []).filter(({ peerURLs }) => running.has(of(size).indexOf(peerURLs[0] ?? ''))).map(({ id }) => id),
      );
      const action = entryStep({
        ...{ ordinal, peerURLs: of(size), hasData: data.has(ordinal), answering },
        members: hasMajority ? now : undefined,
        emptyPods: Array.from({ length: size }, (_, at) => at).filter((at) => at !== ordinal && !data.has(at)).length,
      });
      const starts = () => {
        running.add(ordinal);
        data.add(ordinal);
        now = now?.map((each) => (each.peerURLs[0] === url(ordinal) ? { ...each, name: `a-etcd-${ordinal}` } : each));
      };
      if (action.type === 'begin') {
        begun += 1;
        now = [member(0, { id: `0-${step}` })];
        starts();
      } else if (action.type === 'start' || action.type === 'join') starts();
      else if (action.type === 'add')
        now = [...(now ?? []), member(ordinal, { id: `${ordinal}-${step}`, name: '', isLearner: action.isLearner })];
      else if (action.type === 'promote')
        now = now?.map((each) => (each.id === action.id ? { ...each, isLearner: false } : each));
      else if (action.type === 'remove') now = now?.filter(({ id }) => id !== action.id);
      const after = (now ?? []).filter(({ isLearner }) => !isLearner);
      const alive = after.filter(({ peerURLs }) => running.has(of(size).indexOf(peerURLs[0] ?? '')));
      if (hasMajority && alive.length * 2 <= after.length) t.fail(`seed ${seed}: no majority after ${action.type}`);
    }
    if (begun !== 1) t.fail(`seed ${seed}: ${begun} clusters`);
    if (running.size === size && now?.some(({ isLearner }) => isLearner)) t.fail(`seed ${seed}: a learner stays`);
  }
});
