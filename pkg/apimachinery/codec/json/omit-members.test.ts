import t from 'tap';
import { type Omissions, withoutMembers } from '#apimachinery/codec/json/omit-members.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

const outline = (text: string, omissions: Omissions): unknown =>
  JSON.parse(withoutMembers(Buffer.from(text), omissions).toString());

t.test('named members are omitted at any position', async (t) => {
  const omissions: Omissions = { metadata: { managedFields: true }, spec: { versions: { '*': { schema: true } } } };
  const rows: readonly [text: string, expected: unknown][] = [
    ['{}', {}],
    ['{"a":1,"b":[true,null,"x"]}\n', { a: 1, b: [true, null, 'x'] }],
    ['{"metadata":{"managedFields":[]}}', { metadata: {} }],
    ['{"metadata":{"managedFields":[{"a":"}]"}],"name":"n"}}', { metadata: { name: 'n' } }],
    ['{"metadata":{"name":"n","managedFields":-1.5e3,"uid":"u"}}', { metadata: { name: 'n', uid: 'u' } }],
    [' { "metadata" : { "managedFields" : null , "uid" : "u" } , "z" : 0 } ', { metadata: { uid: 'u' }, z: 0 }],
    ['{"metadata":{"name":"n","managedFields":{"\\\\":"\\""}}}', { metadata: { name: 'n' } }],
    [
      '{"spec":{"versions":[{"schema":{"schema":1},"name":"v1"},{"name":"ü","schema":[[]]},{"schema":0}],"schema":7}}',
      { spec: { versions: [{ name: 'v1' }, { name: 'ü' }, {}], schema: 7 } },
    ],
    ['{"spec":{"versions":[]}}', { spec: { versions: [] } }],
    ['{"spec":null,"metadata":"x"}', { spec: null, metadata: 'x' }],
    ['{"spec":{"versions":{"schema":1}}}', { spec: { versions: { schema: 1 } } }],
  ];
  for (const [text, expected] of rows) t.same(outline(text, omissions), expected, text);
});

t.test('invalid JSON stays invalid or fails, and terminates', async (t) => {
  const omissions: Omissions = { a: true, b: { '*': { a: true } } };
  const broken = [
    '',
    '{',
    '{"a',
    '{"a"',
    '{"a":',
    '{"a":[',
    '{"a":"x',
    '{"b":[{"a":1}',
    '{1:2}',
    '{"c":"\\"}',
    '{"a" 1}',
  ];
  for (const text of broken) t.throws(() => outline(text, omissions), SyntaxError, text);
  t.same(outline('{"a":}}', omissions), {}, 'what is left out is not looked at');
});

t.test('random objects lose exactly the omitted members', async (t) => {
  const random = seededRandom(5);
  const pick = (n: number) => Math.floor(random() * n);
  const names = ['a', 'b', 'c', '*', 'ä"\\'];
  const value = (depth: number): unknown => {
    const kind = pick(depth > 4 ? 4 : 7);
    if (kind === 0) return null;
    if (kind === 1) return random() * 1e6 - 5e5;
    if (kind === 2) return random() < 0.5;
    if (kind === 3) return ['', '"', '\\', '}{][,:', 'ü', '\u2028"\\"'][pick(6)];
    if (kind === 4) return Array.from({ length: pick(4) }, () => value(depth + 1));
    return Object.fromEntries(names.filter(() => random() < 0.5).map((name) => [name, value(depth + 1)]));
  };
  const omissionsOf = (depth: number): Omissions =>
    Object.fromEntries(
      ['a', 'b', '*'].flatMap((name) =>
        random() < 0.4 ? [] : [[name, depth > 2 || random() < 0.4 ? (true as const) : omissionsOf(depth + 1)]],
      ),
    );
  const without = (of: unknown, omissions: Omissions): unknown => {
    if (typeof of !== 'object' || of === null) return of;
    if (Array.isArray(of)) {
      const inner = omissions['*'];
      return typeof inner === 'object' ? of.map((one) => without(one, inner)) : of;
    }
    return Object.fromEntries(
      Object.entries(of).flatMap(([name, one]) => {
        const inner = omissions[name];
        if (inner === true) return [];
        return [[name, inner === undefined ? one : without(one, inner)]];
      }),
    );
  };
  for (let n = 0; n < 3000; n++) {
    const object = { a: value(0), b: value(0), c: value(0), '*': value(0) };
    const omissions = omissionsOf(0);
    const text = JSON.stringify(object, undefined, n % 3);
    if (JSON.stringify(outline(text, omissions)) !== JSON.stringify(without(object, omissions))) {
      t.fail(`${text} without ${JSON.stringify(omissions)}`);
    }
  }
});
