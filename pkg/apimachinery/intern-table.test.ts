import t from 'tap';
import { InternTable } from '#apimachinery/intern-table.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`SEED=${seed}`);

const words = { name: 'words' };
const slots = 1 << 13;

/** Reads texts through a table and counts the reads. */
function reader() {
  const table = new InternTable();
  let reads = 0;
  const of = (text: string, type = words): unknown => {
    const buffer = Buffer.from(`<${text}>`);
    return table.of(type, buffer, 1, buffer.length - 1, () => {
      reads++;
      return { text: [text] };
    });
  };
  return { of, reads: () => reads };
}

t.test('a repeated value is cached and frozen', (t) => {
  const { of, reads } = reader();
  const [first, second, third] = [of('a'), of('a'), of('a')] as { text: string[] }[];
  t.not(first, second);
  t.equal(second, third);
  t.equal(reads(), 2);
  t.notOk(Object.isFrozen(first));
  t.ok(Object.isFrozen(third));
  t.throws(() => third?.text.push('b'), TypeError);
  t.end();
});

t.test('each type has its own values', (t) => {
  const { of } = reader();
  const other = { name: 'other' };
  for (let n = 0; n < 4; n++) t.not(of('a'), of('a', other));
  t.end();
});

t.test('a value that occurs once takes no slot', (t) => {
  const { of, reads } = reader();
  of('a');
  of('a');
  const before = reads();
  for (let n = 0; n < 10 * slots; n++) of(`once ${n}`);
  t.equal(reads(), before + 10 * slots);
  of('a');
  t.equal(reads(), before + 10 * slots);
  t.end();
});

t.test('colliding values replace each other and are decoded correctly', (t) => {
  const { of, reads } = reader();
  // Several times the number of slots: most texts collide.
  for (let round = 0; round < 3; round++) {
    for (let n = 0; n < 4 * slots; n++) {
      const { text } = of(`word ${n}`) as { text: string[] };
      if (text[0] !== `word ${n}`) t.fail(`word ${n}`);
    }
  }
  t.ok(reads() > 4 * slots);
  t.end();
});

/** The table's hash of a text of type `words`. */
function hashOf(text: string): number {
  let hash = Math.imul(text.length + 1, 0x9e3779b1) ^ words.name.length;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash ^ (hash >>> 15);
}

t.test('texts with equal slots or equal hashes', (t) => {
  const random = seededRandom(seed);
  const text = () => Array.from({ length: 8 }, () => String.fromCharCode(97 + Math.floor(random() * 26))).join('');
  const oneSlot: string[] = [];
  const byHash = new Map<number, string>();
  let pair: [string, string] | undefined;
  for (let n = 0; n < 400_000; n++) {
    const next = text();
    const hash = hashOf(next);
    if ((hash & (slots - 1)) === 7) oneSlot.push(next);
    const before = byHash.get(hash);
    if (before !== undefined && before !== next) pair ??= [before, next];
    byHash.set(hash, next);
  }
  t.ok(oneSlot.length > 10, `${oneSlot.length} in a slot`);
  t.ok(pair, 'two of one hash');
  const { of, reads } = reader();
  of('a');
  of('a');
  let given = 0;
  for (let round = 0; round < 5; round++) {
    for (const each of [...oneSlot, ...(pair ?? []), ...(pair ?? [])]) {
      given++;
      t.strictSame(of(each), { text: [each] });
    }
  }
  t.ok(reads() <= given + 2, 'no text is read more than once when it comes');
  const before = reads();
  of('a');
  t.equal(reads(), before, 'other slots are left alone');
  t.end();
});

t.test('large values are not cached', (t) => {
  const { of, reads } = reader();
  for (let n = 0; n < 4; n++) of('x'.repeat(8 * 1024 + 1));
  t.equal(reads(), 4);
  for (let n = 0; n < 4; n++) of('x'.repeat(8 * 1024));
  t.equal(reads(), 6);
  of('');
  of('');
  of('');
  t.equal(reads(), 8);
  t.end();
});

t.test('undecodable bytes are not cached', (t) => {
  const table = new InternTable();
  const bytes = Buffer.from('bad');
  const fail = () => {
    throw new RangeError('bad');
  };
  for (let n = 0; n < 3; n++) t.throws(() => table.of(words, bytes, 0, 3, fail), RangeError);
  t.equal(
    table.of(words, bytes, 0, 3, () => 1),
    1,
  );
  t.end();
});
