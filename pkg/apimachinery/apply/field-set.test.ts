import t from 'tap';
import {
  difference,
  type FieldSet,
  FieldSetBuilder,
  formOf,
  intersection,
  paths,
  pathText,
  recursiveDifference,
  setOfFields,
  setsEqual,
  sorted,
  union,
} from '#apimachinery/apply/field-set.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`SEED=${seed}`);

const key = (path: readonly string[]) => path.join(' ');
const members = (set: FieldSet) => [...paths(set)].map(key).sort();

t.test('operations agree with plain sets of paths', async (t) => {
  const random = seededRandom(seed);
  const names = ['f:a', 'f:b', 'k:{"name":"x"}', 'v:1'];
  const randomPaths = () =>
    Array.from({ length: Math.floor(random() * 8) }, () =>
      Array.from({ length: 1 + Math.floor(random() * 3) }, () => names[Math.floor(random() * names.length)] ?? ''),
    );
  const build = (list: string[][]) => {
    const builder = new FieldSetBuilder();
    for (const path of list) builder.insert(path);
    return builder.set;
  };
  for (let i = 0; i < 500; i++) {
    const [left, right] = [randomPaths(), randomPaths()];
    const [a, b] = [build(left), build(right)];
    const inLeft = new Set(left.map(key));
    const inRight = new Set(right.map(key));
    const expected = (keep: (path: string) => boolean) => [...new Set([...inLeft, ...inRight])].filter(keep).sort();
    const below = (path: string) => [...inRight].some((other) => path === other || path.startsWith(`${other} `));
    const results: [string, FieldSet, string[]][] = [
      ['union', union(a, b), expected(() => true)],
      ['intersection', intersection(a, b), expected((path) => inLeft.has(path) && inRight.has(path))],
      ['difference', difference(a, b), expected((path) => inLeft.has(path) && !inRight.has(path))],
      ['recursive difference', recursiveDifference(a, b), expected((path) => inLeft.has(path) && !below(path))],
      ['sorted', sorted(a), [...inLeft].sort()],
    ];
    for (const [name, set, want] of results) {
      if (members(set).join('|') !== want.join('|')) t.strictSame(members(set), want, `${name}, SEED=${seed}`);
    }
    if (!setsEqual(union(a, b), union(b, a))) t.fail(`union is not symmetric, SEED=${seed}`);
  }
});

t.test('unchanged parts are shared', async (t) => {
  const a = setOfFields(['spec.a', 'spec.b', 'status.c']);
  t.equal(difference(a, setOfFields(['spec.z'])), a);
  t.equal(union(a, setOfFields(['spec.a'])), a);
});

t.test('paths are formatted for messages', async (t) => {
  const path = ['f:spec', 'k:{"port":80,"protocol":"TCP"}', 'v:"x"', 'i:0'];
  t.equal(pathText(path), '.spec[port=80,protocol="TCP"][="x"][0]');
  t.equal(pathText(['k:{broken']), '[{broken]');
});

t.test('the form of a set tells whether it is sorted', async (t) => {
  t.equal(formOf({ 'f:a': { '.': {}, 'k:{"a":1}': {} } }), 'ordered');
  for (const value of [{ 'f:a': { 'k:{}': {}, '.': {} }, 'v:1': {} }, { 'i:1': {} }, { 'f:b': {}, 'f:a': {} }])
    t.equal(formOf(value), 'unordered');
  let deep: object = {};
  for (let i = 0; i < 10_000; i++) deep = { 'f:a': deep };
  for (const value of [1, null, [], { a: {} }, { 'f:a': 1 }, { 'i:x': {} }, { 'k:x': {} }, deep])
    t.equal(formOf(value), 'none');
});
