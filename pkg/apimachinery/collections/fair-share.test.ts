/** Places divided by a dynamic threshold. */
import t from 'tap';
import { FairShare } from '#apimachinery/collections/fair-share.js';

/** Takes until it is refused. */
function takeAll(share: FairShare<string>, owner: string): (() => void)[] {
  const places: (() => void)[] = [];
  for (let release = share.take(owner); release !== undefined; release = share.take(owner)) places.push(release);
  return places;
}

t.test('one has at most its multiple of what is free, and there is room for another', async (t) => {
  const rows: [factor: number, alone: number, second: number][] = [
    [1, 50, 25],
    [0.5, 34, 22],
    [4, 80, 16],
  ];
  for (const [factor, alone, second] of rows) {
    const share = new FairShare<string>({ limit: 100, factor });
    t.equal(takeAll(share, 'a').length, alone, `alone with ${factor}`);
    t.equal(takeAll(share, 'b').length, second, `the second with ${factor}`);
  }
});

t.test('a hundred that take all leave every place in use, and none has two before each has one', async (t) => {
  const share = new FairShare<string>({ limit: 100, factor: 0.01 });
  for (let i = 0; i < 100; i += 1) t.equal(takeAll(share, `${i}`).length, 1, `owner ${i}`);
  t.equal(share.take('late'), undefined, 'no place is free');
  t.equal(share.size, 100, 'places in use');
});

t.test('a returned place is free again, and is returned once', async (t) => {
  const share = new FairShare<string>({ limit: 2, factor: 1 });
  const [release] = takeAll(share, 'a');
  t.equal(share.take('a'), undefined, 'the second would be more than is free');
  release?.();
  release?.();
  t.equal(share.size, 0, 'places in use');
  t.equal(takeAll(share, 'a').length, 1, 'the place can be places again');
  const unlimited = new FairShare<string>({ limit: 0, factor: 1 });
  for (let i = 0; i < 10_000; i += 1) unlimited.take('a');
  t.equal(unlimited.size, 10_000, 'no limit');
});
