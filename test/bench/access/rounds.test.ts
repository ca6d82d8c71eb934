import { test } from 'tap';
import { inRounds, type Judge, means } from '#test/bench/access/rounds.js';
import type { Starvation } from '#test/bench/machine/starvation.js';

/** Reports the machine as starved in the rounds of `starved`, with this pace. */
function judgeOf(
  starved: (round: number) => Starvation | undefined,
  pace: (round: number) => number | undefined = () => undefined,
): Judge {
  let round = -1;
  return {
    async judge(work) {
      round++;
      return { value: await work(), starved: starved(round), pace: pace(round) };
    },
  };
}
const never = () => undefined;
const numbered = async (round: number) => round;

test('discarded rounds are repeated', async (t) => {
  const judge = judgeOf((round) => (round % 2 === 0 ? 'other processes' : undefined));
  t.same(await inRounds({ judge, rounds: 3, repeats: 3 }, numbered), {
    values: [1, 3, 5],
    discarded: ['other processes', 'other processes', 'other processes'],
    pace: undefined,
    starved: false,
  });
});

test('repeats are limited, and half the rounds suffice', async (t) => {
  const judge = judgeOf((round) => (round < 2 ? undefined : 'slow cores'));
  const { values, discarded, starved } = await inRounds({ judge, rounds: 4, repeats: 2 }, numbered);
  t.same(values, [0, 1]);
  t.equal(discarded.length, 9);
  t.notOk(starved);
});

test('with less than half of them, all rounds are used as a hint', async (t) => {
  const judge = judgeOf((round) => (round === 1 ? undefined : 'stolen by the hypervisor'));
  const { values, starved } = await inRounds({ judge, rounds: 3, repeats: 0 }, numbered);
  t.same(values, [0]);
  t.ok(starved);
});

test('rounds with a common drift count, outliers do not', async (t) => {
  const wandering = [0.75, 0.8, 0.7, 0.78];
  const even = await inRounds({ judge: judgeOf(never, (n) => wandering[n]), rounds: 4, repeats: 0 }, numbered);
  t.same(even, { values: [0, 1, 2, 3], discarded: [], pace: 0.765, starved: false });
  const held = judgeOf(never, (n) => (n === 1 ? 0.7 : 1));
  const uneven = await inRounds({ judge: held, rounds: 3, repeats: 3 }, numbered);
  t.same(uneven, { values: [0, 2, 3], discarded: ['slow cores'], pace: 1, starved: false });
});

test('means of each server by itself', async (t) => {
  const values = [1, 5, 6].map((n) => [
    { server: n, etcd: 10 * n },
    { server: 10 - n, etcd: 0 },
  ]);
  t.same(means({ values, discarded: [], pace: undefined, starved: false }).costs, [
    { server: 4, etcd: 40 },
    { server: 6, etcd: 0 },
  ]);
});
