import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { diffLines } from '#dashboard/model/diff.js';

/** The length of the longest common subsequence, by the table of all prefixes. */
function commonLength(a: readonly string[], b: readonly string[]): number {
  let last = new Array<number>(b.length + 1).fill(0);
  for (const x of a) {
    const next = [0];
    b.forEach((y, j) => {
      next.push(x === y ? (last[j] ?? 0) + 1 : Math.max(last[j + 1] ?? 0, next[j] ?? 0));
    });
    last = next;
  }
  return last.at(-1) ?? 0;
}

t.test('a difference turns one text into the other, with the fewest lines', async (t) => {
  const random = seededRandom(7);
  for (let round = 0; round < 400; round++) {
    const text = () => Array.from({ length: Math.floor(random() * 12) }, () => 'abcd'[Math.floor(random() * 4)] ?? '');
    const [a, b] = [text(), text()];
    const lines = diffLines(a.join('\n'), b.join('\n'));
    const side = (without: string) => lines.filter(({ type }) => type !== without).map((line) => line.text);
    t.equal(side('added').join('\n'), a.join('\n'), 'before');
    t.equal(side('removed').join('\n'), b.join('\n'), 'after');
    const [x, y] = [a.join('\n').split('\n'), b.join('\n').split('\n')];
    t.equal(lines.filter(({ type }) => type === 'same').length, commonLength(x, y), `${a.join('')} to ${b.join('')}`);
  }
});
