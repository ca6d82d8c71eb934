import t from 'tap';
import { encodeYAML, parseYAML } from '#apimachinery/codec/yaml.js';

t.test('values of JSON only', async (t) => {
  const rows: [string, unknown][] = [
    ['a: yes\nb: "yes"\nc: off', { a: true, b: 'yes', c: false }],
    ['a: 12:30', { a: '12:30' }],
    ['a: 2020-01-01T00:00:00Z', { a: '2020-01-01T00:00:00Z' }],
    ['a: !!binary aGVsbG8=', { a: 'aGVsbG8=' }],
    ['a: 1\nb: 1.5\nc: null\nd: [x, {y: z}]', { a: 1, b: 1.5, c: null, d: ['x', { y: 'z' }] }],
    ['base: &b {x: 1}\nmore:\n  <<: *b\n  y: 2', { base: { x: 1 }, more: { x: 1, y: 2 } }],
    ['{"a":[1,2]}', { a: [1, 2] }],
  ];
  for (const [text, want] of rows) t.strictSame(parseYAML(text), want, text);
  const value = { a: 'yes', b: '12:30', c: '1', d: { e: ['null', null, true] }, f: 'two\nlines' };
  t.strictSame(parseYAML(encodeYAML(value).toString()), value);
});

t.test('hostile documents', async (t) => {
  const bomb = ['a: &a [x,x,x,x,x,x,x,x,x,x]'];
  for (const [i, name] of [...'bcdefghi'].entries())
    bomb.push(`${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[i]}`)}]`);
  for (const text of [bomb.join('\n'), 'a: 1\na: 2', '{a: [', '['.repeat(100_000)]) {
    t.throws(() => parseYAML(text), { name: 'DecodeError' }, text.slice(0, 20));
  }
});
