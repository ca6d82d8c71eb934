/** Numbers that JSON.parse and JSON.stringify alone would alter. */
import t from 'tap';
import { allSteps } from '#apimachinery/async/steps.js';
import { parseJSONSteps, parseJSONText } from '#apimachinery/codec/json/text.js';
import { NumberLiteral, toJSONText } from '#apimachinery/json-text.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

t.test('integers keep all 64 bits', async (t) => {
  const cases: [string, unknown][] = [
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['-9007199254740993', -9007199254740993n],
    ['9223372036854775807', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
    ['9223372036854775808', 2 ** 63],
    ['100000000000000000000000000000', 1e29],
    ['1e20', 1e20],
    ['9007199254740993.0', 9007199254740992],
    ['1234567890123456.5', 1234567890123456.5],
    ['0.12345678901234568', 0.12345678901234568],
    ['"9007199254740993"', '9007199254740993'],
    ['"a:9007199254740993,"', 'a:9007199254740993,'],
    ['"\\":9007199254740993,"', '":9007199254740993,'],
    ['"\\\\"', '\\'],
    ['{"__proto__":9007199254740993}', JSON.parse('{"__proto__":1}')],
  ];
  for (const [text, value] of cases) {
    const read = parseJSONText(text);
    if (text.includes('__proto__')) {
      t.equal(Object.getOwnPropertyDescriptor(read, '__proto__')?.value, 9007199254740993n);
      t.equal(toJSONText(read), text);
      continue;
    }
    t.equal(read, value, text);
    const whole = `{"a":{"b":[1,${text}, ${text} ]},"${text.replaceAll(/["\\]/g, '')}":${text}\n}`;
    const members = Object.values(parseJSONText(whole) as object);
    t.same(members, [{ b: [1, value, value] }, value], whole);
    if (typeof value === 'bigint')
      t.equal(toJSONText([value, { a: value }, `${value}`]), `[${text},{"a":${text}},"${text}"]`);
  }
  t.equal(toJSONText({ a: 5n, b: undefined, c: '\\ud8005' }, 2), '{\n  "a": 5,\n  "c": "\\\\ud8005"\n}');
  t.equal(toJSONText(undefined), 'null');
  const circle: unknown[] = [];
  circle.push(circle);
  t.throws(() => toJSONText(circle), TypeError);
  t.throws(() => parseJSONText('[9007199254740993,]'), SyntaxError);
  t.throws(() => parseJSONText('[09007199254740993]'), SyntaxError);
  t.throws(() => parseJSONText('[9007199254740993 9007199254740993]'), SyntaxError);
});

t.test('numbers stay literals while their type is unknown', async (t) => {
  const literal = (text: string) => new NumberLiteral(text);
  const read = (text: string) => parseJSONText(text, 'literals');
  t.same(read('{"a":1.0,"b":[1e0,-1E2 , 0.10,\n1e400],"c":0.5}'), {
    a: literal('1.0'),
    b: [literal('1e0'), literal('-1E2'), literal('0.10'), literal('1e400')],
    c: 0.5,
  });
  t.same(read('{"image":"nginx:1.0","list":"a,1.0,b","o":"x: 1e5","n":1.25}'), {
    image: 'nginx:1.0',
    list: 'a,1.0,b',
    o: 'x: 1e5',
    n: 1.25,
  });
  t.equal(literal('9223372036854775808').value, 2 ** 63);
  t.equal(literal('9223372036854775808').integer, 2n ** 63n);
  t.equal(literal('1.0').value, 1);
  t.equal(literal('1.0').integer, undefined);
});

t.test('written numbers are read back', async (t) => {
  const seed = Number(process.env['SEED'] ?? 34);
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  for (let i = 0; i < 2000; i++) {
    const list = Array.from({ length: 1 + below(5) }, () => {
      const product = BigInt(below(2 ** 32)) * BigInt(below(2 ** 32)) * (random() < 0.5 ? -1n : 1n);
      const integer = BigInt.asIntN(1 + below(64), product);
      return [String(integer), `"${integer}"`, 'null', `{"a":${integer}}`, `[${integer}]`][below(5)];
    });
    const text = `[${list.join()}]`;
    const value = parseJSONText(text);
    if (toJSONText(value) !== text) t.equal(toJSONText(value), text, `SEED=${seed}`);
    const inSteps = allSteps(parseJSONSteps(Buffer.from(text), 'values', { largeText: 10, piece: 8 }));
    if (toJSONText(inSteps) !== text) t.equal(toJSONText(inSteps), text, `in steps, SEED=${seed}`);
  }
});
