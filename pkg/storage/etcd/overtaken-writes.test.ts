import t from 'tap';
import { deferred } from '#apimachinery/async/deferred.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { type KnownLeader, OvertakenWrites } from '#storage/etcd/overtaken-writes.js';

t.test('writes that another leader may not know of', async (t) => {
  const clock = new VirtualClock();
  let leader: KnownLeader | undefined = { term: 2, isThere: true };
  let asked = 0;
  const writes = new OvertakenWrites<string>({
    clock,
    askLeader: async () => {
      asked += 1;
      return leader;
    },
  });
  const outcome = (term: number) => {
    const answer = deferred<string>();
    const state = { answer, end: '' };
    writes.watch('a', term, answer.promise).then(
      (text) => {
        state.end = text;
      },
      (error: Error) => {
        state.end = error.message;
      },
    );
    return state;
  };
  const quick = outcome(2);
  quick.answer.resolve('done');
  await clock.advance(2000);
  t.same([quick.end, asked], ['done', 0], 'nobody asks because of one that is answered');

  const slow = outcome(2);
  const unknown = outcome(0);
  await clock.advance(3000);
  t.equal(slow.end, '', 'the leader is the same: it is only slow');
  leader = { term: 3, isThere: false };
  await clock.advance(2000);
  t.equal(slow.end, '', 'a leader is being chosen');
  leader = { term: 3, isThere: true };
  await clock.advance(250);
  t.equal(slow.end, '', 'what the new one knows of it is done now');
  const later = outcome(3);
  await clock.advance(1000);
  t.match(slow.end, /another leader/);
  t.same([later.end, unknown.end], ['', ''], 'one that was sent to the new leader, or when it was not known to whom');
  leader = undefined;
  await clock.advance(2000);
  later.answer.resolve('done late');
  await clock.advance(250);
  t.equal(later.end, 'done late');
});
