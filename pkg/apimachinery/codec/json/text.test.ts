import t, { type Test } from 'tap';
import { allSteps } from '#apimachinery/async/steps.js';
import { parseJSONSteps, parseJSONText } from '#apimachinery/codec/json/text.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

/** Small sizes, which split even one-line texts. */
const sizes = { largeText: 0, piece: 8 };

function outcome(parse: () => unknown): unknown {
  try {
    // Also compares prototypes, which JSON would hide.
    const value = parse();
    return { json: JSON.stringify(value), value };
  } catch (error) {
    return { error: String(error) };
  }
}

function same(t: Test, text: string): void {
  const expected = outcome(() => parseJSONText(text));
  t.strictSame(
    outcome(() => allSteps(parseJSONSteps(Buffer.from(text), 'values', sizes))),
    expected,
    text,
  );
}

t.test('results equal those of the parser', async (t) => {
  for (const text of [
    '0',
    ' "a text that is longer than a piece" ',
    '[]',
    '{}',
    '[ ]',
    '{ "a" : [ 1 , 2 , { "b" : "cdefghijklmnop" } , [ ] ] , "q" : null }',
    '{"a":1,"b":{"long":"abcdefghijklmn"},"a":2,"b":3}',
    '{"__proto__":{"a":"abcdefghijkl"},"b":1}',
    '{"b":"abcdefghijkl","__proto__":1,"c":[true,false,null,1e3,-1.5]}',
    '["a,b]","c\\"d,}","\\\\",  "\\ud800", "\\ud83d\\ude00abcdefgh"]',
    '{"10":"abcdefgh","2":"abcdefgh","x":"abcdefgh","1":"abcdefgh"}',
    `${'['.repeat(40)}"abcdefghi"${']'.repeat(40)}`,
  ]) {
    same(t, text);
  }
});

t.test('errors equal those of the parser', async (t) => {
  for (const text of [
    '',
    '[',
    '[1,]',
    '[,1]',
    '[1,,2]',
    '[{"a":"abcdefghijkl"},]',
    '[{"a":"abcdefghijkl"} 1]',
    '{"a":}',
    '{"a" 1}',
    '{"a":"abcdefghijkl",}',
    '{"a":{"b":"abcdefghijkl"},}',
    '{"a":{"b":"abcdefghijkl"}]',
    '[["abcdefghijkl"}]',
    '["abcdefghijkl"]]',
    '["abcdefghijkl"] 1',
    '["abcdefghijkl',
    '["abc\u0001defghijkl"]',
    '{a:"abcdefghijkl"}',
    '[1:"abcdefghijkl"]',
    '[01,"abcdefghijkl"]',
    '\u00a0["abcdefghijkl"]',
  ]) {
    same(t, text);
  }
});

t.test('random texts are parsed alike in steps and at once', async (t) => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
  t.comment(`SEED=${seed}`);
  const random = seededRandom(seed);
  const pick = <T>(of: readonly T[]) => of[Math.floor(random() * of.length)] as T;
  const value = (depth: number): unknown => {
    const many = Math.floor(random() * 6);
    const kind = depth > 4 ? 0 : random();
    if (kind > 0.7) return Array.from({ length: many }, () => value(depth + 1));
    if (kind > 0.4) {
      const names = ['a', '__proto__', 'b c', '7', '"', 'é', 'long name of a member'];
      const object: Record<string, unknown> = {};
      for (let i = 0; i < many; i++) {
        Object.defineProperty(object, pick(names), { value: value(depth + 1), enumerable: true, configurable: true });
      }
      return object;
    }
    return pick<unknown>([1, -2.5, true, null, '', 'a\\b"c', ',]}', 'a text that is longer than a piece', '\ud800']);
  };
  for (let i = 0; i < 1000; i++) {
    const text = JSON.stringify(value(0), undefined, pick([0, 1]));
    same(t, text);
    const at = Math.floor(random() * text.length);
    same(t, text.slice(0, at) + pick(['', ',', ']', '}', '"', ' ', '[', ':', '\\']) + text.slice(at + pick([0, 1])));
  }
});

t.test('parsing pauses between pieces', async (t) => {
  const text = JSON.stringify({ a: { b: Array.from({ length: 100 }, (_, i) => `text ${i}`) } });
  const steps = parseJSONSteps(Buffer.from(text), 'values', { largeText: 100, piece: 50 });
  let pauses = 0;
  while (steps.next().done !== true) pauses++;
  t.ok(pauses > 15, `${pauses} pauses`);
});
