import t from 'tap';
import { encodeYAML, encodeYAMLFast, parseYAML, readYAML } from '#apimachinery/codec/yaml.js';

t.test('only JSON values are accepted', async (t) => {
  const rows: [string, unknown][] = [
    ['a: yes\nb: "yes"\nc: off', { a: true, b: 'yes', c: false }],
    ['a: 12:30', { a: '12:30' }],
    ['a: 2020-01-01T00:00:00Z', { a: '2020-01-01T00:00:00Z' }],
    ['a: !!binary aGVsbG8=', { a: 'hello' }],
    ['a: 1\nb: 1.5\nc: null\nd: [x, {z: y}]', { a: 1, b: 1.5, c: null, d: ['x', { z: true }] }],
    ['base: &b {x: 1}\nmore:\n  <<: *b\n  z: 2', { base: { x: 1 }, more: { x: 1, z: 2 } }],
    ['{"a":[1,2]}', { a: [1, 2] }],
  ];
  for (const [text, want] of rows) t.strictSame(parseYAML(text), want, text);
  const value = { a: 'yes', b: '12:30', c: '1', d: { e: ['null', null, true] }, f: 'two\nlines' };
  t.strictSame(parseYAML(encodeYAML(value).toString()), value);
});

t.test('hostile documents are refused', async (t) => {
  const bomb = ['a: &a [x,x,x,x,x,x,x,x,x,x]'];
  for (const [i, name] of [...'bcdefghi'].entries())
    bomb.push(`${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[i]}`)}]`);
  for (const text of [bomb.join('\n'), 'a: 1\na: 2', '{a: [', '['.repeat(100_000)]) {
    t.throws(() => parseYAML(text), { name: 'DecodeError' }, text.slice(0, 20));
  }
});

t.test('repeated keys are refused', async (t) => {
  const repeated = (text: string, at: string) =>
    t.throws(() => parseYAML(text), { message: `yaml: unmarshal errors:\n  ${at} already set in map` }, text);
  repeated('a: 1\nb: 2\na: 3', 'line 3: key "a"');
  repeated('x:\n  - {a: 1, a: 2}', 'line 2: key "a"');
  repeated('{"a": 1, "b": {"c": 1, "c": 2}}', 'line 1: key "c"');
  repeated('{"a": 1, "\\u0061": 2}', 'line 1: key "a"');
  repeated('1: a\n1: b', 'line 2: key 1');
  t.same(parseYAML('a: {b: 1}\nc: {b: 1}'), { a: { b: 1 }, c: { b: 1 } });
  t.same(parseYAML('a: &a {x: 1}\nb: &b {u: 2}\nc: {<<: *a, z: 3}\nd: {<<: [*a, *b]}'), {
    a: { x: 1 },
    b: { u: 2 },
    c: { x: 1, z: 3 },
    d: { x: 1, u: 2 },
  });
});

t.test('repeated keys in client bodies are reported and the last one counts', async (t) => {
  const rows: [text: string, value: unknown, repeated: string[]][] = [
    ['a: 1\nb: 2\na: 3', { a: 3, b: 2 }, ['line 3: key "a" already set in map']],
    // The line of the value, and errors inside it come first.
    [
      'a: 1\na:\n  b: 1\n  b: 2',
      { a: { b: 2 } },
      ['line 4: key "b" already set in map', 'line 3: key "a" already set in map'],
    ],
    ['a: 1\na:\nb: 1', { a: null, b: 1 }, ['line 2: key "a" already set in map']],
    ['a: |\n  x\n  y\na: |\n  z\n', { a: 'z\n' }, ['line 4: key "a" already set in map']],
    [
      'x:\n  - {a: 1, a: 2}\n  - &b [1]\nb: 1\nb: *b',
      { x: [{ a: 2 }, [1]], b: [1] },
      ['line 2: key "a" already set in map', 'line 5: key "b" already set in map'],
    ],
    ['{"a": 1,\n"\\u0061": 2}', { a: 2 }, ['line 2: key "a" already set in map']],
    [
      '1: a\n1: b\ntrue: c\ntrue: d',
      { 1: 'b', true: 'd' },
      ['line 2: key 1 already set in map', 'line 4: key true already set in map'],
    ],
    ['{"a": 1}', { a: 1 }, []],
  ];
  for (const [text, value, repeated] of rows) t.strictSame(readYAML(text), { value, repeated }, text);
  t.equal(readYAML('a: 1\n'.repeat(300)).repeated.length, 100);
  t.throws(() => readYAML('a: ['), { name: 'DecodeError' });
});

t.test('merges of large maps are limited, even indirect ones', async (t) => {
  const members = Array.from({ length: 20_000 }, (_, i) => `k${i}: 1`).join(', ');
  const message = 'yaml: document contains excessive aliasing';
  t.throws(() => parseYAML(`a: &a {${members}}\nb:\n${'  - {<<: *a}\n'.repeat(90)}`), { message });
  const nested = Array.from({ length: 12 }, (_, i) => `b${i + 1}: &b${i + 1} {<<: [*b${i}, *b${i}]}`);
  t.throws(() => parseYAML(`b0: &b0 {${members}}\n${nested.join('\n')}`), { message });
  t.equal(Object.keys((parseYAML(`a: &a {${members}}\nb: {<<: *a}`) as { b: object }).b).length, 20_000);
});

t.test('JSON documents take the fast path', async (t) => {
  for (const text of ['{"a":[1,-2.5e3,"x\\n",true,null,{"__proto__":{"b":1}}]}', ' \n{"a":{}}\n']) {
    t.same(parseYAML(text), JSON.parse(text));
  }
  t.same(parseYAML('{"a": [1, 2,], b: c}'), { a: [1, 2], b: 'c' });
  t.throws(() => parseYAML(`{"a":${'['.repeat(600)}${']'.repeat(600)}}`), { message: /exceeded max depth/ });
});

t.test('large objects are written as JSON', async (t) => {
  const small = { a: [1, { b: 'c' }] };
  t.equal(encodeYAMLFast(small).toString(), 'a:\n  - 1\n  - b: c\n');
  const large = { data: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key${i}`, `"é: ${i}\n`])) };
  const text = encodeYAMLFast(large).toString();
  t.match(text, /^\{"data":/);
  t.same(parseYAML(text), large);
  // After the dash of a list, as in a list of objects.
  const list = { items: [small, { data: { a: '# "b": c\n' } }] };
  t.same(parseYAML(`items:\n- ${JSON.stringify(list.items[0])}\n- ${JSON.stringify(list.items[1])}\n`), list);
});
