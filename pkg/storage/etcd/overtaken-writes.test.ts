import t from 'tap';
import { deferred } from '#apimachinery/async/deferred.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { type LeaderState, OvertakenWrites } from '#storage/etcd/overtaken-writes.js';

t.test('writes that a new leader may have lost are abandoned', async (t) => {
  const clock = new VirtualClock();
  let leader: LeaderState | undefined = { term: 2, isThere: true };
  let reads = 0;
  const writes = new OvertakenWrites<string>({
    clock,
    readLeader: async () => {
      reads += 1;
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
  t.same([quick.end, reads], ['done', 0], 'answered writes are not examined');

  const slow = outcome(2);
  const unknown = outcome(0);
  await clock.advance(3000);
  t.equal(slow.end, '', 'the leader is unchanged');
  leader = { term: 3, isThere: false };
  await clock.advance(2000);
  t.equal(slow.end, '', 'a leader is being elected');
  leader = { term: 3, isThere: true };
  await clock.advance(250);
  t.equal(slow.end, '', 'the new leader may still complete it');
  const laterWrite = outcome(3);
  await clock.advance(1000);
  t.match(slow.end, /new leader/);
  t.same([laterWrite.end, unknown.end], ['', ''], 'writes to the new leader and with unknown term');
  leader = undefined;
  await clock.advance(2000);
  laterWrite.answer.resolve('done late');
  await clock.advance(250);
  t.equal(laterWrite.end, 'done late');
});
