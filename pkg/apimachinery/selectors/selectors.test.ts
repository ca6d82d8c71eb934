import t from 'tap';
import { escapeFieldValue, parseFieldSelector } from '#apimachinery/selectors/fields.js';
import { parseLabelSelector } from '#apimachinery/selectors/label-parser.js';
import { LabelSelector, selectorFromLabels, selectorFromObject } from '#apimachinery/selectors/labels.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

type Labels = Record<string, string>;

t.test('label selectors match', async (t) => {
  const rows: [string, Labels, boolean][] = [
    ['', {}, true],
    ['a=b', { a: 'b' }, true],
    ['a==b', { a: 'c' }, false],
    ['a!=b', {}, true],
    ['a!=b', { a: 'b' }, false],
    ['a', { a: '' }, true],
    ['!a', { a: '' }, false],
    ['!a', {}, true],
    ['a in (b, c)', { a: 'c' }, true],
    ['a in (b,c)', {}, false],
    ['a notin (b,c)', {}, true],
    ['a in (,)', { a: '' }, true],
    ['a in ()', { a: '' }, true],
    ['a=', { a: '' }, true],
    ['a=,b=c', { a: '', b: 'c' }, true],
    ['n>3', { n: '10' }, true],
    ['n<3', { n: '10' }, false],
    ['n>3', { n: 'x' }, false],
    ['in in (in)', { in: 'in' }, true],
    ['example.com/a=b,\t!x', { 'example.com/a': 'b' }, true],
    ['constructor', {}, false],
  ];
  for (const [text, labels, want] of rows) t.equal(parseLabelSelector(text).matches(labels), want, text);
  t.equal(parseLabelSelector('b in (z,y),!a,c==1,d>2').toString(), '!a,b in (y,z),c==1,d>2');
  t.equal(parseLabelSelector('app=web').exactValue('app'), 'web');
});

t.test('invalid label selectors are refused', async (t) => {
  const rows: [string, string][] = [
    ['a,', "found '', expected: identifier after ','"],
    ['=a', "found '=', expected: !, identifier, or 'end of string'"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a in b', "unable to parse requirement: found 'b' expected: '('"],
    ['a in (b', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
  ];
  for (const [text, message] of rows) t.throws(() => parseLabelSelector(text), { code: 400, message }, text);
  t.throws(() => parseLabelSelector('a_=b'), /<nil>: Invalid value: "a_": name part must consist of/);
  t.throws(() => parseLabelSelector('a=b_'), /values\[0\]\[a\]: Invalid value: "b_": a valid label must be/);
  t.throws(() => parseLabelSelector('a>b'), /the value must be an integer/);
  t.throws(() => parseLabelSelector('a/b/c'), /a qualified name must consist of/);
});

t.test('selectors in objects are compiled', async (t) => {
  t.equal(selectorFromObject(undefined).matches({}), false);
  t.equal(selectorFromObject({}).isEverything, true);
  const selector = selectorFromObject({
    matchLabels: { app: 'web' },
    matchExpressions: [
      { key: 'tier', operator: 'In', values: ['a', 'b'] },
      { key: 'old', operator: 'DoesNotExist' },
      { key: 'env', operator: 'Exists' },
      { key: 'zone', operator: 'NotIn', values: ['z'] },
    ],
  });
  t.equal(selector.toString(), 'app=web,env,!old,tier in (a,b),zone notin (z)');
  t.ok(selector.matches({ app: 'web', tier: 'b', env: '' }));
  t.notOk(selector.matches({ app: 'web', tier: 'b', env: '', old: '1' }));
  t.throws(() => selectorFromObject({ matchExpressions: [{ key: 'a', operator: 'Has' }] }), /"Has" is not a valid/);
  t.throws(() => selectorFromObject({ matchExpressions: [{ key: 'a', operator: 'In' }] }), /can't be empty/);
  t.ok(selectorFromLabels(undefined).isEverything);
  t.equal(selectorFromLabels({ b: '1', a: '2' }).toString(), 'a=2,b=1');
});

t.test('many requirements match if each of them does', async (t) => {
  const random = seededRandom(3);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const keys = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'toString'];
  const values = ['', '1', '2', '3', '10', 'x'];
  const requirement = () => {
    const key = pick(keys);
    const list = Array.from({ length: 4 }, () => pick(values)).join();
    const many = [`${key} in (${list},1)`, `${key} notin (${list})`, `${key}!=${pick(values)}`, `!${key}`];
    return pick([...many, `!${key}`, `${key}!=y`, `${key}!=z`, key, `${key}=1`, `${key}>0`, `${key}<4`]);
  };
  let matching = 0;
  for (let round = 0; round < 2000; round++) {
    const texts = Array.from({ length: pick([1, 2, 3, 15]) }, requirement).filter(
      (text) => round % 2 === 0 || /!|notin/.test(text),
    );
    const labels = Object.fromEntries(Array.from({ length: pick([0, 1, 2, 4]) }, () => [pick(keys), pick(values)]));
    const each = texts.every((text) => parseLabelSelector(text).matches(labels));
    if (each) matching++;
    const all = texts.join();
    if (parseLabelSelector(all).matches(labels) !== each) t.fail(`${all} and ${JSON.stringify(labels)}`);
  }
  t.ok(matching > 200 && matching < 1800, `${matching}`);
  t.notOk(parseFieldSelector('a=1,a=2').matches({ a: '1' }));
  t.ok(parseFieldSelector('a=1,a=1,a!=2,a!=3').matches({ a: '1' }));
  t.notOk(parseFieldSelector('a!=1,a!=2').matches({ a: '2' }));
});

t.test('field selectors match', async (t) => {
  const selector = parseFieldSelector('spec.nodeName==n1,status.phase!=Running');
  t.ok(selector.matches({ 'spec.nodeName': 'n1', 'status.phase': 'Pending' }));
  t.ok(selector.matches({ 'spec.nodeName': 'n1' }));
  t.notOk(selector.matches({ 'spec.nodeName': 'n1', 'status.phase': 'Running' }));
  t.equal(selector.exactValue('spec.nodeName'), 'n1');
  t.equal(selector.exactValue('status.phase'), undefined);
  t.ok(parseFieldSelector('spec.nodeName=').matches({}));
  const odd = 'a,b=c\\d';
  t.equal(parseFieldSelector(`x=${escapeFieldValue(odd)}`).exactValue('x'), odd);
  t.equal(parseFieldSelector(`x=${escapeFieldValue(odd)}`).toString(), `x=${escapeFieldValue(odd)}`);
  t.throws(() => parseFieldSelector('abc'), { code: 400, message: "invalid selector: 'abc'; can't understand 'abc'" });
  t.throws(() => parseFieldSelector('a=b\\x'), /invalid escape sequence: \\x/);
  t.throws(() => parseFieldSelector('a=b=c'), /unescaped character in value: 61/);
  t.throws(() => selector.requireFields((f) => f === 'status.phase'), /field label not supported: spec.nodeName/);
});

t.test('written selectors are read back', async (t) => {
  for (const text of ['a', '!a', 'a=', 'a!=b', 'a in (,b)', 'a notin (x),b>5,c<7', 'a==b']) {
    const selector = parseLabelSelector(text);
    t.same(parseLabelSelector(selector.toString()).requirements, selector.requirements, text);
    t.ok(selector instanceof LabelSelector);
  }
});
