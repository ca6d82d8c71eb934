import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { shareEqual } from '#client/informer/share-equal.js';

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

const keys = ['name', 'labels', 'spec', '__proto__', 'constructor', '0'];

function value(random: () => number, depth: number): Json {
  const kind = depth === 0 ? 0 : Math.floor(random() * 5);
  if (kind < 2) return [null, true, 1, 'a', 'text', ''][Math.floor(random() * 6)] as Json;
  const members = Array.from({ length: Math.floor(random() * 4) }, () => value(random, depth - 1));
  if (kind === 2) return members;
  // As from JSON.parse: `__proto__` is an ordinary member.
  const named = members.map((member) => {
    const key = keys[Math.floor(random() * keys.length)] ?? '';
    return `${JSON.stringify(key)}:${JSON.stringify(member)}`;
  });
  return JSON.parse(`{${named.join(',')}}`) as Json;
}

const copy = (json: Json): Json => JSON.parse(JSON.stringify(json)) as Json;

t.test('sharing does not change an object', async (t) => {
  const seed = 11;
  t.comment(`seed ${seed}`);
  const random = seededRandom(seed);
  for (let round = 0; round < 2000; round++) {
    const like = value(random, 4);
    const input = round % 3 === 0 ? copy(like) : value(random, 4);
    const [text, likeText] = [JSON.stringify(input), JSON.stringify(like)];
    const shared = shareEqual(input, like);
    if (JSON.stringify(like) !== likeText) t.fail(`${likeText} has changed`);
    // Shared parts may have their members in another order.
    t.same(shared, JSON.parse(text), text);
    if (round % 3 === 0 && typeof like === 'object' && like !== null) t.equal(shared, like);
  }
});

t.test('equal parts are shared, other parts are not', async (t) => {
  const like = { metadata: { name: 'a', labels: { app: 'web' } }, spec: { list: [{ n: 1 }, { n: 2 }], same: [1] } };
  const input = { metadata: { name: 'b', labels: { app: 'web' } }, spec: { list: [{ n: 1 }, { n: 3 }], same: [1] } };
  const shared = shareEqual(input, like);
  t.equal(shared, input);
  t.equal(shared.metadata.labels, like.metadata.labels);
  t.equal(shared.spec.same, like.spec.same);
  t.equal(shared.spec.list[0], like.spec.list[0]);
  t.not(shared.spec.list, like.spec.list);
  t.same(shared.spec.list, [{ n: 1 }, { n: 3 }]);
  t.equal(like.spec.list.length, 2);
  t.same(shareEqual([1, 2], [1, 2, 3]), [1, 2]);
  t.same(shareEqual({ a: 1 }, { a: 1, b: 2 }), { a: 1 });
  t.same(shareEqual([], {}), []);
  const frozen = Object.freeze({ a: { x: 1 }, b: 1 });
  t.equal(shareEqual(frozen, { a: { x: 1 }, b: 2 }), frozen);
});

t.test('deeply nested parts are not shared', async (t) => {
  const nested = (depth: number): Json => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as Json;
  const input = nested(5000);
  t.equal(shareEqual(input, nested(5000)), input);
});
