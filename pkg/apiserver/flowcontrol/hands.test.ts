import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { dealHand, flowHash } from '#apiserver/flowcontrol/hands.js';

/** Deals from a real deck. */
function slowDeal(hash: bigint, queues: number, size: number): number[] {
  const deck = Array.from({ length: queues }, (_, i) => i);
  let rest = hash;
  return Array.from({ length: size }, () => {
    const left = BigInt(deck.length);
    const [card] = deck.splice(Number(rest % left), 1);
    rest /= left;
    return card as number;
  });
}

t.test('hands are dealt like cards from a deck', async (t) => {
  const random = seededRandom(7);
  for (let i = 0; i < 500; i++) {
    const queues = 1 + Math.floor(random() * 130);
    const size = 1 + Math.floor(random() * Math.min(8, queues));
    const hash = flowHash('schema', String(random()));
    const hand = dealHand(hash, queues, size);
    t.strictSame(hand, slowDeal(hash, queues, size), `${size} of ${queues}`);
    if (new Set(hand).size !== size) t.fail(`${size} of ${queues}: a queue twice`);
  }
});

t.test('the hash is the one of 1.24', async (t) => {
  // The first eight bytes of SHA-256("a\0b"), little-endian.
  t.equal(flowHash('a', 'b').toString(16), 'd3b1bc1bae71b259', 'of a and b');
});
