import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { closeBrace, colon, comma, JSONCursor, openBrace, quote } from '#apimachinery/codec/json/cursor.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { RandomObjects } from '#apimachinery/testing/random-object.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

const over = (text: string) => new JSONCursor(Buffer.from(text));

t.test('tokens and their offsets', async (t) => {
  const text = ' {"a\\"":-1.5e3 ,\n"b" : [true,null,""]}\t';
  const cursor = over(text);
  const tokens: string[] = [];
  for (let byte = cursor.advance(); byte >= 0; byte = cursor.advance()) {
    tokens.push(text.slice(cursor.start, cursor.at));
    t.equal(byte, text.charCodeAt(cursor.start));
  }
  t.same(tokens, ['{', '"a\\""', ':', '-1.5e3', ',', '"b"', ':', '[', 'true', ',', 'null', ',', '""', ']', '}']);
  t.equal(cursor.advance(), -1);
  for (const broken of ['"', '"\\', '"\\"']) {
    const last = over(broken);
    t.equal(last.advance(), quote);
    t.equal(last.at, broken.length, 'no token after the end');
  }
});

t.test('members are found by name', async (t) => {
  const cursor = over('{ "\\u0061\\"" : {"x":[1]} , "é":2}');
  t.ok(cursor.take(openBrace));
  t.equal(cursor.name(), 'a"');
  cursor.skipWhole();
  t.ok(cursor.take(comma));
  t.equal(cursor.name(), 'é');
  t.notOk(cursor.take(colon));
  cursor.skipWhole();
  t.ok(cursor.take(closeBrace));
  for (const broken of ['', 'a', '"a"', '"a" 1', '"a', '"\\x":1'])
    t.throws(() => over(broken).name(), SyntaxError, broken);
  for (const broken of ['', ' ', '{', '[1', '"a', '{"a":"}'])
    t.throws(() => over(broken).skipWhole(), SyntaxError, broken);
});

t.test('the end of a value is found for any chunks', async (t) => {
  const random = seededRandom(35);
  const objects = new RandomObjects(random);
  const pod = schemeFor(kubernetesDialect).type('core.v1.Pod');
  for (let i = 0; i < 100; i++) {
    const value = JSON.stringify({ ...objects.object(pod), 'text \\"': '\\"}]{[' }, undefined, i % 2);
    const bytes = Buffer.from(`${value},{"more":1}`);
    const cursor = new JSONCursor(bytes);
    const { length } = Buffer.from(value);
    cursor.end = 0;
    while (!cursor.skip()) {
      if (cursor.end === bytes.length) t.fail(value);
      cursor.end = Math.min(bytes.length, cursor.end + 1 + Math.floor(random() * 20));
    }
    if (cursor.at !== length) t.fail(`${cursor.at} ${value}`);
  }
});
